// SPDX-License-Identifier: Apache-2.0
// Messages between two of our processes: frames over a Unix stream socket, each with up to 16
// descriptors. On the wire a frame is a 4-byte little-endian length and that many bytes (UTF-8 JSON
// by convention); descriptors are SCM_RIGHTS on the first byte of the length. The Python helpers
// speak the same.
//
//   KUAFU_TRY(os::ChannelPair pair, os::CreateChannelPair());
//   KUAFU_TRY_STATUS(pair.ours.Send(text, {}, deadline));
//   KUAFU_TRY(os::Frame reply, pair.ours.Receive(kFrameBytesMax, deadline));
//
// The peer may be hostile. Errors: unavailable = the peer has closed; exhausted = its frame is
// longer than allowed; corrupt = it closed within a frame or sent too many descriptors; deadline.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"

namespace kuafu::os {

inline constexpr int kChannelFdsMax = 16;

struct Frame {
  std::string bytes;
  std::vector<UniqueFd> fds;
};

// One end. Movable; one thread at a time.
class Channel {
 public:
  Channel() = default;
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  // `fds` are borrowed for the call. After an error in the middle of a frame the channel is
  // unusable and every later Send fails with unavailable.
  Status Send(std::string_view bytes, std::span<const int> fds, const Deadline& deadline);
  // May be called again after a deadline error: what has arrived of a frame is kept.
  Result<Frame> Receive(int64_t bytes_max, const Deadline& deadline);

  int fd() const { return socket_.get(); }
  bool valid() const { return socket_.valid(); }
  void Close() { socket_.Reset(); }
  UniqueFd Release() { return std::move(socket_); }

 private:
  Status FillHeader(const Deadline& deadline);
  Status Wait(short events, const Deadline& deadline) const;

  UniqueFd socket_;
  bool send_broken_ = false;
  // The frame that is arriving.
  std::array<uint8_t, 4> header_{};
  int header_bytes_ = 0;
  std::string payload_;
  std::vector<UniqueFd> fds_;
};

struct ChannelPair {
  Channel ours;
  // To be inherited by a child process; close it here after the spawn, or the end of the child is
  // never seen.
  UniqueFd theirs;
};

Result<ChannelPair> CreateChannelPair();

}  // namespace kuafu::os
