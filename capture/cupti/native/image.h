// Images of device code: how long one is, and what the recorder wants loaded in
// its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace btrace {

// Door is the driver function through which an image comes in; the numbers are
// the protocol's.
enum class Door : uint32_t {
  ModuleLoad = 1,
  ModuleLoadData,
  ModuleLoadDataEx,
  ModuleLoadFatBinary,
  LibraryLoadData,
  LibraryLoadFromFile,
  LinkAddData,
  LinkAddFile,
};

// Image is the recorder's answer: what to load. It is unmapped with the object.
class Image {
 public:
  Image() = default;
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // module is the recorder's number of it; 0 if it is none of the recorder's.
  uint64_t module() const { return module_; }
  // replaced says that data and path are to be loaded in place of the original.
  bool replaced() const { return data_ != nullptr; }
  const void* data() const { return data_; }
  // path names the same bytes, for functions that take a file name.
  const char* path() const { return path_.c_str(); }
  // keep leaves the bytes where they are after the object's end: a library may
  // have been told that they stay.
  void keep() { keep_ = true; }

  // askData sends an image that lies in memory, askFile one that is a file.
  // size is used where the caller knows it (links), else it is found out. If
  // there is no answer the image is the original.
  void askData(Door door, uint32_t context, const void* data, size_t size = 0, const char* name = nullptr);
  void askFile(Door door, uint32_t context, const char* file);

 private:
  void ask(Door door, uint32_t context, int fd, uint64_t size, const char* name);
  uint64_t module_ = 0;
  void* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
  bool keep_ = false;
  std::string path_;
};

// imageSize is the bytes of an image in memory, which its own headers say: of a
// fatbin or its wrapper, a cubin (ELF), or PTX (a NUL ends it). 0 if it is none
// of these or longer than the protocol allows. start is where the bytes begin: a
// wrapper's are elsewhere.
size_t imageSize(const void* data, const void** start);

}  // namespace btrace
