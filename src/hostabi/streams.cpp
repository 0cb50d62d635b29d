// SPDX-License-Identifier: Apache-2.0
// Vector clocks of streams, events and the host; the log of work that the host has not waited for.
#include "hostabi/streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kuafu::hostabi {
namespace {

constexpr size_t kStreamsMax = 1024;
// Beyond these, the oldest work is forgotten: a defect may be missed, none is made up.
constexpr size_t kPendingMax = 256;
constexpr size_t kUndoBytesMax = 64u << 20;
constexpr size_t kDeliveryBytesMax = 256u << 20;

void Join(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}
uint64_t At(const Clock& clock, uint32_t stream) {
  return stream < clock.size() ? clock[stream] : 0;
}
bool Overlaps(const Image& a, const Image& b) {
  return a.id == b.id && a.offset < b.offset + b.bytes.size() &&
         b.offset < a.offset + a.bytes.size();
}

}  // namespace

Streams::Streams(Session& session) : session_(session), clocks_(2), blocking_(2, true) {}

void* Streams::Create(bool blocking) {
  if (streams_.size() >= kStreamsMax) return nullptr;
  active_ = session_.options().sanitize;
  auto stream = std::make_unique<Stream>();
  stream->blocking = blocking;
  if (free_numbers_.empty()) {
    stream->number = static_cast<uint32_t>(clocks_.size());
    clocks_.emplace_back();
    blocking_.push_back(blocking);
  } else {
    stream->number = free_numbers_.back();
    free_numbers_.pop_back();
    blocking_[stream->number] = blocking;
  }
  void* handle = stream.get();
  streams_[handle] = std::move(stream);
  return handle;
}

bool Streams::Destroy(void* stream) {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return false;
  free_numbers_.push_back(it->second->number);
  streams_.erase(it);
  return true;
}

Stream* Streams::Find(void* handle) {
  const auto value = reinterpret_cast<uint64_t>(handle);
  if (value <= 1) return &default_;
  if (value == 2) {
    active_ = session_.options().sanitize;
    return &per_thread_;
  }
  const auto it = streams_.find(handle);
  return it == streams_.end() ? nullptr : it->second.get();
}

Operation Streams::Issue(Stream& stream) {
  Clock& clock = clocks_[stream.number];
  Join(clock, host_);
  if (stream.number == 0) {
    for (size_t i = 1; i < clocks_.size(); ++i) {
      if (blocking_[i]) Join(clock, clocks_[i]);
    }
  } else if (stream.blocking) {
    Join(clock, Clock(clocks_[0]));
  }
  if (clock.size() <= stream.number) clock.resize(stream.number + 1);
  Operation operation;
  operation.stream = stream.number;
  operation.epoch = ++clock[stream.number];
  return operation;
}

void Streams::SynchronizeStream(Stream& stream) {
  // Waiting for the default stream is waiting for what it waits for.
  Issue(stream);
  Join(host_, clocks_[stream.number]);
  Forget();
}
void Streams::SynchronizeAll() {
  for (const Clock& clock : clocks_) Join(host_, clock);
  Forget();
}
void Streams::Record(Event& event, Stream& stream) {
  Issue(stream);
  event.clock = clocks_[stream.number];
}
void Streams::Wait(Stream& stream, const Event& event) {
  Join(clocks_[stream.number], event.clock);
}
void Streams::SynchronizeEvent(const Event& event) {
  Join(host_, event.clock);
  Forget();
}

bool Streams::OrderedBefore(const Operation& earlier, const Operation& now) const {
  return earlier.stream == now.stream || At(clocks_[now.stream], earlier.stream) >= earlier.epoch;
}

void Streams::Forget() {
  std::erase_if(pending_, [&](const Operation& o) { return At(host_, o.stream) >= o.epoch; });
  std::erase_if(deliveries_, [&](const Delivery& d) {
    if (At(host_, d.from.stream) < d.from.epoch) return false;
    std::memcpy(d.to, d.bytes.data(), d.bytes.size());
    return true;
  });
}

Image Streams::Take(uint32_t id, size_t offset, size_t bytes) const {
  const simt::Allocation& a = *session_.memory().Get(id);
  const auto* from = reinterpret_cast<const uint8_t*>(a.base) + offset;
  Image image{id, offset, {from, from + bytes}, {}};
  if (a.tracked) {
    image.valid.resize(bytes);
    for (size_t i = 0; i < bytes; ++i) image.valid[i] = a.Valid(offset + i, 1) ? 1 : 0;
  }
  return image;
}

void Streams::Put(const Image& image) {
  simt::Allocation& a = *session_.memory().Get(image.id);
  if (!a.live || image.bytes.empty()) return;
  auto* to = reinterpret_cast<uint8_t*>(a.base) + image.offset;
  std::memcpy(to, image.bytes.data(), image.bytes.size());
  if (image.valid.empty()) {
    session_.memory().MarkInitialized(to, image.bytes.size());
    return;
  }
  if (!a.tracked) {
    a.tracked = true;
    a.valid.assign((a.bytes + 63) / 64, ~uint64_t{0});
  }
  for (size_t i = 0; i < image.valid.size(); ++i) a.SetValid(image.offset + i, 1, image.valid[i]);
}

std::vector<const Operation*> Streams::Unordered(const Operation& now, uint32_t id) const {
  std::vector<const Operation*> found;
  for (const Operation& o : pending_) {
    if (OrderedBefore(o, now)) continue;
    if (std::any_of(o.undo.begin(), o.undo.end(), [&](const Image& i) { return i.id == id; }))
      found.push_back(&o);
  }
  return found;
}

void Streams::Report(const Operation& now, const Operation& earlier, const std::string& what,
                     uint32_t allocation) {
  const simt::Allocation* a = session_.memory().Get(allocation);
  const std::string name = a == nullptr ? "memory" : a->name;
  // Of a copy no place is known; the kernel on the other side is the best there is.
  const Operation& place = now.kernel.empty() ? earlier : now;
  session_.AddFinding(
      {.message = now.Name() + " " + what + " " + name + ", which " + earlier.Name() +
                  " in another stream may still be using; order them with an event or a "
                  "synchronisation",
       .kernel = place.kernel,
       .file = place.file,
       .line = place.line,
       .other_line = &place == &now ? earlier.line : isa::Line{},
       .allocation = name},
      HostDefect::kStreamOrder);
}

void Streams::CheckRead(const Operation& now, const void* p, size_t bytes) {
  const uint32_t id = session_.memory().IdOf(reinterpret_cast<uint64_t>(p));
  if (id == 0) return;
  Image range{id, reinterpret_cast<uint64_t>(p) - session_.memory().Get(id)->base, {}, {}};
  range.bytes.resize(bytes);
  for (const Operation& o : pending_) {
    if (OrderedBefore(o, now)) continue;
    for (const Image& written : o.undo) {
      if (Overlaps(range, written)) return Report(now, o, "reads", id);
    }
  }
}

void Streams::CheckWrite(const Operation& now, const Image& range) {
  for (const Operation& o : pending_) {
    if (OrderedBefore(o, now)) continue;
    for (const auto* images : {&o.undo, &o.reads}) {
      for (const Image& other : *images) {
        if (Overlaps(range, other)) return Report(now, o, "writes", range.id);
      }
    }
  }
}

void Streams::Add(Operation operation) {
  if (!active_) return;
  pending_.push_back(std::move(operation));
  size_t bytes = 0, keep = 0;
  for (size_t i = pending_.size(); i-- > 0 && keep < kPendingMax; ++keep) {
    for (const auto* images : {&pending_[i].undo, &pending_[i].reads}) {
      for (const Image& image : *images) bytes += image.bytes.size();
    }
    if (bytes > kUndoBytesMax) break;
  }
  pending_.erase(pending_.begin(), pending_.end() - static_cast<std::ptrdiff_t>(keep));
}

void Streams::CheckReturned(const std::vector<uint32_t>& allocations) {
  if (!active_ || pending_.empty()) return;
  const Operation now = Issue(default_);
  for (uint32_t id : allocations) {
    for (const Operation* o : Unordered(now, id)) {
      const simt::Allocation* a = session_.memory().Get(id);
      session_.AddFinding(
          {.message = "the entry function returns " + (a == nullptr ? "a tensor" : a->name) +
                      " while " + o->Name() +
                      " in another stream may still be writing it; synchronise that stream first",
           .kernel = o->kernel,
           .file = o->file,
           .line = o->line,
           .allocation = a == nullptr ? "" : a->name},
          HostDefect::kStreamOrder);
    }
  }
}

bool Streams::Unpin(void* p) {
  const auto it = pinned_.find(reinterpret_cast<uint64_t>(p));
  if (it == pinned_.end()) return false;
  const auto* end = static_cast<uint8_t*>(p) + it->second;
  std::erase_if(deliveries_, [&](const Delivery& d) { return d.to >= p && d.to < end; });
  pinned_.erase(it);
  return true;
}

bool Streams::IsPinned(const void* p, size_t bytes) const {
  const auto address = reinterpret_cast<uint64_t>(p);
  auto it = pinned_.upper_bound(address);
  if (it == pinned_.begin()) return false;
  --it;
  const uint64_t offset = address - it->first;
  return offset <= it->second && bytes <= it->second - offset;
}

void Streams::DeliverLater(const Operation& now, void* to, const void* from, size_t bytes) {
  size_t waiting = bytes;
  for (const Delivery& d : deliveries_) waiting += d.bytes.size();
  if (waiting > kDeliveryBytesMax) {
    SynchronizeAll();
    std::memcpy(to, from, bytes);
    return;
  }
  const auto* first = static_cast<const uint8_t*>(from);
  deliveries_.push_back({now, static_cast<uint8_t*>(to), {first, first + bytes}});
}

void Streams::DeliverFor(const Operation& now, const void* from, size_t bytes) {
  const auto* first = static_cast<const uint8_t*>(from);
  std::erase_if(deliveries_, [&](const Delivery& d) {
    if (d.to >= first + bytes || first >= d.to + d.bytes.size()) return false;
    if (!OrderedBefore(d.from, now)) return false;  // it reads what was there before
    std::memcpy(d.to, d.bytes.data(), d.bytes.size());
    return true;
  });
}

}  // namespace kuafu::hostabi
