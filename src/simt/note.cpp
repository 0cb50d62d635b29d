// SPDX-License-Identifier: Apache-2.0
// What an access leaves in the shadow and what it meets there: uninitialised reads and races. Whole
// patterns are recorded a chunk at a time; a lane that meets something goes through Note.
#include <algorithm>
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {

void BlockRun::ReportRace(const Conflict& c, const Target& t, int lane, uint64_t address,
                          Access access, uint32_t line) {
  std::string name = t.kind == Target::Kind::kGlobal
                         ? t.allocation->name
                         : launch_.module->module.shared[t.id & ~isa::kProvShared].name;
  bool same_block = c.other.block == static_cast<uint32_t>(linear_);
  std::string mine = access == Access::kRead    ? "read"
                     : access == Access::kWrite ? "write"
                                                : "atomic operation";
  std::string other = (c.other.flags & kCellAtomic) != 0 ? "atomic operation"
                      : c.other_wrote                    ? "write"
                                                         : "read";
  Report(Finding::Kind::kRace,
         "race on " + std::string(t.kind == Target::Kind::kShared ? "shared " : "") + name +
             "[byte " + std::to_string(address - t.base) + "]: " + mine + " and " + other +
             " by another " + (same_block ? "thread" : "block") +
             " with no synchronisation between them",
         line, c.other.line, lane, address, name, c.other.lane,
         same_block ? static_cast<int64_t>(linear_) : static_cast<int64_t>(c.other.block));
}

// Reads of memory that is initialised and that this launch does not write need no shadow work.
bool BlockRun::Unwatched(const Target& t) const {
  const GlobalShadow& shadow = *launch_.shadow;
  return t.kind == Target::Kind::kGlobal && !t.allocation->tracked &&
         t.id < shadow.read_only.size() && shadow.read_only[t.id] != 0;
}

// Shadow work of one lane's access that is known to be in bounds. `atomic` covers volatile as well.
void BlockRun::Note(const Target& t, int lane, uint64_t address, uint32_t size, Access access,
                    bool atomic, bool copy, uint32_t line) {
  bool write = access != Access::kRead;
  bool reads = access != Access::kWrite;
  if (t.kind == Target::Kind::kLocal) {
    size_t at = address - reinterpret_cast<uint64_t>(stacks_);
    if (write)
      std::memset(stack_valid_ + at, 1, size);
    else if (!copy && std::memchr(stack_valid_ + at, 0, size) != nullptr) {
      Report(Finding::Kind::kUninit, "read of a local variable that was not written", line, 0, lane,
             address, "local memory");
    }
    return;
  }
  if (t.kind == Target::Kind::kShared) {
    size_t at = address - reinterpret_cast<uint64_t>(shared_);
    shared_shadow_.Begin(sync_, line);
    if (reads && !copy && !shared_shadow_.Written(at, size)) {
      const std::string& name = launch_.module->module.shared[t.id & ~isa::kProvShared].name;
      Report(Finding::Kind::kUninit,
             "read of shared " + name + "[byte " + std::to_string(address - t.base) +
                 "], which no thread of the block has written",
             line, 0, lane, address, name);
    }
    Conflict c = shared_shadow_.Touch(at, size, sync_, lane, write, atomic);
    if (c.found) ReportRace(c, t, lane, address, access, line);
    return;
  }
  if (t.kind != Target::Kind::kGlobal) return;
  Allocation& entry = *t.allocation;
  if (reads && !copy && entry.tracked && !entry.Valid(address - entry.base, size)) {
    Report(Finding::Kind::kUninit,
           "read of " + entry.name + "[byte " + std::to_string(address - entry.base) +
               "], which was never written",
           line, 0, lane, address, entry.name);
  }
  GlobalShadow& shadow = *launch_.shadow;
  if (t.id < shadow.read_only.size() && shadow.read_only[t.id]) {
    if (!write) return;
    shadow.read_only[t.id] = 0;
  }
  Conflict c = shadow.Note(t.id, entry, address, size, sync_, lane, write, atomic, line);
  if (c.found) ReportRace(c, t, lane, address, access, line);
  if (write && !atomic) sync_.fenced[static_cast<size_t>(lane)] = 0;
}

// The accesses of pattern_ by lanes lo ... lo + n to one shared variable.
void BlockRun::NoteShared(const Target& t, int lo, int n, uint32_t size, Access access, bool copy,
                          uint32_t line) {
  const auto base = reinterpret_cast<uint64_t>(shared_);
  const bool write = access == Access::kWrite;
  const Pattern& p = pattern_;
  // The chunk functions take sizes of a power of two, up to 16 granules.
  const bool even = (size & (size - 1)) == 0 && size >> shared_shadow_.granule_log2() <= 16;
  shared_shadow_.Begin(sync_, line);
  for (int i = 0; i < n; i += kChunk) {
    if (even) {
      i = write ? shared_shadow_.Chunks<true>(p, i, n, base, size, lo, copy)
                : shared_shadow_.Chunks<false>(p, i, n, base, size, lo, copy);
    }
    const int end = std::min(n, i + kChunk);
    for (int k = i; k < end; ++k) {
      const uint64_t address = p.shape == Pattern::Shape::kChunks ? p.At(k)
                               : p.shape == Pattern::Shape::kSame
                                   ? p.first
                                   : p.first + static_cast<uint64_t>(k) * size;
      if (!(write ? shared_shadow_.WriteOne(address - base, size, lo + k)
                  : shared_shadow_.ReadOne(address - base, size, lo + k, copy)))
        Note(t, lo + k, address, size, access, false, copy, line);
    }
  }
}

// The same for an allocation in global memory.
void BlockRun::NoteGlobal(const Target& t, int lo, int n, uint32_t size, Access access, bool copy,
                          uint32_t line) {
  GlobalShadow& shadow = *launch_.shadow;
  Allocation& entry = *t.allocation;
  const bool write = access == Access::kWrite;
  const bool read_only = t.id < shadow.read_only.size() && shadow.read_only[t.id] != 0;
  if (write && read_only) shadow.read_only[t.id] = 0;
  const Pattern& p = pattern_;
  const bool uninit = !write && !copy && entry.tracked;
  for (int i = 0; i < n;) {
    uint64_t address = p.first;
    int count = 1;
    if (p.shape == Pattern::Shape::kRun) {
      address += static_cast<uint64_t>(i) * size;
      count = n - i;
    } else if (p.shape == Pattern::Shape::kChunks) {
      address = p.At(i);
      if (i % kChunk == 0 && n - i >= kChunk && p.chunk[i / kChunk] == Pattern::kRun8)
        count = kChunk;
    }
    const size_t bytes = static_cast<size_t>(count) * size;
    int done = 0;
    if (!uninit || entry.Valid(address - entry.base, bytes)) {
      done = count;
      if (write)
        done = shadow.WriteRun(t.id, entry, address, count, size, sync_, lo + i, line);
      else if (!read_only)
        done = shadow.ReadRun(t.id, entry, address, count, size, sync_, lo + i, line);
    }
    if (write && done > 0) std::memset(sync_.fenced.data() + lo + i, 0, static_cast<size_t>(done));
    i += done;
    if (done == count) continue;
    address += static_cast<uint64_t>(done) * size;
    Note(t, lo + i, address, size, access, false, copy, line);
    ++i;
  }
}

// The same for the lanes' own local memory.
void BlockRun::NoteLocal(const Target& t, int lo, int n, uint32_t size, Access access, bool copy,
                         uint32_t line) {
  const auto base = reinterpret_cast<uint64_t>(stacks_);
  const uint64_t* address = pattern_.address;
  if (access == Access::kWrite) {
    for (int i = 0; i < n; ++i) std::memset(stack_valid_ + (address[i] - base), 1, size);
    return;
  }
  if (copy) return;
  for (int i = 0; i < n; ++i) {
    uint8_t all = 1;
    for (uint32_t k = 0; k < size; ++k) all &= stack_valid_[address[i] - base + k];
    if (!all) Note(t, lo + i, address[i], size, access, false, copy, line);
  }
}

// Plain accesses to shared memory without a pattern: all lanes with ok (nullptr: all).
void BlockRun::NoteLanes(const Target& t, const Split& s, const uint8_t* ok, uint32_t size,
                         Access access, bool copy, uint32_t line) {
  const auto base = reinterpret_cast<uint64_t>(shared_);
  shared_shadow_.Begin(sync_, line);
  for (int i = 0; i < s.hi - s.lo; ++i) {
    if (ok != nullptr && !ok[i]) continue;
    const uint64_t address = address_[static_cast<size_t>(i)];
    if (!(access == Access::kWrite ? shared_shadow_.WriteOne(address - base, size, s.lo + i)
                                   : shared_shadow_.ReadOne(address - base, size, s.lo + i, copy)))
      Note(t, s.lo + i, address, size, access, false, copy, line);
  }
}

}  // namespace kuafu::simt
