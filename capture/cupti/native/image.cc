#include "image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "channel.h"
#include "context.h"

namespace btrace {
namespace {

constexpr uint64_t kMaxImage = 1ull << 30;
constexpr uint32_t kFatbin = 0xba55ed50;
constexpr uint32_t kFatbinWrapper = 0x466243b1;

// An ELF file ends with its last table or section.
size_t elfSize(const void* data) {
  Elf64_Ehdr h;
  memcpy(&h, data, sizeof h);
  if (h.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  uint64_t end = sizeof h;
  auto reach = [&end](uint64_t at, uint64_t n) {
    if (at <= kMaxImage && n <= kMaxImage) end = std::max(end, at + n);
  };
  reach(h.e_phoff, uint64_t{h.e_phnum} * h.e_phentsize);
  if (h.e_shoff == 0 || h.e_shoff > kMaxImage || h.e_shentsize != sizeof(Elf64_Shdr)) return end;
  const char* table = static_cast<const char*>(data) + h.e_shoff;
  auto section = [table](uint64_t i) {
    Elf64_Shdr s;
    memcpy(&s, table + i * sizeof s, sizeof s);
    return s;
  };
  uint64_t count = h.e_shnum;
  if (count == 0) count = section(0).sh_size;  // more than e_shnum can say
  if (count > kMaxImage / sizeof(Elf64_Shdr)) return 0;
  reach(h.e_shoff, count * sizeof(Elf64_Shdr));
  for (uint64_t i = 0; i < count; i++) {
    Elf64_Shdr s = section(i);
    if (s.sh_type != SHT_NOBITS) reach(s.sh_offset, s.sh_size);
  }
  return end <= kMaxImage ? end : 0;
}

bool writeAll(int fd, const void* data, size_t n) {
  auto* p = static_cast<const char*>(data);
  while (n > 0) {
    ssize_t k = write(fd, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    p += k;
    n -= static_cast<size_t>(k);
  }
  return true;
}

int memoryFile() { return memfd_create("btrace-image", MFD_CLOEXEC); }

void note(const std::string& text) {
  Message m(Type::Note);
  m.text(text);
  channel().send(m);
}

}  // namespace

size_t imageSize(const void* data, const void** start) {
  *start = data;
  uint32_t magic;
  memcpy(&magic, data, sizeof magic);
  if (magic == kFatbinWrapper) {  // u32 magic, u32 version, the fatbin's address, a file's name
    memcpy(start, static_cast<const char*>(data) + 8, sizeof *start);
    if (!*start) return 0;
    data = *start;
    memcpy(&magic, data, sizeof magic);
  }
  if (magic == kFatbin) {  // u32 magic, u16 version, u16 bytes of the header, u64 bytes behind it
    uint16_t header;
    uint64_t body;
    memcpy(&header, static_cast<const char*>(data) + 6, sizeof header);
    memcpy(&body, static_cast<const char*>(data) + 8, sizeof body);
    return body <= kMaxImage - header ? header + body : 0;
  }
  if (memcmp(data, ELFMAG, SELFMAG) == 0) return elfSize(data);
  // What else the driver takes is text; what begins otherwise (LLVM bitcode,
  // kinds of a later day) is not measured by looking for a NUL.
  auto* text = static_cast<const char*>(data);
  if (!strchr("\t\n\r ./", *text) || !*text) return 0;
  size_t n = strnlen(text, kMaxImage);
  return n < kMaxImage ? n : 0;
}

Image::~Image() {
  if (data_ && !keep_) munmap(data_, size_);
  if (fd_ >= 0) close(fd_);
}

void Image::ask(Door door, uint32_t context, int fd, uint64_t size, const char* name) {
  announceFirst();
  Message m(Type::Image);
  m.u32(context).u32(static_cast<uint32_t>(door)).u64(size).text(name ? name : "");
  Reply reply;
  if (!channel().ask(m, fd, Type::Answer, reply)) return;
  uint32_t action = reply.u32();
  uint64_t module = reply.u64(), bytes = reply.u64();
  reply.text();  // the reason is for the recorder's own report
  if (!reply.whole()) return;
  if (action == 2) module_ = module;
  if (action != 1 || !reply.hasFd() || bytes == 0 || bytes > kMaxImage) return;
  int answer = reply.takeFd();
  struct stat st {};
  if (fstat(answer, &st) != 0 || static_cast<uint64_t>(st.st_size) < bytes) {
    close(answer);
    return;
  }
  // One byte more, which reads as 0: PTX ends with a NUL.
  size_t mapped = bytes + 1;
  void* p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t done = 0;
  while (p != MAP_FAILED && done < bytes) {
    ssize_t k = pread(answer, static_cast<char*>(p) + done, bytes - done, static_cast<off_t>(done));
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) break;
    done += static_cast<size_t>(k);
  }
  if (p == MAP_FAILED || done < bytes) {
    if (p != MAP_FAILED) munmap(p, mapped);
    close(answer);
    return;
  }
  data_ = p;
  size_ = mapped;
  module_ = module;
  fd_ = answer;
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}

void Image::askData(Door door, uint32_t context, const void* data, size_t size, const char* name) {
  if (!data || !channel().open()) return;
  const void* start = data;
  if (size == 0) size = imageSize(data, &start);
  if (size == 0 || size > kMaxImage) {
    note("an image that is neither fatbin, cubin nor PTX was loaded: left alone");
    return;
  }
  int fd = memoryFile();
  if (fd >= 0 && writeAll(fd, start, size)) ask(door, context, fd, size, name);
  if (fd >= 0) close(fd);
}

void Image::askFile(Door door, uint32_t context, const char* file) {
  if (!file || !channel().open()) return;
  int in = open(file, O_RDONLY | O_CLOEXEC);
  if (in < 0) return;  // the driver will say so
  int fd = memoryFile();
  uint64_t size = 0;
  bool good = fd >= 0;
  char buffer[1 << 16];
  while (good) {
    ssize_t n = read(in, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) break;
    size += n > 0 ? static_cast<uint64_t>(n) : 0;
    good = n > 0 && size <= kMaxImage && writeAll(fd, buffer, static_cast<size_t>(n));
  }
  if (good && size > 0) ask(door, context, fd, size, file);
  if (fd >= 0) close(fd);
  close(in);
}

}  // namespace btrace
