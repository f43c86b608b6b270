// The library's end of the protocol with the recorder; ../protocol.go is where
// the protocol is defined.
//
// It knows messages and file descriptors, and nothing of CUDA. When the
// recorder is gone, or talks nonsense, the channel is closed for good: every
// call then does nothing and answers "no", so the program runs on as if it were
// not recorded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace btrace {

enum class Type : uint32_t {
  Hello = 1,
  Welcome,
  Context,
  Ring,
  Image,
  Answer,
  Module,
  Launch,
  Done,
  Failed,
  Bye,
  Note,
};

// Message builds a packet: numbers little endian, without padding.
class Message {
 public:
  explicit Message(Type type);
  Message& u32(uint32_t x);
  Message& u64(uint64_t x);
  Message& dim(uint32_t x, uint32_t y, uint32_t z);
  // text cuts what is longer than the protocol allows.
  Message& text(std::string_view s);

  // packet is the whole message, with its header.
  const std::vector<uint8_t>& packet();

 private:
  std::vector<uint8_t> bytes_;
};

// Reply is a message of the recorder and the descriptor that came with it. The
// descriptor is closed with the Reply unless it was taken.
class Reply {
 public:
  Reply() = default;
  ~Reply();
  Reply(Reply&&) = delete;

  uint32_t u32();
  uint64_t u64();
  std::string text();
  // whole says that all fields were there, and nothing behind them.
  bool whole() const { return !bad_ && at_ == bytes_.size(); }
  bool hasFd() const { return fd_ >= 0; }
  int takeFd();

 private:
  friend class Channel;
  bool take(void* to, size_t n);
  std::vector<uint8_t> bytes_;
  size_t at_ = 0;
  bool bad_ = false;
  int fd_ = -1;
};

class Channel {
 public:
  // connect opens the socket. It says whether there is a recorder.
  bool connect(const char* path);
  bool open() const;
  // there looks whether the recorder still is, without waiting; if not, the
  // channel is closed.
  bool there();
  // send says whether the message went out.
  bool send(Message& m);
  // ask sends a message, with a descriptor if fd >= 0, and waits for the answer,
  // which has to be of the given type. Other threads' messages wait meanwhile.
  bool ask(Message& m, int fd, Type want, Reply& reply);
  // close ends the conversation. abandon does so in a forked child: the
  // conversation is the parent's and goes on there.
  void close();
  void abandon();
};

// channel is the one conversation of this process.
Channel& channel();

}  // namespace btrace
