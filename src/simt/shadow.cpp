// SPDX-License-Identifier: Apache-2.0
// Race detection, see shadow.h.
#include "simt/shadow.h"

#include <algorithm>
#include <bit>

#include "simt/simt.h"

namespace kuafu::simt {
namespace {

constexpr uint32_t kLastTick = 1u << 31;  // a launch that starts beyond this starts over
const Cell kEmpty;

int GranuleLog2(uint64_t address, uint32_t bytes) { return std::countr_zero(address | bytes | 4); }

}  // namespace

void BlockSync::Reset(uint32_t new_block, int lanes, int new_width) {
  block = new_block;
  width = new_width;
  width_log2 = __builtin_ctz(static_cast<unsigned>(new_width));
  Barrier();  // the context may have run another block before
  lane_tick.assign(static_cast<size_t>(lanes), 0);
  lane_acquired.assign(static_cast<size_t>(lanes), 0);
  fenced.assign(static_cast<size_t>(lanes), 0);
  acquired.clear();
}

void Seen::Add(uint32_t who, uint32_t tick) {
  if (tick <= all) return;
  for (uint32_t i = 0; i < count; ++i) {
    if (parts[i].who != who) continue;
    parts[i].tick = std::max(parts[i].tick, tick);
    return;
  }
  if (count == parts.size()) {
    all = tick;
    for (uint32_t i = 0; i < count; ++i) all = std::max(all, parts[i].tick);
    count = 0;
    return;
  }
  parts[count++] = {who, tick};
}

void Seen::Merge(const Seen& other) {
  all = std::max(all, other.all);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (parts[i].tick > all) parts[kept++] = parts[i];
  }
  count = kept;
  for (uint32_t i = 0; i < other.count; ++i) Add(other.parts[i].who, other.parts[i].tick);
}

Touched Touch(const Cell& last_write, const Cell& last_read, const BlockSync& sync, int lane,
              bool write, bool atomic, uint32_t line, uint32_t grid_tick) {
  Touched result;
  auto clashes = [&](const Cell& cell) {
    return cell.tick != 0 && !(atomic && (cell.flags & kCellAtomic) != 0) &&
           !Ordered(cell, sync, lane, grid_tick);
  };
  if (clashes(last_write)) {
    result.conflict = {true, true, last_write};
  } else if (write && clashes(last_read)) {
    result.conflict = {true, false, last_read};
  }
  const Cell& cell = write ? last_write : last_read;
  uint16_t flags = atomic ? kCellAtomic : 0;
  if (!write && cell.tick >= grid_tick && cell.tick != 0) {
    flags |= cell.flags & kCellSeveralBlocks;
    bool same_phase = cell.block == sync.block && cell.tick >= sync.barrier_tick;
    if (same_phase && (cell.lane != lane || (cell.flags & kCellSeveral) != 0) &&
        !Ordered(cell, sync, lane, grid_tick)) {
      // Keep that there were several readers: a later write conflicts with any of them.
      flags |= kCellSeveral | (cell.flags & kCellSeveralWarps);
      if (cell.lane / sync.width != lane / sync.width) flags |= kCellSeveralWarps;
      if ((cell.flags & kCellAtomic) == 0) flags = static_cast<uint16_t>(flags & ~kCellAtomic);
    }
  }
  result.cell = {sync.tick, line, sync.block, static_cast<uint16_t>(lane), flags};
  return result;
}

void GlobalShadow::BeginLaunch(const Memory& memory) {
  limited_ = false;
  released_.clear();
  local_.clear();
  chain_.resize(1);
  read_only.clear();
  std::erase_if(used_, [&](uint32_t id) {
    const Allocation* entry = memory.Get(id);
    if (entry != nullptr && entry->live) return false;
    const ShadowObject& object = *objects_[id];
    size_t half = (kPageBytes >> object.granule_log2) * sizeof(Cell);
    for (const ShadowObject::Page& page : object.pages)
      bytes_ -= half * ((page.write != nullptr) + (page.read != nullptr));
    objects_[id] = nullptr;
    return true;
  });
  if (grid_tick > kLastTick || bytes_ > max_bytes / 2) Drop();
}

void GlobalShadow::Drop() {
  objects_.clear();
  used_.clear();
  bytes_ = 0;
  if (grid_tick > kLastTick) grid_tick = 1;
}

void GlobalShadow::EndLaunch(uint32_t last_tick) { grid_tick = std::max(grid_tick, last_tick) + 1; }

Cell* GlobalShadow::Half(ShadowObject& object, std::unique_ptr<Cell[]>& half) {
  if (half == nullptr) {
    size_t count = kPageBytes >> object.granule_log2;
    if (bytes_ + count * sizeof(Cell) > max_bytes) {
      limited_ = true;
      return nullptr;
    }
    bytes_ += count * sizeof(Cell);
    half = std::make_unique<Cell[]>(count);
  }
  return half.get();
}

// Each granule becomes several with the same history, so nothing is lost.
bool GlobalShadow::Refine(ShadowObject& object, int granule_log2) {
  int shift = object.granule_log2 - granule_log2;
  size_t old_count = kPageBytes >> object.granule_log2, count = kPageBytes >> granule_log2;
  object.granule_log2 = granule_log2;
  for (ShadowObject::Page& page : object.pages) {
    for (std::unique_ptr<Cell[]>* half : {&page.write, &page.read}) {
      if (*half == nullptr) continue;
      std::unique_ptr<Cell[]> old = std::move(*half);
      bytes_ -= old_count * sizeof(Cell);
      Cell* fresh = Half(object, *half);
      for (size_t i = 0; fresh != nullptr && i < count; ++i) fresh[i] = old[i >> shift];
    }
    if (page.chain == nullptr) continue;
    auto chain = std::make_unique<uint32_t[]>(count);
    for (size_t i = 0; i < count; ++i) chain[i] = page.chain[i >> shift];
    page.chain = std::move(chain);
  }
  return true;
}

ShadowObject* GlobalShadow::Object(uint32_t id, const Allocation& allocation, uint64_t address,
                                   uint32_t bytes) {
  if (id >= objects_.size()) objects_.resize(id + 1);
  std::unique_ptr<ShadowObject>& object = objects_[id];
  int granule = GranuleLog2(address, bytes);
  if (object == nullptr) {
    object = std::make_unique<ShadowObject>();
    object->base = allocation.base & ~uint64_t{kPageBytes - 1};
    object->granule_log2 = granule;
    object->pages.resize((allocation.base + allocation.bytes - object->base) / kPageBytes + 1);
    used_.push_back(id);
  } else if (granule < object->granule_log2) {
    Refine(*object, granule);
  }
  return object.get();
}

int GlobalShadow::WriteRun(uint32_t id, const Allocation& allocation, uint64_t address, int lanes,
                           uint32_t bytes, const BlockSync& sync, int lane, uint32_t line) {
  ShadowObject& object = *Object(id, allocation, address, bytes);
  const int log2 = object.granule_log2;
  const uint32_t per_lane = bytes >> log2;
  const uint32_t grid = grid_tick, barrier = sync.barrier_tick, block = sync.block;
  Cell fresh = {sync.tick, line, block, 0, 0};
  for (int done = 0; done < lanes;) {
    uint64_t offset = address + static_cast<uint64_t>(done) * bytes - object.base;
    ShadowObject::Page& page = object.pages[offset / kPageBytes];
    Cell* write = Half(object, page.write);
    if (write == nullptr) return lanes;
    const Cell* read = page.read.get();
    size_t at = offset % kPageBytes >> log2, count = kPageBytes >> log2;
    for (; done < lanes && at + per_lane <= count; ++done, at += per_lane) {
      auto me = static_cast<uint16_t>(lane + done);
      bool fine = true;
      auto harmless = [&](const Cell& c) {
        return c.tick < grid ||
               (c.block == block && (c.tick < barrier ? (c.flags & kCellSeveralBlocks) == 0
                                                      : c.lane == me && c.flags == 0));
      };
      for (uint32_t k = 0; k < per_lane; ++k) {
        fine = fine && harmless(write[at + k]) && (read == nullptr || harmless(read[at + k]));
      }
      if (!fine) return done;
      fresh.lane = me;
      for (uint32_t k = 0; k < per_lane; ++k) write[at + k] = fresh;
    }
    if (done < lanes && at < count) return done;  // an access across the page boundary
  }
  return lanes;
}

int GlobalShadow::ReadRun(uint32_t id, const Allocation& allocation, uint64_t address, int lanes,
                          uint32_t bytes, const BlockSync& sync, int lane, uint32_t line) {
  ShadowObject& object = *Object(id, allocation, address, bytes);
  const int log2 = object.granule_log2;
  const uint32_t per_lane = bytes >> log2;
  const uint32_t grid = grid_tick, barrier = sync.barrier_tick, block = sync.block;
  Cell fresh = {sync.tick, line, block, 0, 0};
  for (int done = 0; done < lanes;) {
    uint64_t offset = address + static_cast<uint64_t>(done) * bytes - object.base;
    ShadowObject::Page& page = object.pages[offset / kPageBytes];
    Cell* read = Half(object, page.read);
    if (read == nullptr) return lanes;
    const Cell* write = page.write.get();
    size_t at = offset % kPageBytes >> log2, count = kPageBytes >> log2;
    for (; done < lanes && at + per_lane <= count; ++done, at += per_lane) {
      auto me = static_cast<uint16_t>(lane + done);
      bool fine = true;
      auto harmless = [&](const Cell& c) {
        return c.tick < grid ||
               (c.block == block && (c.tick < barrier ? (c.flags & kCellSeveralBlocks) == 0
                                                      : c.lane == me && c.flags == 0));
      };
      for (uint32_t k = 0; k < per_lane; ++k) {
        fine = fine && harmless(read[at + k]) && (write == nullptr || harmless(write[at + k]));
      }
      if (!fine) return done;
      fresh.lane = me;
      for (uint32_t k = 0; k < per_lane; ++k) read[at + k] = fresh;
    }
    if (done < lanes && at < count) return done;
  }
  return lanes;
}

Conflict GlobalShadow::Note(uint32_t id, const Allocation& allocation, uint64_t address,
                            uint32_t bytes, const BlockSync& sync, int lane, bool write,
                            bool atomic, uint32_t line) {
  Conflict first;
  ShadowObject& object = *Object(id, allocation, address, bytes);
  const uint64_t step = 1ull << object.granule_log2;
  for (uint64_t a = address; a < address + bytes; a += step) {
    uint64_t offset = a - object.base;
    ShadowObject::Page& page = object.pages[offset / kPageBytes];
    size_t at = offset % kPageBytes >> object.granule_log2;
    Cell* cells = Half(object, write ? page.write : page.read);
    if (cells == nullptr) return first;
    const Cell& last_write = page.write == nullptr ? kEmpty : page.write[at];
    const Cell& last_read = page.read == nullptr ? kEmpty : page.read[at];
    Touched t = Touch(last_write, last_read, sync, lane, write, atomic, line, grid_tick);
    bool chained = last_read.tick >= grid_tick && (last_read.flags & kCellSeveralBlocks) != 0;
    if (write && chained && !t.conflict.found) {
      for (uint32_t i = page.chain[at]; i != 0; i = chain_[i].next) {
        const Cell& c = chain_[i].cell;
        if ((atomic && (c.flags & kCellAtomic) != 0) || Ordered(c, sync, lane, grid_tick)) continue;
        t.conflict = {true, false, c};
        break;
      }
    } else if (!write && last_read.tick >= grid_tick && last_read.block != sync.block &&
               chain_.size() < kMaxChainNodes && !Ordered(last_read, sync, lane, grid_tick)) {
      if (page.chain == nullptr)
        page.chain = std::make_unique<uint32_t[]>(kPageBytes >> object.granule_log2);
      uint32_t head = chained ? page.chain[at] : 0;
      int length = 0;
      for (uint32_t i = head; i != 0; i = chain_[i].next) ++length;
      if (length < kMaxChain) {
        chain_.push_back({last_read, head});
        head = static_cast<uint32_t>(chain_.size() - 1);
      }
      page.chain[at] = head;
      t.cell.flags |= kCellSeveralBlocks;
    }
    if (t.conflict.found && !first.found) first = t.conflict;
    cells[at] = t.cell;
  }
  return first;
}

void GlobalShadow::Release(uint64_t address, BlockSync& sync, int lane, bool device) {
  ++sync.tick;
  local_[address] = {sync.block, sync.tick};
  if (!device) return;
  auto& object = released_[address];
  for (const auto& [block, seen] : sync.acquired) object[block].Merge(seen);
  const auto at = static_cast<size_t>(lane);
  Seen mine;
  mine.all = std::max(sync.barrier_tick, sync.lane_acquired[at]);
  mine.Add(static_cast<uint32_t>(lane), sync.tick);
  mine.Add(Seen::kWarp | static_cast<uint32_t>(lane >> sync.width_log2), sync.lane_tick[at]);
  object[sync.block].Merge(mine);
}

void GlobalShadow::Acquire(uint64_t address, BlockSync& sync, int lane) {
  if (auto local = local_.find(address);
      local != local_.end() && local->second.block == sync.block) {
    uint32_t& seen = sync.lane_acquired[static_cast<size_t>(lane)];
    seen = std::max(seen, local->second.tick);
  }
  auto it = released_.find(address);
  if (it == released_.end()) return;
  for (const auto& [block, seen] : it->second) {
    if (block != sync.block) sync.acquired[block].Merge(seen);
  }
}

}  // namespace kuafu::simt
