// SPDX-License-Identifier: Apache-2.0
// One dispatch after the other, see engine.h: lane operations, branches, and whom to ask for the
// rest.
#include "simt/engine.h"

#include <cstring>

namespace kuafu::simt {
namespace {

using isa::Op;

constexpr uint32_t kBackEdgesPerRound = 4096;

// How many of the lanes are set in both; each byte is 0 or 1 in the mask.
int CountBoth(const uint8_t* mask, const uint8_t* value, int n) {
  int count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t m, v;
    std::memcpy(&m, mask + i, 8);
    std::memcpy(&v, value + i, 8);
    count += __builtin_popcountll(m & v);
  }
  for (; i < n; ++i) count += mask[i] & value[i];
  return count;
}

// The lanes of mask whose value is 0 go over to other.
void Divide(uint8_t* __restrict mask, const uint8_t* __restrict value, uint8_t* __restrict other,
            int n) {
  for (int i = 0; i < n; ++i) {
    const uint8_t m = mask[i], v = value[i];
    other[i] = m & (v ^ 1);
    mask[i] = m & v;
  }
}

}  // namespace

void BlockRun::ExecLane(const DInst& d, Split& s) {
  Frame& f = *s.frame;
  uint8_t* const* regs = f.regs.data();
  uint8_t* scalar = f.scalar.data();
  const unsigned same = scalar[d.a] | scalar[d.b] << 1 | scalar[d.c] << 2;
  LaneFn fn = d.fns[same];
  if (fn == nullptr) fn = d.fns[same] = SelectLane(d.inst, same);
  const int64_t imm = d.inst.op == Op::kMath ? same : d.imm;
  const int lo = s.lo, count = s.hi - lo;
  const uint8_t* a = regs[d.a] + (same & 1 ? 0 : lo * d.as);
  const uint8_t* b = regs[d.b] + (same & 2 ? 0 : lo * d.bs);
  const uint8_t* c = regs[d.c] + (same & 4 ? 0 : lo * d.cs);
  // A scalar that becomes a vector under the hands of the loop that reads it.
  uint64_t kept = 0;
  if (scalar[d.inst.dst] && same != 0) {
    std::memcpy(&kept, regs[d.inst.dst], 8);
    auto* copy = reinterpret_cast<const uint8_t*>(&kept);
    if ((same & 1) != 0 && d.a == d.inst.dst) a = copy;
    if ((same & 2) != 0 && d.b == d.inst.dst) b = copy;
    if ((same & 4) != 0 && d.c == d.inst.dst) c = copy;
  }
  if (d.overflow != nullptr && launch_.options->sanitize) {
    int lane = 0;
    if (d.overflow(a, b, c, same, same == 7 || s.dense() ? nullptr : s.mask.data() + lo,
                   same == 7 ? 1 : count, &lane)) {
      Report(Finding::Kind::kIndexOverflow,
             std::string("signed overflow in the ") + std::string(isa::TypeName(d.inst.type)) +
                 " " + std::string(isa::OpName(d.inst.op)) + " of an index; compute it in 64 bits",
             d.inst.line, 0, same == 7 ? FirstLane(s) : lo + lane);
    }
  }
  if (same == 7 || d.dst_uniform) {
    uint64_t value = 0;
    fn(&value, a, b, c, 1, imm);
    WriteScalar(f, d.inst.dst, s, &value, d.ds);
    return;
  }
  uint8_t* out = VectorDst(f, d.inst.dst, s, d.ds) + lo * d.ds;
  if (s.dense()) {
    fn(out, a, b, c, count, imm);
  } else {
    fn(scratch_.data(), a, b, c, count, imm);
    Blend(out, scratch_.data(), s.mask.data() + lo, count, d.ds);
  }
}

void BlockRun::ExecSpecial(const DInst& d, Split& s) {
  using isa::SpecialReg;
  auto which = static_cast<SpecialReg>(d.inst.imm);
  const std::vector<int32_t>* lanes = nullptr;
  uint32_t value = 0;
  switch (which) {
    case SpecialReg::kTidX: lanes = &launch_.special[0]; break;
    case SpecialReg::kTidY: lanes = &launch_.special[1]; break;
    case SpecialReg::kTidZ: lanes = &launch_.special[2]; break;
    case SpecialReg::kLaneId: lanes = &launch_.special[3]; break;
    case SpecialReg::kWarpId: lanes = &launch_.special[4]; break;
    case SpecialReg::kNtidX:
    case SpecialReg::kNtidY:
    case SpecialReg::kNtidZ:
      value = launch_.block[static_cast<int>(which) - static_cast<int>(SpecialReg::kNtidX)];
      break;
    case SpecialReg::kCtaidX:
    case SpecialReg::kCtaidY:
    case SpecialReg::kCtaidZ:
      value = ctaid_[static_cast<int>(which) - static_cast<int>(SpecialReg::kCtaidX)];
      break;
    case SpecialReg::kNctaidX:
    case SpecialReg::kNctaidY:
    case SpecialReg::kNctaidZ:
      value = launch_.grid[static_cast<int>(which) - static_cast<int>(SpecialReg::kNctaidX)];
      break;
    case SpecialReg::kWarpSize: value = static_cast<uint32_t>(launch_.width); break;
    case SpecialReg::kNumWarps: value = static_cast<uint32_t>(launch_.warps); break;
    case SpecialReg::kSmId:
      value = static_cast<uint32_t>(linear_ % launch_.options->sm_count);
      break;
    case SpecialReg::kDynamicSharedBytes: value = launch_.dynamic_shared; break;
    case SpecialReg::kGridId: value = static_cast<uint32_t>(launch_.grid_id); break;
  }
  if (lanes == nullptr) {
    WriteUniformOr(d, s, &value);
  } else {
    WriteVector(*s.frame, d.inst.dst, s, lanes->data() + s.lo, 4);
  }
}

// Counting is a variant of its own, so that it costs nothing when it is off.
template <bool kCount>
void BlockRun::RunSplit(Split* s, uint64_t limit) {
  if constexpr (kCount) counter_->Unbind();
  LaunchResult& r = launch_.result;
  uint32_t slice = UINT32_MAX;
  if (launch_.options->order_seed != 0) slice = 50 + static_cast<uint32_t>(Random() % 400);
  const DInst* code = s->frame->fn->code.data();
  uint32_t pc = s->pc;
  uint32_t stop = StopPc(*s);
  // One dispatch per turn. Leaves when the split ends, waits, meets another, or has had its share.
  for (;;) {
    if (pc >= stop || slice == 0 || r.dispatches >= limit || launch_.stop || given_up_) {
      s->pc = pc;
      last_line_ = code[pc].inst.line;
      AddReady(s);
      return;
    }
    const DInst& d = code[pc];
    ++r.dispatches;
    ++dispatches_;
    --slice;
    r.lane_instructions += static_cast<uint64_t>(s->count);
    if constexpr (kCount) CountDispatch(d, *s, pc);
    if (d.lanes) {
      ExecLane(d, *s);
      ++pc;
      continue;
    }
    s->pc = pc;
    switch (d.inst.op) {
      case Op::kBr: {
        auto target = static_cast<uint32_t>(d.inst.imm);
        if (target <= pc && ++s->back_edges >= kBackEdgesPerRound) {
          s->back_edges = 0;
          if (!ready_.empty()) {
            ++s->round;
            slice = 0;
          }
        }
        bool backward = target <= pc;
        pc = s->pc = target;
        if (backward) stop = StopPc(*s);
        continue;
      }
      case Op::kCondBr: {
        auto yes = static_cast<uint32_t>(d.inst.imm), no = d.inst.extra;
        uint32_t target = no;
        if (s->frame->scalar[d.a]) {
          target = s->frame->regs[d.a][0] ? yes : no;
        } else {
          const uint8_t* p = s->frame->regs[d.a];
          const uint8_t* m = s->mask.data();
          int taken = CountBoth(m + s->lo, p + s->lo, s->hi - s->lo);
          if (taken == s->count) {
            target = yes;
          } else if (taken != 0 && yes != no) {
            ++r.divergent_branches;
            if constexpr (kCount) CountDivergence(*s, pc, p);
            Split* other = NewSplit(s->frame, no);
            other->round = s->round;
            other->back_edges = s->back_edges;
            other->group = s->group;
            Divide(s->mask.data() + s->lo, p + s->lo, other->mask.data() + s->lo, s->hi - s->lo);
            other->lo = s->lo;
            other->hi = s->hi;
            other->count = s->count - taken;
            s->count = taken;
            Tighten(*other);
            Tighten(*s);
            s->pc = yes;
            // The lower one goes on; a backward edge counts for whoever takes it.
            for (Split* x : {s, other}) {
              if (x->pc <= pc && ++x->back_edges >= kBackEdgesPerRound) {
                x->back_edges = 0;
                ++x->round;
                slice = 0;
              }
            }
            if (slice == 0) {
              AddReady(other);
              AddReady(s);
              return;
            }
            if (other->pc < s->pc) std::swap(s, other);
            AddReady(other);
            pc = s->pc;
            stop = StopPc(*s);
            continue;
          }
        }
        bool backward = target <= pc;
        if (backward && ++s->back_edges >= kBackEdgesPerRound) {
          s->back_edges = 0;
          if (!ready_.empty()) {
            ++s->round;
            slice = 0;
          }
        }
        pc = s->pc = target;
        if (backward) stop = StopPc(*s);
        continue;
      }
      case Op::kCall:
        if (!DoCall(d, s, static_cast<uint32_t>(d.inst.imm), pc)) {
          launch_.stop = true;
          AddReady(s);
          return;
        }
        code = s->frame->fn->code.data();
        pc = 0;
        stop = UINT32_MAX;
        continue;
      case Op::kCallIndirect: {
        uint64_t address = ReadReg(*s->frame, d.inst.a, FirstLane(*s));
        uint64_t index = address ^ isa::kFunctionAddressTag;
        if (index >= launch_.module->functions.size()) {
          Report(Finding::Kind::kTrap, "call through a pointer that is no device function",
                 d.inst.line, 0, FirstLane(*s), address);
          launch_.stop = true;
          AddReady(s);
          return;
        }
        // Lanes with other targets stay behind and come here again.
        Split* rest = NewSplit(s->frame, pc);
        rest->round = s->round;
        rest->group = s->group;
        for (int i = s->lo; i < s->hi; ++i) {
          auto k = static_cast<size_t>(i);
          if (s->mask[k] && ReadReg(*s->frame, d.inst.a, i) != address) {
            s->mask[k] = 0;
            rest->mask[k] = 1;
            --s->count;
            ++rest->count;
          }
        }
        rest->lo = s->lo;
        rest->hi = s->hi;
        if (rest->count > 0) {
          Tighten(*rest);
          Tighten(*s);
          AddReady(rest);
        } else {
          FreeSplit(rest);
        }
        if (!DoCall(d, s, static_cast<uint32_t>(index), pc)) {
          launch_.stop = true;
          AddReady(s);
          return;
        }
        code = s->frame->fn->code.data();
        pc = 0;
        stop = UINT32_MAX;
        continue;
      }
      case Op::kRet:
        if (!DoRet(d, s)) launch_.stop = true;
        return;
      case Op::kTrap:
        Report(Finding::Kind::kTrap,
               d.inst.imm == 0 ? "__trap() was executed"
                               : "code that the compiler took to be unreachable was reached "
                                 "(undefined behaviour before it)",
               d.inst.line, 0, FirstLane(*s));
        launch_.stop = true;
        AddReady(s);
        return;
      case Op::kAssertFail:
        AssertFailed(d, *s);
        launch_.stop = true;
        AddReady(s);
        return;
      case Op::kBarrier:
        if (!ArriveBarrier(d, s)) return;
        break;
      case Op::kSyncWarp:
      case Op::kShfl:
      case Op::kVote:
      case Op::kBallot:
      case Op::kMatchAny:
      case Op::kMatchAll:
      case Op::kRedux:
        if (!ArriveWarp(d, s)) return;
        break;
      case Op::kActiveMask:
        for (int w = s->lo / launch_.width; w <= (s->hi - 1) / launch_.width; ++w) {
          Mask128 active = ActiveIn(*s, w);
          for (int i = 0; i < launch_.width; ++i) {
            if (active.Has(i))
              WriteReg(*s->frame, d.inst.dst, w * launch_.width + i,
                       d.inst.imm ? active.hi : active.lo);
          }
        }
        break;
      case Op::kGridSync:
        if (!launch_.options->cooperative) {
          Report(Finding::Kind::kBarrier,
                 "grid-wide synchronisation in a launch that is not cooperative", d.inst.line, 0,
                 FirstLane(*s));
          launch_.stop = true;
          AddReady(s);
          return;
        }
        grid_wait_.push_back(s);
        return;
      case Op::kLoad: Load(d, *s); break;
      case Op::kStore: Store(d, *s); break;
      case Op::kLea:
        if (ComputeAddresses(d, *s))
          WriteScalar(*s->frame, d.inst.dst, *s, address_.data(), 8);
        else
          WriteVector(*s->frame, d.inst.dst, *s, address_.data(), 8);
        break;
      case Op::kMemCopy:
      case Op::kMemCopyDyn:
      case Op::kMemSet: CopyOrSet(d, *s); break;
      case Op::kAtomicRmw:
      case Op::kAtomicCas:
      case Op::kAtomicLoad:
      case Op::kAtomicStore: Atomic(d, *s); break;
      case Op::kFence: Fence(d, *s); break;
      case Op::kSpecial: ExecSpecial(d, *s); break;
      case Op::kClock: WriteUniformOr(d, *s, &dispatches_); break;
      case Op::kParamAddr: {
        uint64_t v =
            reinterpret_cast<uint64_t>(launch_.params.data()) + static_cast<uint64_t>(d.inst.imm);
        WriteUniformOr(d, *s, &v);
        break;
      }
      case Op::kSharedAddr: {
        const SharedSlot& slot = launch_.shared[static_cast<size_t>(d.inst.imm)];
        uint64_t v = reinterpret_cast<uint64_t>(shared_) +
                     (slot.offset == SharedSlot::kAbsent ? 0 : slot.offset);
        WriteUniformOr(d, *s, &v);
        break;
      }
      case Op::kGlobalAddr:
        WriteUniformOr(d, *s, &launch_.module->global_address[static_cast<size_t>(d.inst.imm)]);
        break;
      case Op::kFuncAddr: {
        uint64_t v = isa::kFunctionAddressTag | static_cast<uint64_t>(d.inst.imm);
        WriteUniformOr(d, *s, &v);
        break;
      }
      case Op::kLocalAddr:
        for (int i = s->lo; i < s->hi; ++i) {
          address_[static_cast<size_t>(i - s->lo)] =
              reinterpret_cast<uint64_t>(stacks_) + static_cast<uint64_t>(i) * launch_.stack_bytes +
              s->frame->stack_offset + static_cast<uint64_t>(d.inst.imm);
        }
        WriteVector(*s->frame, d.inst.dst, *s, address_.data(), 8);
        break;
      case Op::kProvOf: ProvenanceOf(d, *s); break;
      case Op::kPrintf: Printf(d, *s); break;
      case Op::kMalloc:
      case Op::kFree: DeviceHeap(d, *s); break;
      case Op::kNanosleep:
        // A polite spin gives way at once.
        if (!ready_.empty()) {
          ++s->round;
          slice = 0;
        }
        break;
      default:
        Report(Finding::Kind::kTrap,
               "instruction " + std::string(isa::OpName(d.inst.op)) +
                   " with operand types that it does not take",
               d.inst.line, 0, FirstLane(*s));
        launch_.stop = true;
        AddReady(s);
        return;
    }
    ++pc;
    s->pc = pc;
    stop = StopPc(*s);
  }
}

template void BlockRun::RunSplit<false>(Split*, uint64_t);
template void BlockRun::RunSplit<true>(Split*, uint64_t);

}  // namespace kuafu::simt
