// SPDX-License-Identifier: Apache-2.0
// Race detection, see shadow.h.
#include "simt/shadow.h"

#include <algorithm>

namespace kuafu::simt {
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

Conflict Touch(Word& word, const BlockSync& sync, int lane, uint8_t bytes, bool write, bool atomic,
               uint32_t line, uint32_t grid_tick) {
  Conflict conflict;
  auto clashes = [&](const Cell& cell) {
    return cell.tick != 0 && (cell.bytes & bytes) != 0 &&
           !(atomic && (cell.flags & kCellAtomic) != 0) && !Ordered(cell, sync, lane, grid_tick);
  };
  if (clashes(word.write)) {
    conflict = {true, true, word.write};
  } else if (write && clashes(word.read)) {
    conflict = {true, false, word.read};
  }
  Cell& cell = write ? word.write : word.read;
  uint8_t flags = atomic ? kCellAtomic : 0;
  bool same_phase = cell.tick != 0 && cell.block == sync.block && cell.tick >= sync.barrier_tick;
  if (!write && same_phase && (cell.lane != lane || (cell.flags & kCellSeveral) != 0) &&
      !Ordered(cell, sync, lane, grid_tick)) {
    // Keep that there were several readers: a later write conflicts with any of them.
    flags |= kCellSeveral | (cell.flags & kCellSeveralWarps);
    if (cell.lane / sync.width != lane / sync.width) flags |= kCellSeveralWarps;
    if ((cell.flags & kCellAtomic) == 0) flags = static_cast<uint8_t>(flags & ~kCellAtomic);
    bytes |= cell.bytes;
  } else if (!write && cell.tick != 0 && cell.block != sync.block &&
             !Ordered(cell, sync, lane, grid_tick)) {
    flags |= kCellSeveral;  // readers in several blocks: the newest stands for them
  } else if (same_phase && cell.lane == lane) {
    bytes |= cell.bytes;
  }
  cell = {sync.tick, line, sync.block, static_cast<uint16_t>(lane), bytes, flags};
  return conflict;
}

Word* GlobalShadow::At(uint64_t address) {
  uint64_t page = address / 4 / kPageWords;
  if (page != last_page_) {
    auto it = pages_.find(page);
    if (it == pages_.end()) {
      if (pages_.size() >= kMaxPages) {
        limited_ = true;
        return nullptr;
      }
      it = pages_.emplace(page, std::make_unique<Page>()).first;
    }
    last_page_ = page;
    last_ = it->second.get();
  }
  return &last_->words[address / 4 % kPageWords];
}

void GlobalShadow::Release(uint64_t address, BlockSync& sync, bool device) {
  if (!device) {
    ++sync.tick;
    local_[address] = {sync.block, sync.tick};
    return;
  }
  auto& object = objects_[address];
  for (const auto& [block, tick] : sync.acquired) object[block] = std::max(object[block], tick);
  ++sync.tick;
  object[sync.block] = std::max(object[sync.block], sync.tick);
  local_[address] = {sync.block, sync.tick};
}

void GlobalShadow::Acquire(uint64_t address, BlockSync& sync, int lane) {
  if (auto local = local_.find(address);
      local != local_.end() && local->second.block == sync.block) {
    uint32_t& seen = sync.lane_acquired[static_cast<size_t>(lane)];
    seen = std::max(seen, local->second.tick);
  }
  auto it = objects_.find(address);
  if (it == objects_.end()) return;
  for (const auto& [block, tick] : it->second) {
    if (block == sync.block) continue;
    uint32_t& seen = sync.acquired[block];
    seen = std::max(seen, tick);
  }
}

}  // namespace kuafu::simt
