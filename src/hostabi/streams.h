// SPDX-License-Identifier: Apache-2.0
// CUDA's ordering rules between streams, events and the host, to make a missing synchronisation
// visible. Work runs at once, in the order of the calls, which is one of the orders that CUDA
// allows; vector clocks tell which earlier work is not ordered before what comes now. If a kernel
// may touch what such work wrote, it is run a second time on the memory as it was before that work:
// when its results differ, they depend on an order that nothing guarantees. What a kernel writes is
// compared with the bytes that such work has read; copies name their bytes, so two ranges are
// compared. A copy to pinned host memory arrives at the next
// synchronisation and no sooner.
//
// Private to this module. Costs nothing until the candidate creates a stream, nor without the
// sanitizer, except that copies to pinned memory are always late.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hostabi/session.h"

namespace kuafu::hostabi {

using Clock = std::vector<uint64_t>;  // by stream number; what is missing is 0

struct Stream {
  uint32_t number = 0;
  bool blocking = true;  // ordered with the default stream
};
struct Event {
  uint64_t at = 0;  // lane instructions executed so far: the only clock a simulation has
  bool timed = true, recorded = false;
  Clock clock;
};

// Contents of a range of device memory and which of its bytes were written.
struct Image {
  uint32_t id = 0;  // in the allocation table
  size_t offset = 0;
  std::vector<uint8_t> bytes, valid;  // valid: a flag per byte, empty = all
};

// Something that a stream does.
struct Operation {
  uint32_t stream = 0;
  uint64_t epoch = 0;
  std::string kernel, file;  // kernel empty: a copy or fill
  isa::Line line;
  std::vector<Image> undo;   // what its writes replaced
  std::vector<Image> reads;  // ranges, their contents do not matter
  std::string Name() const { return kernel.empty() ? "a copy or fill" : "kernel " + kernel; }
};

class Streams {
 public:
  explicit Streams(Session& session);

  // nullptr if too many exist.
  void* Create(bool blocking);
  bool Destroy(void* stream);
  // nullptr for a handle that is none. The default stream has three names.
  Stream* Find(void* handle);

  // Orders the stream's next work: everything before it in its stream, and what the host knows.
  Operation Issue(Stream& stream);
  void SynchronizeStream(Stream& stream);
  void SynchronizeAll();
  void Record(Event& event, Stream& stream);
  void Wait(Stream& stream, const Event& event);
  void SynchronizeEvent(const Event& event);

  // Whether work has to be recorded at all.
  bool active() const { return active_; }
  Image Take(uint32_t id, size_t offset, size_t bytes) const;
  void Put(const Image& image);
  // Earlier work that is not ordered before `now` and wrote to the allocation.
  std::vector<const Operation*> Unordered(const Operation& now, uint32_t id) const;
  // Reports `now` against unordered work with overlapping bytes.
  void CheckRead(const Operation& now, const void* p, size_t bytes);
  void CheckWrite(const Operation& now, const Image& range);
  void Report(const Operation& now, const Operation& earlier, const std::string& what,
              uint32_t allocation);
  // Keeps the operation until the host has synchronised with it.
  void Add(Operation operation);
  // Work on the results of the entry function, which PyTorch reads on the default stream.
  void CheckReturned(const std::vector<uint32_t>& allocations);

  // Pinned host memory.
  void Pin(void* p, size_t bytes) { pinned_[reinterpret_cast<uint64_t>(p)] = bytes; }
  // False if it was not pinned memory.
  bool Unpin(void* p);
  bool IsPinned(const void* p, size_t bytes) const;
  void DeliverLater(const Operation& now, void* to, const void* from, size_t bytes);
  // Before host memory is read for `now`.
  void DeliverFor(const Operation& now, const void* from, size_t bytes);

 private:
  struct Delivery {
    Operation from;
    uint8_t* to = nullptr;
    std::vector<uint8_t> bytes;
  };
  bool OrderedBefore(const Operation& earlier, const Operation& now) const;
  void Forget();  // what the host has synchronised with

  Session& session_;
  std::vector<Clock> clocks_;  // by stream number
  Clock host_;
  std::map<void*, std::unique_ptr<Stream>> streams_;
  Stream default_, per_thread_{1, true};
  std::vector<uint32_t> free_numbers_;
  std::vector<bool> blocking_;
  std::vector<Operation> pending_;
  std::vector<Delivery> deliveries_;
  std::map<uint64_t, size_t> pinned_;
  bool active_ = false;
};

}  // namespace kuafu::hostabi
