// SPDX-License-Identifier: Apache-2.0
// Goal: frames and descriptors arrive whole, and a hostile or dead peer is a distinct error within
// the deadline. Method: the peer writes raw bytes to its end of the socket; a Python peer proves
// the wire format.
#include "os/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "os/file.h"
#include "os/memfd.h"
#include "os/process.h"

namespace kuafu::os {
namespace {

Deadline Soon() { return Deadline::AfterMs(5000); }
Deadline AtOnce() { return Deadline::AfterMs(20); }

void WriteRaw(int fd, std::string_view bytes) {
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

TEST(Channel, CarriesBytesAndDescriptors) {
  Result<ChannelPair> pair = CreateChannelPair();
  ASSERT_TRUE(pair.ok());
  Channel peer(std::move(pair.value().theirs));
  Result<UniqueFd> memory = CreateMemfd("test", 100);
  ASSERT_TRUE(memory.ok());
  const int fds[] = {memory.value().get(), memory.value().get()};
  ASSERT_TRUE(pair.value().ours.Send("hello", fds, Soon()).ok());
  ASSERT_TRUE(pair.value().ours.Send("", {}, Soon()).ok());
  Result<Frame> first = peer.Receive(100, Soon());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first.value().bytes, "hello");
  ASSERT_EQ(first.value().fds.size(), 2u);
  EXPECT_EQ(FdSize(first.value().fds[1].get()).value(), 100);
  Result<Frame> second = peer.Receive(100, Soon());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value().bytes, "");
  EXPECT_TRUE(second.value().fds.empty());
}

TEST(Channel, LargeFrameNeedsManyWrites) {
  Result<ChannelPair> pair = CreateChannelPair();
  ASSERT_TRUE(pair.ok());
  std::string text(8 << 20, 'x');
  text[5'000'000] = 'y';
  std::jthread sender([&] { EXPECT_TRUE(pair.value().ours.Send(text, {}, Soon()).ok()); });
  Channel peer(std::move(pair.value().theirs));
  Result<Frame> frame = peer.Receive(16 << 20, Soon());
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame.value().bytes, text);
}

TEST(Channel, ClosedOversizeAndCutAreDistinct) {
  for (auto [bytes, code] : {std::pair<std::string, Code>{"", Code::kUnavailable},
                             {std::string("\xff\xff\xff\xff", 4), Code::kExhausted},
                             {std::string("\x05\0", 2), Code::kCorrupt},
                             {std::string("\x05\0\0\0abc", 7), Code::kCorrupt}}) {
    Result<ChannelPair> pair = CreateChannelPair();
    ASSERT_TRUE(pair.ok());
    WriteRaw(pair.value().theirs.get(), bytes);
    pair.value().theirs.Reset();
    Result<Frame> frame = pair.value().ours.Receive(1000, Soon());
    ASSERT_FALSE(frame.ok());
    EXPECT_EQ(frame.error().code, code) << frame.error().ToString();
  }
}

TEST(Channel, DeadlineKeepsWhatHasArrived) {
  Result<ChannelPair> pair = CreateChannelPair();
  ASSERT_TRUE(pair.ok());
  WriteRaw(pair.value().theirs.get(), std::string("\x03\0\0\0a", 5));
  Result<Frame> early = pair.value().ours.Receive(1000, AtOnce());
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, Code::kDeadline);
  WriteRaw(pair.value().theirs.get(), "bc");
  Result<Frame> frame = pair.value().ours.Receive(1000, Soon());
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame.value().bytes, "abc");
}

TEST(Channel, SendToAFullOrClosedPeerEnds) {
  Result<ChannelPair> pair = CreateChannelPair();
  ASSERT_TRUE(pair.ok());
  std::string big(32 << 20, 'x');
  Status status = pair.value().ours.Send(big, {}, AtOnce());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kDeadline);
  EXPECT_FALSE(pair.value().ours.Send("x", {}, Soon()).ok());  // half a frame is on the wire

  Result<ChannelPair> closed = CreateChannelPair();
  ASSERT_TRUE(closed.ok());
  closed.value().theirs.Reset();
  status = closed.value().ours.Send("x", {}, Soon());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUnavailable);
}

TEST(Channel, PythonSpeaksTheSame) {
  Result<std::string> python = FindProgram("python3");
  if (!python.ok()) GTEST_SKIP() << "no python3 in PATH";
  constexpr const char* kPeer = R"(
import json, os, socket, struct
s = socket.socket(fileno=3)
head, fds, _, _ = socket.recv_fds(s, 4, 16)
while len(head) < 4: head += s.recv(4 - len(head))
body = b""
n = struct.unpack("<I", head)[0]
while len(body) < n: body += s.recv(n - len(body))
request = json.loads(body)
text = os.pread(fds[0], 5, 0).decode()
reply = json.dumps({"sum": request["a"] + request["b"], "text": text}).encode()
data = struct.pack("<I", len(reply)) + reply
sent = socket.send_fds(s, [data], [fds[0]])
s.sendall(data[sent:])
)";
  Result<ChannelPair> pair = CreateChannelPair();
  ASSERT_TRUE(pair.ok());
  Result<UniqueFd> memory = CreateMemfd("test", 5);
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(pwrite(memory.value().get(), "fives", 5, 0), 5);
  Result<Process> child = Spawn({python.value(), "-I", "-c", kPeer},
                                {.inherited_fds = {{pair.value().theirs.get(), 3}}});
  ASSERT_TRUE(child.ok()) << child.error().ToString();
  pair.value().theirs.Reset();
  const int fds[] = {memory.value().get()};
  ASSERT_TRUE(pair.value().ours.Send(R"({"a": 2, "b": 3})", fds, Soon()).ok());
  Result<Frame> reply = pair.value().ours.Receive(1000, Deadline::AfterMs(30'000));
  ASSERT_TRUE(reply.ok()) << reply.error().ToString();
  EXPECT_EQ(reply.value().bytes, R"({"sum": 5, "text": "fives"})");
  EXPECT_EQ(reply.value().fds.size(), 1u);
  EXPECT_TRUE(child.value().Wait(Soon()).ok());
}

TEST(Memfd, SealedSizeIsChecked) {
  Result<UniqueFd> memory = CreateMemfd("test", 4096);
  ASSERT_TRUE(memory.ok());
  int fd = memory.value().get();
  EXPECT_FALSE(CheckSealed(fd, 4096).ok());
  ASSERT_TRUE(SealSize(fd).ok());
  EXPECT_TRUE(CheckSealed(fd, 4096).ok());
  EXPECT_FALSE(CheckSealed(fd, 4097).ok());
  EXPECT_NE(ftruncate(fd, 0), 0);
  Result<Mapping> map = MapFd(fd, 4096, Access::kReadWrite);
  ASSERT_TRUE(map.ok());
  map.value().bytes()[7] = 9;
  EXPECT_FALSE(SealAll(fd).ok());  // a writable mapping exists
  map.value() = Mapping();
  ASSERT_TRUE(SealAll(fd).ok());
  EXPECT_FALSE(MapFd(fd, 4096, Access::kReadWrite).ok());
  Result<Mapping> again = MapFd(fd, 4096, Access::kReadOnly);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().bytes()[7], 9);
  EXPECT_FALSE(MapFd(fd, 4097, Access::kReadOnly).ok());
}

}  // namespace
}  // namespace kuafu::os
