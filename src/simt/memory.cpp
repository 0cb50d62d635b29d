// SPDX-License-Identifier: Apache-2.0
// The allocation table. Every block of device memory is a separate host block with red zones, so
// that a stray address either misses every entry or names the neighbour it came from.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/rng.h"
#include "os/memfd.h"
#include "simt/simt.h"

namespace kuafu::simt {
namespace {

constexpr size_t kQuarantineBytes = 256u << 20;
constexpr size_t kMaxTable = 1u << 20;
constexpr int64_t kPatternBytes = int64_t{16} << 20;
constexpr uint64_t kPatternSeed = 1;

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

// Whether all of these bits are `value`.
bool All(const std::vector<uint64_t>& bits, size_t offset, size_t count, bool value) {
  while (count > 0) {
    size_t bit = offset & 63, run = std::min(count, 64 - bit);
    uint64_t mask = (run == 64 ? ~0ull : (1ull << run) - 1) << bit;
    if (((value ? ~bits[offset >> 6] : bits[offset >> 6]) & mask) != 0) return false;
    offset += run;
    count -= run;
  }
  return true;
}

void SetBits(std::vector<uint64_t>& bits, size_t offset, size_t count, bool value) {
  while (count > 0) {
    size_t bit = offset & 63, run = std::min(count, 64 - bit);
    uint64_t mask = (run == 64 ? ~0ull : (1ull << run) - 1) << bit;
    if (value)
      bits[offset >> 6] |= mask;
    else
      bits[offset >> 6] &= ~mask;
    offset += run;
    count -= run;
  }
}

void FreeStorage(const Allocation& a) {
  if (a.lazy && a.storage != nullptr)
    os::Unmap(a.storage, static_cast<int64_t>(a.storage_bytes));
  else
    std::free(a.storage);
}

}  // namespace

bool Allocation::Valid(size_t offset, size_t count) const {
  return All(valid, offset, count, true);
}
void Allocation::SetValid(size_t offset, size_t count, bool value) {
  SetBits(valid, offset, count, value);
}

bool Allocation::Known(size_t offset, size_t count) const {
  return unknown.empty() || All(unknown, offset, count, false);
}
void Allocation::SetKnown(size_t offset, size_t count, bool value) {
  if (unknown.empty()) {
    if (value) return;
    unknown.assign((bytes + 63) / 64, 0);
  }
  SetBits(unknown, offset, count, !value);
}

Memory::Memory(size_t limit_bytes) : limit_(limit_bytes) { table_.push_back(nullptr); }

Memory::~Memory() {
  for (auto& entry : table_) {
    if (entry != nullptr) FreeStorage(*entry);
  }
}

Status Memory::UsePattern() {
  KUAFU_TRY(pattern_, os::CreateMemfd("pattern", kPatternBytes));
  KUAFU_TRY(os::Mapping map, os::MapFd(pattern_.get(), kPatternBytes, os::Access::kReadWrite));
  SplitMix64 rng(kPatternSeed);
  for (size_t at = 0; at < map.bytes().size(); at += sizeof(float)) {
    const auto value = static_cast<float>(2 * rng.Uniform() - 1);
    std::memcpy(map.bytes().data() + at, &value, sizeof value);
  }
  return OkStatus();
}

Status Memory::Zero(uint32_t id) {
  Allocation* a = Get(id);
  if (a == nullptr || !a->lazy || a->bytes == 0) return OkStatus();
  // The last page has the red zone.
  const size_t whole = a->bytes / os::kPageBytes * os::kPageBytes;
  auto* start = reinterpret_cast<uint8_t*>(a->base);
  if (whole > 0) KUAFU_TRY_STATUS(os::MapZerosAt(start, static_cast<int64_t>(whole)));
  std::memset(start + whole, 0, a->bytes - whole);
  return OkStatus();
}

Result<void*> Memory::AllocateLazy(size_t bytes, std::string name, bool initialized) {
  const size_t zone = os::kPageBytes;
  const size_t total = RoundUp(zone + bytes + kRedZone, os::kPageBytes);
  const auto mapped = static_cast<int64_t>(total);
  KUAFU_TRY(void* const storage, initialized
                                     ? os::MapZeros(mapped)
                                     : os::MapRepeated(pattern_.get(), kPatternBytes, mapped));
  auto* start = static_cast<uint8_t*>(storage);
  std::memset(start, kRedZoneByte, zone);
  std::memset(start + zone + bytes, kRedZoneByte, total - zone - bytes);
  auto entry = std::make_unique<Allocation>();
  entry->base = reinterpret_cast<uint64_t>(start + zone);
  entry->bytes = bytes;
  entry->name = std::move(name);
  entry->owned = entry->lazy = true;
  entry->storage = storage;
  entry->storage_bytes = total;
  used_ += bytes;
  by_start_[reinterpret_cast<uint64_t>(start)] = static_cast<uint32_t>(table_.size());
  table_.push_back(std::move(entry));
  return static_cast<void*>(start + zone);
}

Result<void*> Memory::Allocate(size_t bytes, size_t align, std::string name, bool initialized) {
  if (align == 0 || (align & (align - 1)) != 0 || align > 4096) {
    return Error{Code::kInvalidInput, "allocating " + name + ": alignment " +
                                          std::to_string(align) +
                                          " is not a power of two up to 4096"};
  }
  if (bytes > limit_ || used_ > limit_ - bytes) {
    ++refused_;
    return Error{Code::kExhausted,
                 "allocating " + std::to_string(bytes) + " bytes for " + name + ": " +
                     std::to_string(used_) + " of " + std::to_string(limit_) +
                     " bytes of device memory are in use; use smaller inputs or a larger limit"};
  }
  if (table_.size() >= kMaxTable) {
    return Error{Code::kExhausted, "allocating " + name + ": more than " +
                                       std::to_string(kMaxTable) +
                                       " allocations were made; allocate once and reuse"};
  }
  if (pattern_.valid()) return AllocateLazy(bytes, std::move(name), initialized);
  size_t zone = std::max(kRedZone, align), unit = std::max<size_t>(align, 256);
  size_t total = RoundUp(zone + bytes + kRedZone, unit);
  void* storage = std::aligned_alloc(unit, total);
  if (storage == nullptr) {
    return Error{Code::kExhausted, "allocating " + std::to_string(bytes) + " bytes for " + name +
                                       ": the host has no memory left"};
  }
  auto* start = static_cast<uint8_t*>(storage);
  std::memset(start, kRedZoneByte, zone);
  std::memset(start + zone, initialized ? 0 : kPoisonByte, bytes);
  std::memset(start + zone + bytes, kRedZoneByte, total - zone - bytes);
  auto entry = std::make_unique<Allocation>();
  entry->base = reinterpret_cast<uint64_t>(start + zone);
  entry->bytes = bytes;
  entry->name = std::move(name);
  entry->owned = true;
  entry->storage = storage;
  entry->storage_bytes = total;
  if (!initialized && bytes > 0) {
    entry->tracked = true;
    entry->valid.assign((bytes + 63) / 64, 0);
  }
  used_ += bytes;
  by_start_[reinterpret_cast<uint64_t>(start)] = static_cast<uint32_t>(table_.size());
  table_.push_back(std::move(entry));
  return static_cast<void*>(start + zone);
}

Status Memory::Import(void* pointer, size_t bytes, std::string name) {
  auto start = reinterpret_cast<uint64_t>(pointer);
  if (pointer == nullptr || start > UINT64_MAX - bytes || table_.size() >= kMaxTable) {
    return Error{Code::kInvalidInput, "importing " + name + ": not a usable address range"};
  }
  auto next = by_start_.lower_bound(start);
  bool overlaps =
      next != by_start_.end() && next->first < start + bytes && table_[next->second]->live;
  if (uint32_t id = IdOf(start); id != 0 && table_[id]->live) overlaps = true;
  if (overlaps) {
    return Error{Code::kAlreadyExists,
                 "importing " + name + ": the range overlaps device memory already known"};
  }
  auto entry = std::make_unique<Allocation>();
  entry->base = start;
  entry->bytes = bytes;
  entry->name = std::move(name);
  by_start_[start] = static_cast<uint32_t>(table_.size());
  table_.push_back(std::move(entry));
  return OkStatus();
}

Status Memory::Free(void* pointer) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  uint32_t id = IdOf(address);
  if (id == 0 || table_[id]->base != address) {
    return Error{Code::kInvalidInput,
                 "freeing an address that no allocation starts at; free what was allocated"};
  }
  Allocation& entry = *table_[id];
  if (!entry.live) {
    return Error{Code::kInvalidInput, "freeing " + entry.name + " a second time"};
  }
  entry.live = false;
  if (!entry.owned) return OkStatus();
  used_ -= entry.bytes;
  if (!entry.lazy) std::memset(pointer, kPoisonByte, entry.bytes);
  quarantined_ += entry.storage_bytes;
  quarantine_.push_back(id);
  size_t drop = 0;
  while (quarantined_ > kQuarantineBytes && drop + 1 < quarantine_.size())
    Release(*table_[quarantine_[drop++]]);
  quarantine_.erase(quarantine_.begin(), quarantine_.begin() + static_cast<long>(drop));
  return OkStatus();
}

void Memory::Release(Allocation& allocation) {
  quarantined_ -= allocation.storage_bytes;
  by_start_.erase(reinterpret_cast<uint64_t>(allocation.storage));
  FreeStorage(allocation);
  allocation.storage = nullptr;
  allocation.valid = {};
  allocation.unknown = {};
  allocation.tracked = false;
}

uint32_t Memory::IdOf(uint64_t address) const {
  auto it = by_start_.upper_bound(address);
  if (it == by_start_.begin()) return 0;
  --it;
  const Allocation& entry = *table_[it->second];
  uint64_t end = entry.owned ? it->first + entry.storage_bytes : entry.base + entry.bytes;
  return address < end || (!entry.owned && address == end) ? it->second : 0;
}

Allocation* Memory::Get(uint32_t id) { return id < table_.size() ? table_[id].get() : nullptr; }
const Allocation* Memory::Get(uint32_t id) const {
  return id < table_.size() ? table_[id].get() : nullptr;
}

void Memory::MarkInitialized(const void* pointer, size_t bytes) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  Allocation* entry = Get(IdOf(address));
  if (entry == nullptr || !entry->tracked || address < entry->base) return;
  size_t offset = address - entry->base;
  if (offset >= entry->bytes) return;
  bytes = std::min(bytes, entry->bytes - offset);
  if (bytes == entry->bytes) {
    entry->tracked = false;
    entry->valid = {};
    return;
  }
  entry->SetValid(offset, bytes, true);
}

size_t Memory::BytesNeverWritten(const void* pointer, size_t bytes) const {
  auto address = reinterpret_cast<uint64_t>(pointer);
  const Allocation* entry = Get(IdOf(address));
  if (entry == nullptr || !entry->live || address < entry->base ||
      address - entry->base > entry->bytes)
    return bytes;
  size_t offset = address - entry->base, inside = std::min(bytes, entry->bytes - offset);
  size_t missing = bytes - inside;
  if (!entry->tracked) return missing;
  for (size_t i = 0; i < inside;) {
    if (((offset + i) & 63) == 0 && inside - i >= 64) {
      missing += 64 - static_cast<size_t>(__builtin_popcountll(entry->valid[(offset + i) >> 6]));
      i += 64;
    } else {
      missing += entry->Valid(offset + i, 1) ? 0 : 1;
      ++i;
    }
  }
  return missing;
}

bool Memory::Known(const void* pointer, size_t bytes) const {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const Allocation* entry = Get(IdOf(address));
  if (entry == nullptr || address < entry->base || address - entry->base >= entry->bytes)
    return true;
  const size_t offset = address - entry->base;
  return entry->Known(offset, std::min(bytes, entry->bytes - offset));
}

void Memory::SetKnown(const void* pointer, size_t bytes, bool value) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  Allocation* entry = Get(IdOf(address));
  if (entry == nullptr || address < entry->base || address - entry->base >= entry->bytes) return;
  const size_t offset = address - entry->base;
  entry->SetKnown(offset, std::min(bytes, entry->bytes - offset), value);
}

void Memory::CopyKnown(const void* to, const void* from, size_t bytes) {
  if (Known(from, bytes)) return SetKnown(to, bytes, true);
  const auto source = reinterpret_cast<uint64_t>(from), target = reinterpret_cast<uint64_t>(to);
  const Allocation* a = Get(IdOf(source));
  Allocation* b = Get(IdOf(target));
  if (a == nullptr || b == nullptr || source < a->base || target < b->base) return;
  for (size_t i = 0; i < bytes && target - b->base + i < b->bytes; ++i) {
    const size_t at = source - a->base + i;
    b->SetKnown(target - b->base + i, 1, at >= a->bytes || a->Known(at, 1));
  }
}

bool Memory::RedZonesIntact(uint32_t id) const {
  const Allocation* entry = Get(id);
  if (entry == nullptr || !entry->owned || entry->storage == nullptr) return true;
  const auto* start = static_cast<const uint8_t*>(entry->storage);
  const auto* base = reinterpret_cast<const uint8_t*>(entry->base);
  auto clean = [](uint8_t byte) { return byte == kRedZoneByte; };
  return std::all_of(start, base, clean) &&
         std::all_of(base + entry->bytes, start + entry->storage_bytes, clean);
}

}  // namespace kuafu::simt
