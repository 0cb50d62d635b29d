// SPDX-License-Identifier: Apache-2.0
// Shared-memory shadow, see shared_shadow.h.
#include "simt/shared_shadow.h"

#include <immintrin.h>

#include <algorithm>

namespace kuafu::simt {
namespace {

__m256i Load8(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
void Store8(int32_t* p, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
// Lane of each of eight cells from cell `first` on when each lane has 1 << log2 cells.
__m256i Lanes8(int first_lane, int first, int log2) {
  __m256i cell =
      _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm256_add_epi32(_mm256_set1_epi32(first_lane),
                          _mm256_srl_epi32(cell, _mm_cvtsi32_si128(log2)));
}
bool Any(__m256i v) { return _mm256_testz_si256(v, v) == 0; }

}  // namespace

void SharedShadow::Resize(size_t bytes, int granule_log2) {
  granule_log2_ = granule_log2;
  size_t count = (bytes >> granule_log2) + 64;
  write_.assign(count, 0);
  read_.assign(count, 0);
  StartOver();
}

// Event 1 stands for "written in this block, before the current phase".
void SharedShadow::StartOver() {
  for (int32_t& cell : write_) cell = cell >= block_ && cell != 0 ? 1 << kEventShift : 0;
  std::fill(read_.begin(), read_.end(), 0);
  block_ = 1 << kEventShift;
  first_ = next_ = 2;
  phase_ = 2 << kEventShift;
  log_.clear();
  recent_.fill(0);
}

void SharedShadow::NewPhase(const BlockSync& sync) {
  phase_tick_ = sync.barrier_tick;
  if (next_ > kLastEvent / 2) StartOver();
  first_ = next_;
  phase_ = first_ << kEventShift;
  log_.clear();
}

void SharedShadow::StartBlock(const BlockSync& sync) {
  width_log2_ = sync.width_log2;
  NewPhase(sync);
  block_ = phase_;
}

void SharedShadow::Begin(const BlockSync& sync, uint32_t line) {
  if (sync.barrier_tick != phase_tick_) NewPhase(sync);
  unordered_ = sync.tick == sync.barrier_tick;
  int32_t& recent = recent_[line % recent_.size()];
  if (recent >= first_) {
    const Event& e = log_[static_cast<size_t>(recent - first_)];
    if (e.tick == sync.tick && e.line == line) {
      key_ = recent << kEventShift;
      return;
    }
  }
  // A phase of this many events is forgotten; that a word was written is not.
  if (next_ >= kLastEvent) StartOver();
  log_.push_back({sync.tick, line});
  recent_[line % recent_.size()] = next_;
  key_ = next_ << kEventShift;
  ++next_;
}

bool SharedShadow::ReadRun8(size_t at, uint32_t bytes, int first_lane, bool copy) {
  const int log2 = __builtin_ctz(bytes >> granule_log2_);
  const int32_t* write = &write_[at >> granule_log2_];
  int32_t* read = &read_[at >> granule_log2_];
  const __m256i phase = _mm256_set1_epi32(phase_ - 1), who = _mm256_set1_epi32(kWho),
                block = _mm256_set1_epi32(copy ? 0 : block_), key = _mm256_set1_epi32(key_);
  const int cells = 8 << log2;
  __m256i bad = _mm256_setzero_si256(), busy = bad;
  for (int j = 0; j < cells; j += 8) {
    __m256i lanes = Lanes8(first_lane, j, log2), w = Load8(write + j), r = Load8(read + j);
    __m256i mine = _mm256_cmpeq_epi32(_mm256_and_si256(w, who), lanes);
    bad = _mm256_or_si256(bad, _mm256_andnot_si256(mine, _mm256_cmpgt_epi32(w, phase)));
    bad = _mm256_or_si256(bad, _mm256_cmpgt_epi32(block, w));
    __m256i same = _mm256_cmpeq_epi32(_mm256_and_si256(r, who), lanes);
    busy = _mm256_or_si256(busy, _mm256_andnot_si256(same, _mm256_cmpgt_epi32(r, phase)));
  }
  if (Any(bad)) return false;
  if (!Any(busy)) {
    for (int j = 0; j < cells; j += 8)
      Store8(read + j, _mm256_or_si256(key, Lanes8(first_lane, j, log2)));
    return true;
  }
  // Others read here in this phase. If they did at this very place, mostly nothing is new.
  const __m256i several = _mm256_set1_epi32(kSeveral), warps = _mm256_set1_epi32(kSeveralWarps),
                lane = _mm256_set1_epi32(kLane), alone = _mm256_set1_epi32(kLane | kSeveral);
  const __m128i shift = _mm_cvtsi32_si128(width_log2_);
  __m256i fresh[16];
  for (int j = 0; j < cells; j += 8) {
    __m256i lanes = Lanes8(first_lane, j, log2), r = Load8(read + j);
    __m256i reader = _mm256_and_si256(r, lane);
    __m256i one_warp =
        _mm256_cmpeq_epi32(_mm256_srl_epi32(reader, shift), _mm256_srl_epi32(lanes, shift));
    __m256i has_warps = _mm256_cmpeq_epi32(_mm256_and_si256(r, warps), warps);
    __m256i has_several = _mm256_cmpeq_epi32(_mm256_and_si256(r, several), several);
    __m256i event = _mm256_andnot_si256(who, r);
    __m256i known =
        _mm256_and_si256(_mm256_cmpeq_epi32(event, key),
                         _mm256_or_si256(has_warps, _mm256_and_si256(has_several, one_warp)));
    __m256i free = _mm256_or_si256(_mm256_cmpeq_epi32(_mm256_and_si256(r, alone), lanes),
                                   _mm256_cmpgt_epi32(_mm256_set1_epi32(phase_), r));
    if (!unordered_ &&
        Any(_mm256_andnot_si256(_mm256_or_si256(known, free), _mm256_set1_epi32(-1))))
      return false;
    __m256i both = _mm256_or_si256(
        several, _mm256_andnot_si256(_mm256_andnot_si256(has_warps, one_warp), warps));
    __m256i value = _mm256_or_si256(_mm256_or_si256(key, lanes), _mm256_andnot_si256(free, both));
    fresh[j / 8] = _mm256_blendv_epi8(value, r, known);
  }
  for (int j = 0; j < cells; j += 8) Store8(read + j, fresh[j / 8]);
  return true;
}

bool SharedShadow::WriteRun8(size_t at, uint32_t bytes, int first_lane) {
  const int log2 = __builtin_ctz(bytes >> granule_log2_);
  int32_t* write = &write_[at >> granule_log2_];
  const int32_t* read = &read_[at >> granule_log2_];
  const __m256i phase = _mm256_set1_epi32(phase_ - 1), who = _mm256_set1_epi32(kWho),
                key = _mm256_set1_epi32(key_);
  __m256i bad = _mm256_setzero_si256();
  for (int j = 0; j < 8 << log2; j += 8) {
    __m256i lanes = Lanes8(first_lane, j, log2), w = Load8(write + j), r = Load8(read + j);
    __m256i mine = _mm256_cmpeq_epi32(_mm256_and_si256(w, who), lanes);
    bad = _mm256_or_si256(bad, _mm256_andnot_si256(mine, _mm256_cmpgt_epi32(w, phase)));
    __m256i same = _mm256_cmpeq_epi32(_mm256_and_si256(r, who), lanes);
    bad = _mm256_or_si256(bad, _mm256_andnot_si256(same, _mm256_cmpgt_epi32(r, phase)));
  }
  if (Any(bad)) return false;
  for (int j = 0; j < 8 << log2; j += 8)
    Store8(write + j, _mm256_or_si256(key, Lanes8(first_lane, j, log2)));
  return true;
}

bool SharedShadow::ReadSame8(size_t at, uint32_t bytes, int first_lane, bool copy) {
  size_t first = at >> granule_log2_, end = (at + bytes) >> granule_log2_;
  const int32_t block = copy ? 0 : block_;
  for (size_t i = first; i < end; ++i) {
    if (write_[i] >= phase_ || write_[i] < block) return false;
    int32_t r = read_[i];
    bool known = (r & ~kWho) == key_ &&
                 ((r & kSeveralWarps) != 0 ||
                  ((r & kSeveral) != 0 && (r & kLane) >> width_log2_ == first_lane >> width_log2_));
    if (r >= phase_ && !known) return false;
  }
  for (size_t i = first; i < end; ++i) {
    if (read_[i] < phase_) read_[i] = key_ | kSeveral | (first_lane + 1);
  }
  return true;
}

// Runs of one granule per lane and single places, which is nearly everything; the rest goes to the
// functions for one chunk.
template <bool kWrite>
int SharedShadow::Chunks(const Pattern& p, int from, int n, uint64_t base, uint32_t bytes, int lo,
                         bool copy) {
  const bool narrow = bytes >> granule_log2_ == 1;
  const int log2 = granule_log2_;
  int32_t* const writes = write_.data();
  int32_t* const reads = read_.data();
  const __m256i phase = _mm256_set1_epi32(phase_), who = _mm256_set1_epi32(kWho),
                before = _mm256_set1_epi32(phase_ - 1),
                block = _mm256_set1_epi32(kWrite || copy ? 0 : block_),
                key = _mm256_set1_epi32(key_), lane = _mm256_set1_epi32(kLane),
                alone = _mm256_set1_epi32(kLane | kSeveral),
                crowd = _mm256_set1_epi32(key_ | kSeveral | kSeveralWarps);
  const bool runs = p.shape == Pattern::Shape::kRun, same = p.shape == Pattern::Shape::kSame;
  const uint64_t step = runs ? uint64_t{bytes} * kChunk : 0;
  uint64_t at = p.first - base + step * static_cast<uint64_t>(from / kChunk);
  for (int i = from; i + kChunk <= n; i += kChunk, at += step) {
    uint8_t kind = runs ? Pattern::kRun8 : Pattern::kSame8;
    if (!runs && !same) {
      kind = p.chunk[i / kChunk];
      if (kind == Pattern::kGather) return i;
      at = p.At(i) - base;
    }
    if (kind == Pattern::kSame8) {
      if (kWrite || !ReadSame8(at, bytes, lo + i, copy)) return i;
      continue;
    }
    if (!narrow) {
      if (!(kWrite ? WriteRun8(at, bytes, lo + i) : ReadRun8(at, bytes, lo + i, copy))) return i;
      continue;
    }
    const size_t cell = at >> log2;
    const __m256i w = Load8(writes + cell), r = Load8(reads + cell);
    const __m256i lanes = Lanes8(lo + i, 0, 0);
    const __m256i mine = _mm256_cmpeq_epi32(_mm256_and_si256(w, who), lanes);
    __m256i bad = _mm256_or_si256(_mm256_andnot_si256(mine, _mm256_cmpgt_epi32(w, before)),
                                  _mm256_cmpgt_epi32(block, w));
    if constexpr (kWrite) {
      const __m256i self = _mm256_cmpeq_epi32(_mm256_and_si256(r, who), lanes);
      bad = _mm256_or_si256(bad, _mm256_andnot_si256(self, _mm256_cmpgt_epi32(r, before)));
      if (Any(bad)) return i;
      Store8(writes + cell, _mm256_or_si256(key, lanes));
    } else {
      if (Any(bad)) return i;
      if (!Any(_mm256_xor_si256(_mm256_andnot_si256(lane, r), crowd))) continue;
      const __m256i free = _mm256_or_si256(_mm256_cmpeq_epi32(_mm256_and_si256(r, alone), lanes),
                                           _mm256_cmpgt_epi32(phase, r));
      if (_mm256_movemask_epi8(free) == -1)
        Store8(reads + cell, _mm256_or_si256(key, lanes));
      else if (!ReadRun8(at, bytes, lo + i, copy))
        return i;
    }
  }
  return n - n % kChunk > from ? n - n % kChunk : from;
}
template int SharedShadow::Chunks<false>(const Pattern&, int, int, uint64_t, uint32_t, int, bool);
template int SharedShadow::Chunks<true>(const Pattern&, int, int, uint64_t, uint32_t, int, bool);

bool SharedShadow::ReadOne(size_t at, uint32_t bytes, int lane, bool copy) {
  size_t first = at >> granule_log2_, end = (at + bytes) >> granule_log2_;
  const int32_t block = copy ? 0 : block_;
  for (size_t i = first; i < end; ++i) {
    int32_t w = write_[i], r = read_[i];
    if (w < block || (w >= phase_ && (w & kWho) != lane)) return false;
    if (r < phase_ || (r & (kLane | kSeveral)) == lane) {
      read_[i] = key_ | lane;
      continue;
    }
    bool warps = (r & kSeveralWarps) != 0 || (r & kLane) >> width_log2_ != lane >> width_log2_;
    if ((r & ~kWho) == key_ && (r & kSeveral) != 0 && (!warps || (r & kSeveralWarps) != 0))
      continue;
    if (!unordered_) return false;
    read_[i] = key_ | kSeveral | (warps ? kSeveralWarps : 0) | lane;
  }
  return true;
}

bool SharedShadow::WriteOne(size_t at, uint32_t bytes, int lane) {
  size_t first = at >> granule_log2_, end = (at + bytes) >> granule_log2_;
  for (size_t i = first; i < end; ++i) {
    int32_t w = write_[i], r = read_[i];
    if ((w >= phase_ && (w & kWho) != lane) || (r >= phase_ && (r & kWho) != lane)) return false;
  }
  for (size_t i = first; i < end; ++i) write_[i] = key_ | lane;
  return true;
}

Cell SharedShadow::Decode(int32_t cell, uint32_t block) const {
  if (cell < phase_) return {};
  const Event& e = log_[static_cast<size_t>((cell >> kEventShift) - first_)];
  return {e.tick, e.line, block, static_cast<uint16_t>(cell & kLane),
          static_cast<uint16_t>(cell >> kFlagShift & 7)};
}

Conflict SharedShadow::Touch(size_t at, uint32_t bytes, const BlockSync& sync, int lane, bool write,
                             bool atomic) {
  Conflict first;
  size_t end = (at + bytes + (size_t{1} << granule_log2_) - 1) >> granule_log2_;
  for (size_t i = at >> granule_log2_; i < end; ++i) {
    Touched t = simt::Touch(Decode(write_[i], sync.block), Decode(read_[i], sync.block), sync, lane,
                            write, atomic, 0, sync.barrier_tick);
    if (t.conflict.found && !first.found) first = t.conflict;
    (write ? write_ : read_)[i] = key_ | t.cell.flags << kFlagShift | lane;
  }
  return first;
}

bool SharedShadow::Written(size_t at, size_t bytes) const {
  size_t end = (at + bytes + (size_t{1} << granule_log2_) - 1) >> granule_log2_;
  for (size_t i = at >> granule_log2_; i < end; ++i) {
    if (write_[i] < block_) return false;
  }
  return true;
}

void SharedShadow::Forget(size_t at, size_t bytes) {
  size_t end = (at + bytes + (size_t{1} << granule_log2_) - 1) >> granule_log2_;
  for (size_t i = at >> granule_log2_; i < end; ++i) write_[i] = 0;
}

}  // namespace kuafu::simt
