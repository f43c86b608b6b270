#include "channel.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>

namespace btrace {
namespace {

constexpr size_t kMaxMessage = 64 << 10;
constexpr size_t kMaxText = 32 << 10;
constexpr size_t kHeader = 8;

// The socket is -1 once the conversation is over. The lock keeps a question and
// its answer together.
std::atomic<int> socket_fd{-1};
std::mutex& lock() {
  static auto* m = new std::mutex;  // never destroyed: threads may still send at exit
  return *m;
}

template <typename T>
void put(std::vector<uint8_t>& to, T x) {
  for (size_t i = 0; i < sizeof x; i++) to.push_back(static_cast<uint8_t>(x >> (8 * i)));
}

bool sendPacket(int s, const std::vector<uint8_t>& packet, int fd) {
  iovec part{const_cast<uint8_t*>(packet.data()), packet.size()};
  msghdr h{};
  h.msg_iov = &part;
  h.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    h.msg_control = control;
    h.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&h);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  ssize_t n;
  do {
    n = sendmsg(s, &h, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(packet.size());
}

// receivePacket returns false when the recorder is gone. Of several descriptors
// the last is kept.
bool receivePacket(int s, std::vector<uint8_t>& packet, int& fd) {
  packet.resize(kMaxMessage);
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr h{};
  h.msg_iov = &part;
  h.msg_iovlen = 1;
  h.msg_control = control;
  h.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = recvmsg(s, &h, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  for (cmsghdr* c = n >= 0 ? CMSG_FIRSTHDR(&h) : nullptr; c; c = CMSG_NXTHDR(&h, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      if (fd >= 0) ::close(fd);
      memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
    }
  }
  if (n <= 0 || (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return false;
  packet.resize(static_cast<size_t>(n));
  return true;
}

}  // namespace

Message::Message(Type type) {
  put<uint32_t>(bytes_, 0);
  put<uint32_t>(bytes_, static_cast<uint32_t>(type));
}

Message& Message::u32(uint32_t x) {
  put(bytes_, x);
  return *this;
}

Message& Message::u64(uint64_t x) {
  put(bytes_, x);
  return *this;
}

Message& Message::dim(uint32_t x, uint32_t y, uint32_t z) { return u32(x).u32(y).u32(z); }

Message& Message::text(std::string_view s) {
  s = s.substr(0, kMaxText);
  u32(static_cast<uint32_t>(s.size()));
  bytes_.insert(bytes_.end(), s.begin(), s.end());
  return *this;
}

const std::vector<uint8_t>& Message::packet() {
  uint32_t n = static_cast<uint32_t>(bytes_.size() - kHeader);
  for (size_t i = 0; i < sizeof n; i++) bytes_[i] = static_cast<uint8_t>(n >> (8 * i));
  return bytes_;
}

Reply::~Reply() {
  if (fd_ >= 0) ::close(fd_);
}

bool Reply::take(void* to, size_t n) {
  if (bad_ || bytes_.size() - at_ < n) {
    bad_ = true;
    return false;
  }
  memcpy(to, bytes_.data() + at_, n);
  at_ += n;
  return true;
}

// The processors that CUDA runs on are little endian, as the protocol is.
uint32_t Reply::u32() {
  uint32_t x = 0;
  take(&x, sizeof x);
  return x;
}

uint64_t Reply::u64() {
  uint64_t x = 0;
  take(&x, sizeof x);
  return x;
}

std::string Reply::text() {
  uint32_t n = u32();
  if (bad_ || n > kMaxText || bytes_.size() - at_ < n) {
    bad_ = true;
    return {};
  }
  std::string s(reinterpret_cast<const char*>(bytes_.data()) + at_, n);
  at_ += n;
  return s;
}

int Reply::takeFd() {
  int fd = fd_;
  fd_ = -1;
  return fd;
}

bool Channel::connect(const char* path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof a.sun_path) return false;
  strcpy(a.sun_path, path);
  int s = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (s < 0) return false;
  if (::connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) {
    ::close(s);
    return false;
  }
  socket_fd = s;
  return true;
}

bool Channel::open() const { return socket_fd.load(std::memory_order_relaxed) >= 0; }

bool Channel::there() {
  if (!open()) return false;
  std::lock_guard<std::mutex> guard(lock());
  pollfd p{socket_fd, 0, 0};
  if (p.fd < 0) return false;
  if (poll(&p, 1, 0) <= 0 || !(p.revents & (POLLHUP | POLLERR))) return true;
  socket_fd = -1;
  ::close(p.fd);
  return false;
}

bool Channel::send(Message& m) {
  if (!open()) return false;
  std::lock_guard<std::mutex> guard(lock());
  int s = socket_fd;
  if (s < 0) return false;
  if (sendPacket(s, m.packet(), -1)) return true;
  socket_fd = -1;
  ::close(s);
  return false;
}

bool Channel::ask(Message& m, int fd, Type want, Reply& reply) {
  if (!open()) return false;
  std::lock_guard<std::mutex> guard(lock());
  int s = socket_fd;
  if (s < 0) return false;
  uint32_t n = 0, type = 0;
  if (sendPacket(s, m.packet(), fd) && receivePacket(s, reply.bytes_, reply.fd_)) {
    n = reply.u32();
    type = reply.u32();
  }
  if (type == static_cast<uint32_t>(want) && n == reply.bytes_.size() - kHeader) return true;
  socket_fd = -1;
  ::close(s);
  return false;
}

void Channel::close() {
  std::lock_guard<std::mutex> guard(lock());
  int s = socket_fd.exchange(-1);
  if (s >= 0) ::close(s);
}

// The lock may be held by a thread that the child does not have.
void Channel::abandon() {
  int s = socket_fd.exchange(-1);
  if (s >= 0) ::close(s);
}

Channel& channel() {
  static Channel c;
  return c;
}

}  // namespace btrace
