// SPDX-License-Identifier: Apache-2.0
// Every system call here is non-blocking (MSG_DONTWAIT) and every wait is a poll with the deadline,
// so a peer that stops in the middle of a byte costs at most the deadline.
#include "os/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "base/text.h"

namespace kuafu::os {
namespace {

// Room for the descriptors of one frame, aligned as the kernel wants it.
struct alignas(cmsghdr) ControlBuffer {
  std::array<char, CMSG_SPACE(sizeof(int) * kChannelFdsMax)> bytes{};
};

Error PeerClosed() { return Error{Code::kUnavailable, "channel: the other process has closed it"}; }

// Takes over the descriptors that came with a message.
void TakeFds(msghdr& message, std::vector<UniqueFd>& fds) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
}

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Status Channel::Wait(short events, const Deadline& deadline) const {
  while (true) {
    pollfd item{socket_.get(), events, 0};
    int count = poll(&item, 1, deadline.PollTimeoutMs());
    if (count > 0) return OkStatus();  // errors and hang-ups surface in the call that follows
    if (count < 0 && errno != EINTR) return ErrnoError("channel: waiting", errno);
    if (deadline.Expired())
      return Error{Code::kDeadline, "channel: no progress before the deadline"};
  }
}

Status Channel::Send(std::string_view bytes, std::span<const int> fds, const Deadline& deadline) {
  if (!socket_.valid() || send_broken_) return PeerClosed();
  if (static_cast<int64_t>(bytes.size()) > kFrameBytesMax || fds.size() > kChannelFdsMax) {
    return Error{Code::kInvalidInput,
                 "channel: sending " + FormatBytes(static_cast<int64_t>(bytes.size())) + " and " +
                     std::to_string(fds.size()) + " descriptors, limits " +
                     FormatBytes(kFrameBytesMax) + " and 16"};
  }
  const auto length = static_cast<uint32_t>(bytes.size());
  std::array<uint8_t, 4> header{};
  for (size_t i = 0; i < 4; ++i) header[i] = static_cast<uint8_t>(length >> (8 * i));

  size_t sent = 0;  // of header and bytes together
  const size_t total = header.size() + bytes.size();
  while (sent < total) {
    std::array<iovec, 2> parts{};
    size_t part_count = 0;
    if (sent < header.size()) {
      parts[part_count++] = {header.data() + sent, header.size() - sent};
    }
    size_t offset = sent < header.size() ? 0 : sent - header.size();
    if (offset < bytes.size()) {
      parts[part_count++] = {const_cast<char*>(bytes.data()) + offset, bytes.size() - offset};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = part_count;
    ControlBuffer control;
    if (sent == 0 && !fds.empty()) {
      message.msg_control = control.bytes.data();
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    ssize_t count = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    Status status = WouldBlock(errno) ? Wait(POLLOUT, deadline)
                    : (errno == EPIPE || errno == ECONNRESET)
                        ? Status(PeerClosed())
                        : ErrnoError("channel: sending", errno);
    if (!status.ok()) {
      // Half a frame is on the wire: what would follow could not be told from its rest.
      send_broken_ = sent != 0 || status.error().code != Code::kDeadline;
      return status;
    }
  }
  return OkStatus();
}

Status Channel::FillHeader(const Deadline& deadline) {
  while (header_bytes_ < 4) {
    iovec part{header_.data() + header_bytes_, static_cast<size_t>(4 - header_bytes_)};
    ControlBuffer control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    ssize_t count = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && WouldBlock(errno)) {
      KUAFU_TRY_STATUS(Wait(POLLIN, deadline));
      continue;
    }
    if (count < 0 && errno != ECONNRESET) return ErrnoError("channel: receiving", errno);
    if (count <= 0) {
      if (header_bytes_ == 0) return PeerClosed();
      return Error{Code::kCorrupt, "channel: the other process closed it within a frame"};
    }
    TakeFds(message, fds_);
    header_bytes_ += static_cast<int>(count);
    if ((message.msg_flags & MSG_CTRUNC) != 0 || fds_.size() > kChannelFdsMax) {
      return Error{Code::kCorrupt, "channel: more than 16 descriptors with one frame"};
    }
  }
  return OkStatus();
}

Result<Frame> Channel::Receive(int64_t bytes_max, const Deadline& deadline) {
  if (!socket_.valid()) return PeerClosed();
  KUAFU_TRY_STATUS(FillHeader(deadline));
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) length |= static_cast<uint32_t>(header_[i]) << (8 * i);
  if (static_cast<int64_t>(length) > bytes_max) {
    return Error{Code::kExhausted,
                 "channel: frame of " + FormatBytes(length) + ", limit " + FormatBytes(bytes_max)};
  }
  // Memory grows with what arrives, not with what is announced.
  constexpr size_t kChunk = 1024 * 1024;
  while (payload_.size() < length) {
    size_t old_size = payload_.size();
    size_t want = std::min(kChunk, length - old_size);
    payload_.resize(old_size + want);
    // No control buffer: descriptors in the middle of a frame are dropped by the kernel.
    ssize_t count = recv(socket_.get(), payload_.data() + old_size, want, MSG_DONTWAIT);
    int error = errno;
    payload_.resize(old_size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0 || (count < 0 && error == EINTR)) continue;
    if (count < 0 && WouldBlock(error)) {
      KUAFU_TRY_STATUS(Wait(POLLIN, deadline));
      continue;
    }
    if (count < 0 && error != ECONNRESET) return ErrnoError("channel: receiving", error);
    return Error{Code::kCorrupt, "channel: the other process closed it within a frame"};
  }
  header_bytes_ = 0;
  Frame frame{std::move(payload_), std::move(fds_)};
  payload_.clear();
  fds_.clear();
  return frame;
}

Result<ChannelPair> CreateChannelPair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoError("creating a channel", errno);
  }
  return ChannelPair{Channel(UniqueFd(ends[0])), UniqueFd(ends[1])};
}

}  // namespace kuafu::os
