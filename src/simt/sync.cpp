// SPDX-License-Identifier: Apache-2.0
// Barriers and warp operations: who waits for whom, and what it means when somebody never comes.
#include <algorithm>
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::Op;

std::string Lanes(Mask128 mask) {
  std::string text;
  int shown = 0;
  for (int i = 0; i < 128; ++i) {
    if (!mask.Has(i)) continue;
    int last = i;
    while (last < 127 && mask.Has(last + 1)) ++last;
    if (++shown > 6) return text + " ...";
    text += (text.empty() ? "" : ",") + std::to_string(i) +
            (last > i ? "-" + std::to_string(last) : "");
    i = last;
  }
  return text;
}

}  // namespace

// --- barriers ---

// True: complete at once, go on.
bool BlockRun::ArriveBarrier(const DInst& d, Split* s) {
  auto id = static_cast<uint32_t>(d.inst.imm);
  BarrierWait* wait = nullptr;
  for (BarrierWait& b : barrier_wait_) {
    if (b.id == id) wait = &b;
  }
  if (wait == nullptr) {
    barrier_wait_.push_back({id, {}});
    wait = &barrier_wait_.back();
  }
  wait->waiting.push_back(s);
  CheckBarriers();
  return false;
}

void BlockRun::CheckBarriers() {
  for (size_t i = 0; i < barrier_wait_.size(); ++i) {
    const BarrierWait& b = barrier_wait_[i];
    int arrived = 0;
    for (const Split* s : b.waiting) arrived += s->count;
    const Split& first = *b.waiting.front();
    const DInst& d = At(first);
    int expected = alive_;
    if (d.inst.b != isa::kNoReg) {
      auto named = static_cast<int64_t>(ReadReg(*first.frame, d.inst.b, FirstLane(first)));
      int64_t width = launch_.width;
      expected =
          static_cast<int>(std::clamp<int64_t>((named + width - 1) / width * width, 1, 1024));
      expected = std::min(expected, n_);
    }
    if (arrived >= expected && arrived > 0) {
      CompleteBarrier(i);
      CheckBarriers();
      return;
    }
  }
}

void BlockRun::CompleteBarrier(size_t index) {
  std::vector<Split*> waiting = std::move(barrier_wait_[index].waiting);
  barrier_wait_.erase(barrier_wait_.begin() + static_cast<long>(index));
  ++launch_.result.barriers;
  const DInst& first = At(*waiting.front());
  bool whole = first.inst.b == isa::kNoReg;
  int popc = 0, total = 0;
  for (const Split* s : waiting) {
    const DInst& d = At(*s);
    total += s->count;
    if (static_cast<isa::BarrierKind>(d.inst.extra) == isa::BarrierKind::kSync) continue;
    for (int i = s->lo; i < s->hi; ++i) {
      if (s->mask[static_cast<size_t>(i)])
        popc += static_cast<int>(ReadReg(*s->frame, d.inst.a, i) & 1);
    }
  }
  for (const Split* s : waiting) {
    const DInst& d = At(*s);
    if (&d != &first && d.inst.line != first.inst.line) {
      Report(Finding::Kind::kBarrier,
             "threads of one block met at different __syncthreads(): each must be reached by all "
             "threads",
             d.inst.line, first.inst.line, FirstLane(*s), 0, {}, FirstLane(*waiting.front()));
    }
  }
  if (whole && alive_ < n_) {
    for (int w = 0; w < launch_.warps; ++w) {
      int lo = w * launch_.width, hi = std::min(n_, lo + launch_.width), gone = 0, who = -1;
      for (int i = lo; i < hi; ++i) {
        if (exited_[static_cast<size_t>(i)]) {
          ++gone;
          who = i;
        }
      }
      if (gone == 0) continue;
      if (gone < hi - lo || launch_.options->strict_exit || launch_.width == 128) {
        Report(Finding::Kind::kBarrier,
               "thread returned while others of its block wait at __syncthreads(): every thread "
               "has to reach the barrier",
               exit_line_[static_cast<size_t>(who)], first.inst.line, who, 0, {},
               FirstLane(*waiting.front()));
        break;
      }
    }
  }
  if (counter_ != nullptr) {
    const Split& s = *waiting.front();
    counter_->Barrier(waiting, &counter_->launch().At(s.frame->index, s.pc));
  }
  sync_.Barrier();
  for (Split* s : waiting) {
    const DInst& d = At(*s);
    uint32_t value = 0;
    switch (static_cast<isa::BarrierKind>(d.inst.extra)) {
      case isa::BarrierKind::kSync: break;
      case isa::BarrierKind::kPopc: value = static_cast<uint32_t>(popc); break;
      case isa::BarrierKind::kAnd: value = popc == total; break;
      case isa::BarrierKind::kOr: value = popc != 0; break;
    }
    WriteUniformOr(d, *s, &value);
    ++s->pc;
    s->round = 0;
    s->back_edges = 0;
    AddReady(s);
  }
}

// --- warp operations ---

// The lanes that the thread's operand names.
Mask128 BlockRun::Members(const DInst& d, const Frame& f, int thread, bool* all) const {
  const int width = launch_.width;
  const uint64_t mask = ReadReg(f, d.inst.a, thread);
  *all = false;
  if (d.inst.aux == isa::kMaskTile && d.inst.op != Op::kMatchAny && d.inst.op != Op::kMatchAll) {
    const int tile = static_cast<int>(std::clamp<uint64_t>(mask, 1, static_cast<uint64_t>(width)));
    const int lane = thread % width, lo = lane - lane % tile;
    Mask128 members;
    for (int i = lo; i < lo + tile && thread - lane + i < n_; ++i) members.Set(i);
    return members;
  }
  if (width == 32) {
    *all = static_cast<uint32_t>(mask) == 0xffffffffu;
    return {static_cast<uint32_t>(mask), 0};
  }
  if (mask == 0xffffffffull || mask == ~0ull) {
    *all = true;
    return {~0ull, width == 128 ? ~0ull : 0};
  }
  return {mask, 0};
}

Mask128 BlockRun::Alive(int warp) const {
  Mask128 m;
  for (int i = 0, t = warp * launch_.width; i < launch_.width && t < n_; ++i, ++t) {
    if (!exited_[static_cast<size_t>(t)]) m.Set(i);
  }
  return m;
}

Mask128 BlockRun::ActiveIn(const Split& s, int warp) const {
  Mask128 m;
  int base = warp * launch_.width;
  int hi = std::min(s.hi, base + launch_.width);
  for (int t = std::max(s.lo, base); t < hi; ++t) {
    if (s.mask[static_cast<size_t>(t)]) m.Set(t - base);
  }
  return m;
}

// True: every warp of the split is complete, go on with s. Otherwise s was taken away. The lanes of
// a warp that name the same members are one party; a party that is all here goes on at once.
bool BlockRun::ArriveWarp(const DInst& d, Split*& s) {
  const int width = launch_.width;
  bool complete = true;
  const int first_warp = s->lo / width, last_warp = (s->hi - 1) / width;
  const bool one_mask =
      s->frame->fn->source->registers[d.inst.a].uniform && d.inst.aux != isa::kMaskTile;
  std::vector<Split*> owner(static_cast<size_t>(width));
  for (int w = first_warp; w <= last_warp; ++w) {
    const int base = w * width;
    Mask128 rest = ActiveIn(*s, w);
    while (!rest.Empty()) {
      int head = 0;
      while (!rest.Has(head)) ++head;
      bool all = false;
      const Mask128 members = Members(d, *s->frame, base + head, &all);
      Mask128 party = rest;
      for (int i = head + 1; i < width && !one_mask; ++i) {
        bool ignored = false;
        if (rest.Has(i) && !(Members(d, *s->frame, base + i, &ignored) == members)) {
          Mask128 other;
          other.Set(i);
          party = party & ~other;
        }
      }
      rest = rest & ~party;
      const Mask128 strangers = party & ~members;
      if (strangers.Empty() && ((members & Alive(w)) & ~party).Empty()) {
        for (int i = 0; i < width; ++i) owner[static_cast<size_t>(i)] = party.Has(i) ? s : nullptr;
        ExecWarp(w, owner.data(), members, all, party);
        continue;
      }
      complete = false;
      Split* wait = NewSplit(s->frame, s->pc);
      wait->group = s->group;
      wait->lo = base + head;
      for (int i = head; i < width; ++i) {
        if (!party.Has(i)) continue;
        const auto t = static_cast<size_t>(base + i);
        wait->mask[t] = 1;
        wait->hi = base + i + 1;
        ++wait->count;
        s->mask[t] = 0;
        --s->count;
      }
      if (!strangers.Empty()) {
        int lane = base;
        while (!strangers.Has(lane - base)) ++lane;
        Report(Finding::Kind::kWarpSync,
               std::string(isa::OpName(d.inst.op)) + ": the calling thread (lane " +
                   Lanes(strangers) + ") is not in its own member mask",
               d.inst.line, 0, lane);
      }
      warp_wait_.push_back(wait);
    }
  }
  if (complete) return true;
  if (s->count == 0) {
    FreeSplit(s);
  } else {
    Tighten(*s);
    ++s->pc;
    AddReady(s);
  }
  s = nullptr;
  CheckWarps();
  return false;
}

void BlockRun::CheckWarps() {
  int width = launch_.width;
  std::vector<Split*> owner(static_cast<size_t>(width));
  for (size_t i = 0; i < warp_wait_.size(); ++i) {
    Split* head = warp_wait_[i];
    const DInst& d = At(*head);
    int w = head->lo / width;
    bool all = false;
    Mask128 members = Members(d, *head->frame, FirstLane(*head), &all), present;
    std::fill(owner.begin(), owner.end(), nullptr);
    std::vector<Split*> party;
    for (Split* s : warp_wait_) {
      if (s->lo / width != w) continue;
      const DInst& o = At(*s);
      bool other_all = false;
      if (o.inst.op != d.inst.op || o.inst.extra != d.inst.extra || o.inst.imm != d.inst.imm)
        continue;
      if (!(Members(o, *s->frame, FirstLane(*s), &other_all) == members)) continue;
      party.push_back(s);
      Mask128 active = ActiveIn(*s, w);
      present = present | active;
      for (int k = 0; k < width; ++k) {
        if (active.Has(k)) owner[static_cast<size_t>(k)] = s;
      }
    }
    if (!((members & Alive(w)) & ~present).Empty()) continue;
    ExecWarp(w, owner.data(), members, all, present);
    for (Split* s : party) {
      warp_wait_.erase(std::find(warp_wait_.begin(), warp_wait_.end(), s));
      ++s->pc;
      AddReady(s);
    }
    i = static_cast<size_t>(-1);  // start over: the list changed
  }
}

// Executes the operation for the lanes present; owner[i] is the split lane i is in.
void BlockRun::ExecWarp(int warp, Split* const* owner, Mask128 members, bool all, Mask128 present) {
  int width = launch_.width, base = warp * width;
  int first = 0;
  while (!present.Has(first)) ++first;
  const DInst& d = At(*owner[first]);
  Op op = d.inst.op;
  std::string name(isa::OpName(op));

  Mask128 exist;
  for (int i = 0; i < width && base + i < n_; ++i) exist.Set(i);
  if (!all && !(members & ~exist).Empty()) {
    Report(Finding::Kind::kWarpSync,
           name + ": the mask names lanes " + Lanes(members & ~exist) +
               " that do not exist in this warp",
           d.inst.line, 0, base + first);
  }
  Mask128 gone = members & exist & ~Alive(warp);
  if (!gone.Empty() &&
      op != Op::kSyncWarp) {  // __syncwarp waits for non-exited lanes only, by definition
    int lane = 0;
    while (!gone.Has(lane)) ++lane;
    Report(Finding::Kind::kWarpSync,
           name + ": the mask names lanes " + Lanes(gone) + " that have returned", d.inst.line,
           exit_line_[static_cast<size_t>(base + lane)], base + first, 0, {}, base + lane);
  }

  ++sync_.tick;
  uint64_t value[128] = {}, result[128] = {};
  auto arg = [&](int i, uint32_t reg) { return ReadReg(*owner[i]->frame, reg, base + i); };
  auto inst = [&](int i) -> const isa::Inst& { return At(*owner[i]).inst; };
  for (int i = 0; i < width; ++i) {
    if (!present.Has(i)) continue;
    sync_.lane_tick[static_cast<size_t>(base + i)] = sync_.tick;
    if (op != Op::kSyncWarp) value[i] = arg(i, inst(i).b);
  }
  switch (op) {
    case Op::kSyncWarp: return;
    case Op::kShfl: {
      auto kind = static_cast<isa::ShflKind>(d.inst.extra);
      for (int i = 0; i < width; ++i) {
        if (!present.Has(i)) continue;
        auto w = static_cast<int64_t>(static_cast<int32_t>(arg(i, inst(i).d)));
        if (w <= 0 || w > width || (w & (w - 1)) != 0) {
          Report(Finding::Kind::kWarpSync,
                 "shuffle width " + std::to_string(w) + " is not a power of two up to " +
                     std::to_string(width),
                 inst(i).line, 0, base + i);
          w = width;
        }
        auto b = static_cast<int>(arg(i, inst(i).c) & static_cast<uint64_t>(width - 1));
        int seg = static_cast<int>(i & ~(w - 1)), end = seg + static_cast<int>(w), src = i;
        switch (kind) {
          case isa::ShflKind::kIdx: src = seg + static_cast<int>(b & (w - 1)); break;
          case isa::ShflKind::kUp: src = i - b >= seg ? i - b : i; break;
          case isa::ShflKind::kDown: src = i + b < end ? i + b : i; break;
          case isa::ShflKind::kXor: src = (i ^ b) < end ? (i ^ b) : i; break;
        }
        if (!present.Has(src)) {
          bool beyond = !exist.Has(src);
          Report(Finding::Kind::kWarpSync,
                 "shuffle reads lane " + std::to_string(src) + ", which " +
                     (beyond             ? "does not exist in this warp"
                      : members.Has(src) ? "is not active here"
                                         : "is not in the mask") +
                     ": the value is undefined",
                 inst(i).line, 0, base + i);
          src = i;
        }
        result[i] = value[src];
      }
      break;
    }
    case Op::kVote:
    case Op::kBallot: {
      Mask128 ballot;
      for (int i = 0; i < width; ++i) {
        if (present.Has(i) && (value[i] & 1)) ballot.Set(i);
      }
      bool any = !ballot.Empty(), every = ballot == present;
      for (int i = 0; i < width; ++i) {
        if (op == Op::kBallot && d.inst.aux == isa::kMaskTile) {
          for (int k = first; k < width && k - first < 64; ++k) {
            if (ballot.Has(k)) result[i] |= 1ull << (k - first);
          }
        } else if (op == Op::kBallot) {
          result[i] = d.inst.imm ? ballot.hi : ballot.lo;
        } else {
          auto kind = static_cast<isa::VoteKind>(d.inst.extra);
          result[i] = kind == isa::VoteKind::kAny   ? any
                      : kind == isa::VoteKind::kAll ? every
                                                    : every || !any;
        }
      }
      break;
    }
    case Op::kMatchAny:
      for (int i = 0; i < width; ++i) {
        for (int k = 0; k < width && k < 64; ++k) {
          if (present.Has(i) && present.Has(k) && value[k] == value[i]) result[i] |= 1ull << k;
        }
      }
      break;
    case Op::kMatchAll: {
      bool same = true;
      for (int i = 0; i < width; ++i) same = same && (!present.Has(i) || value[i] == value[first]);
      for (int i = 0; i < width; ++i) result[i] = same ? present.lo : 0;
      break;
    }
    default: {  // kRedux
      uint32_t r = static_cast<uint32_t>(value[first]);
      for (int i = first + 1; i < width; ++i) {
        if (!present.Has(i)) continue;
        auto v = static_cast<uint32_t>(value[i]);
        auto sr = static_cast<int32_t>(r), sv = static_cast<int32_t>(v);
        switch (static_cast<isa::ReduxKind>(d.inst.extra)) {
          case isa::ReduxKind::kAdd: r += v; break;
          case isa::ReduxKind::kSMin: r = static_cast<uint32_t>(std::min(sr, sv)); break;
          case isa::ReduxKind::kSMax: r = static_cast<uint32_t>(std::max(sr, sv)); break;
          case isa::ReduxKind::kUMin: r = std::min(r, v); break;
          case isa::ReduxKind::kUMax: r = std::max(r, v); break;
          case isa::ReduxKind::kAnd: r &= v; break;
          case isa::ReduxKind::kOr: r |= v; break;
          case isa::ReduxKind::kXor: r ^= v; break;
        }
      }
      for (int i = 0; i < width; ++i) result[i] = r;
      break;
    }
  }
  for (int i = 0; i < width; ++i) {
    if (present.Has(i)) WriteReg(*owner[i]->frame, inst(i).dst, base + i, result[i]);
  }
}

// Nobody can move. Says who waits for what; the block is given up afterwards.
void BlockRun::ReportStuck() {
  auto where = [&](int lane, int* other) -> uint32_t {
    auto look = [&](const std::vector<Split*>& list) -> const Split* {
      for (const Split* s : list) {
        if (s->mask[static_cast<size_t>(lane)]) return s;
      }
      return nullptr;
    };
    *other = lane;
    const Split* s = look(warp_wait_);
    for (const BarrierWait& b : barrier_wait_) {
      if (s == nullptr) s = look(b.waiting);
    }
    if (s == nullptr) s = look(grid_wait_);
    return s == nullptr ? 0 : At(*s).inst.line;
  };
  bool told = false;
  for (const Split* s : warp_wait_) {
    const DInst& d = At(*s);
    int w = s->lo / launch_.width;
    bool all = false;
    Mask128 missing = Members(d, *s->frame, FirstLane(*s), &all) & Alive(w) & ~ActiveIn(*s, w);
    int lane = 0;
    while (lane < 127 && !missing.Has(lane)) ++lane;
    int other = -1;
    uint32_t line = missing.Has(lane) ? where(w * launch_.width + lane, &other) : 0;
    Report(Finding::Kind::kWarpSync,
           std::string(isa::OpName(d.inst.op)) + ": lanes " + Lanes(missing) +
               " named in the mask never arrive; they wait elsewhere",
           d.inst.line, line, FirstLane(*s), 0, {}, other);
    told = true;
  }
  if (told) return;
  if (barrier_wait_.size() > 1) {
    const Split& a = *barrier_wait_[0].waiting.front();
    const Split& b = *barrier_wait_[1].waiting.front();
    Report(Finding::Kind::kBarrier,
           "threads of one block wait at different barriers, so none is ever complete",
           At(a).inst.line, At(b).inst.line, FirstLane(a), 0, {}, FirstLane(b));
  } else if (!barrier_wait_.empty() && !grid_wait_.empty()) {
    const Split& a = *barrier_wait_[0].waiting.front();
    const Split& b = *grid_wait_.front();
    Report(Finding::Kind::kBarrier,
           "some threads wait at a block barrier and others at a grid barrier", At(a).inst.line,
           At(b).inst.line, FirstLane(a), 0, {}, FirstLane(b));
  } else if (!barrier_wait_.empty()) {
    const Split& a = *barrier_wait_[0].waiting.front();
    Report(Finding::Kind::kBarrier, "a named barrier waits for more threads than ever arrive",
           At(a).inst.line, 0, FirstLane(a));
  } else {
    Report(Finding::Kind::kDeadlock, "no thread of the block can move", last_line_, 0, -1);
  }
}

}  // namespace kuafu::simt
