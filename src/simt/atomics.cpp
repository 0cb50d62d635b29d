// SPDX-License-Identifier: Apache-2.0
// Atomics, fences, and the services of the device runtime: printf, assert, malloc.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::AtomicOp;
using isa::Op;
using isa::Type;

constexpr size_t kMaxPrintf = 1u << 20;

template <class T>
T As(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T>
uint64_t Bits(T v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

template <class T>
uint64_t IntRmw(AtomicOp op, uint64_t old_bits, uint64_t value_bits) {
  using S = std::make_signed_t<T>;
  T o = As<T>(old_bits), v = As<T>(value_bits);
  switch (op) {
    case AtomicOp::kXchg: return Bits(v);
    case AtomicOp::kAdd: return Bits(T(o + v));
    case AtomicOp::kSub: return Bits(T(o - v));
    case AtomicOp::kAnd: return Bits(T(o & v));
    case AtomicOp::kOr: return Bits(T(o | v));
    case AtomicOp::kXor: return Bits(T(o ^ v));
    case AtomicOp::kSMin: return Bits(S(o) < S(v) ? o : v);
    case AtomicOp::kSMax: return Bits(S(o) > S(v) ? o : v);
    case AtomicOp::kUMin: return Bits(o < v ? o : v);
    case AtomicOp::kUMax: return Bits(o > v ? o : v);
    case AtomicOp::kInc: return Bits(o >= v ? T(0) : T(o + 1));
    case AtomicOp::kDec: return Bits(o == 0 || o > v ? v : T(o - 1));
    default: return old_bits;
  }
}
template <class T>
uint64_t FloatRmw(AtomicOp op, uint64_t old_bits, uint64_t value_bits) {
  using W = typename Wide<T>::type;
  W o = ToFloat(As<T>(old_bits)), v = ToFloat(As<T>(value_bits));
  switch (op) {
    case AtomicOp::kXchg: return value_bits;
    case AtomicOp::kAdd:
    case AtomicOp::kFAdd: return Bits(Narrow<T>(W(o + v)));
    case AtomicOp::kSub: return Bits(Narrow<T>(W(o - v)));
    case AtomicOp::kFMin: return Bits(Narrow<T>(std::fmin(o, v)));
    case AtomicOp::kFMax: return Bits(Narrow<T>(std::fmax(o, v)));
    default: return old_bits;
  }
}
uint64_t Rmw(Type type, AtomicOp op, uint64_t old_bits, uint64_t value) {
  switch (type) {
    case Type::kF16: return FloatRmw<_Float16>(op, old_bits, value);
    case Type::kBf16: return FloatRmw<Bfloat>(op, old_bits, value);
    case Type::kF32: return FloatRmw<float>(op, old_bits, value);
    case Type::kF64: return FloatRmw<double>(op, old_bits, value);
    case Type::kI64: return IntRmw<uint64_t>(op, old_bits, value);
    case Type::kI32: return IntRmw<uint32_t>(op, old_bits, value);
    case Type::kI16: return IntRmw<uint16_t>(op, old_bits, value);
    default: return IntRmw<uint8_t>(op, old_bits, value);
  }
}

}  // namespace

void BlockRun::Atomic(const DInst& d, Split& s) {
  const isa::Inst& inst = d.inst;
  auto bytes = static_cast<uint32_t>(isa::TypeBytes(inst.type));
  Target target;
  Access access = inst.op == Op::kAtomicLoad ? Access::kRead : Access::kAtomic;
  bool clean = PrepareAccess(d, s, bytes, access, &target);
  bool varies = target.kind == Target::Kind::kNone;
  int n = s.hi - s.lo;
  launch_.result.atomics += static_cast<uint64_t>(s.count);
  auto op = static_cast<AtomicOp>(inst.extra & 0xff);
  bool release = (inst.extra >> 17 & 1) != 0;
  auto scope = static_cast<isa::Scope>(inst.extra >> 8 & 0xff);
  if (inst.op == Op::kAtomicLoad || inst.op == Op::kAtomicCas) {
    ++launch_.polls;
    launch_.poll_line = inst.line;
  }
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (launch_.options->order_seed != 0) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[Random() % i]);
  }
  bool changed = false;
  for (int i : order) {
    int lane = s.lo + i;
    if (!s.mask[static_cast<size_t>(lane)]) continue;
    if (!clean && !ok_[static_cast<size_t>(i)]) {
      if (inst.op != Op::kAtomicStore) WriteReg(*s.frame, inst.dst, lane, 0);
      continue;
    }
    uint64_t address = address_[static_cast<size_t>(i)], old_bits = 0;
    std::memcpy(&old_bits, reinterpret_cast<const void*>(address), bytes);
    Target t =
        varies ? Resolve(static_cast<uint32_t>(ReadReg(*s.frame, inst.c, lane)), *s.frame) : target;
    if (launch_.sampler != nullptr && t.kind == Target::Kind::kGlobal) {
      // Who only adds something need not know to what.
      if ((inst.op == Op::kAtomicLoad || inst.op == Op::kAtomicCas) &&
          ReadsUnknown(t, address, bytes))
        return;
      if (inst.op == Op::kAtomicRmw && launch_.sampler->waits() && ReadsUnknown(t, address, bytes))
        return;
      if (inst.op != Op::kAtomicLoad) log_.Atomic(t.id, address - t.base, bytes);
    }
    if (launch_.options->sanitize) {
      if (t.kind == Target::Kind::kGlobal || t.kind == Target::Kind::kShared) {
        launch_.shadow->Acquire(address, sync_, lane);
        uint8_t fenced = sync_.fenced[static_cast<size_t>(lane)];
        if (inst.op != Op::kAtomicLoad && (release || fenced != 0)) {
          bool block_only = t.kind == Target::Kind::kShared ||
                            (release ? scope == isa::Scope::kBlock : fenced == 1);
          launch_.shadow->Release(address, sync_, lane, !block_only);
        }
      }
      Access kind = inst.op == Op::kAtomicLoad    ? Access::kRead
                    : inst.op == Op::kAtomicStore ? Access::kWrite
                                                  : Access::kAtomic;
      Note(t, lane, address, bytes, kind, true, false, inst.line);
    }
    uint64_t next = old_bits;
    switch (inst.op) {
      case Op::kAtomicRmw:
        next = Rmw(inst.type, op, old_bits, ReadReg(*s.frame, inst.d, lane));
        break;
      case Op::kAtomicCas:
        if (old_bits == ReadReg(*s.frame, inst.b, lane)) next = ReadReg(*s.frame, inst.d, lane);
        break;
      case Op::kAtomicStore: next = ReadReg(*s.frame, inst.d, lane); break;
      default: break;
    }
    if (inst.op != Op::kAtomicLoad) {
      changed = changed || next != old_bits;
      std::memcpy(reinterpret_cast<void*>(address), &next, bytes);
      if (t.allocation != nullptr && t.allocation->tracked)
        t.allocation->SetValid(address - t.base, bytes, true);
    }
    if (inst.op != Op::kAtomicStore && inst.dst != isa::kNoReg)
      WriteReg(*s.frame, inst.dst, lane, old_bits);
  }
  if (changed) {
    launch_.last_effect = launch_.result.dispatches;
    launch_.polls = 0;
  } else if (inst.op == Op::kAtomicRmw) {
    ++launch_.polls;
    launch_.poll_line = inst.line;
  }
}

void BlockRun::Fence(const DInst& d, const Split& s) {
  uint8_t level = static_cast<isa::Scope>(d.inst.imm) == isa::Scope::kBlock ? 1 : 2;
  for (int i = s.lo; i < s.hi; ++i) {
    uint8_t& fenced = sync_.fenced[static_cast<size_t>(i)];
    if (s.mask[static_cast<size_t>(i)]) fenced = std::max(fenced, level);
  }
}

// Bounded by the allocation the string lies in.
std::string BlockRun::ReadString(uint64_t address, size_t limit) const {
  const Allocation* entry = launch_.memory->Get(launch_.memory->IdOf(address));
  if (entry == nullptr || !entry->live || address < entry->base) return "(not a device string)";
  std::string text;
  for (uint64_t a = address; a < entry->base + entry->bytes && text.size() < limit; ++a) {
    char c = *reinterpret_cast<const char*>(a);
    if (c == 0) break;
    text += c;
  }
  return text;
}

void BlockRun::AssertFailed(const DInst& d, Split& s) {
  int lane = FirstLane(s);
  std::string message = ReadString(ReadReg(*s.frame, d.inst.a, lane), 512);
  std::string file = ReadString(ReadReg(*s.frame, d.inst.b, lane), 512);
  std::string function = ReadString(ReadReg(*s.frame, d.inst.c, lane), 512);
  uint64_t line = d.inst.extra < s.frame->fn->source->registers.size()
                      ? ReadReg(*s.frame, d.inst.extra, lane)
                      : 0;
  Report(Finding::Kind::kAssertFail,
         "assertion `" + message + "' failed in " + function + " at " + file + ":" +
             std::to_string(line),
         d.inst.line, 0, lane);
}

void BlockRun::DeviceHeap(const DInst& d, Split& s) {
  for (int i = s.lo; i < s.hi; ++i) {
    if (!s.mask[static_cast<size_t>(i)]) continue;
    uint64_t v = ReadReg(*s.frame, d.inst.a, i);
    if (d.inst.op == Op::kMalloc) {
      uint64_t result = 0;
      if (v <= launch_.options->heap_bytes &&
          launch_.heap_used <= launch_.options->heap_bytes - v) {
        auto got = launch_.memory->Allocate(v, 16, "device malloc", false);
        if (got.ok()) {
          result = reinterpret_cast<uint64_t>(got.value());
          launch_.heap_used += v;
          launch_.memory->Get(launch_.memory->IdOf(result))->device_heap = true;
        }
      }
      WriteReg(*s.frame, d.inst.dst, i, result);
    } else if (v != 0) {
      Allocation* entry = launch_.memory->Get(launch_.memory->IdOf(v));
      if (entry == nullptr || !entry->device_heap || !entry->live || entry->base != v) {
        Report(
            entry != nullptr && entry->device_heap && entry->base == v
                ? Finding::Kind::kUseAfterFree
                : Finding::Kind::kOob,
            "free() of an address that malloc() in a kernel did not give or that was freed before",
            d.inst.line, 0, i, v);
        continue;
      }
      size_t bytes = entry->bytes;
      if (launch_.memory->Free(reinterpret_cast<void*>(v)).ok())
        launch_.heap_used -= std::min<uint64_t>(launch_.heap_used, bytes);
    }
  }
}

// The arguments are packed as vprintf takes them: 4 or 8 bytes each, naturally aligned.
void BlockRun::Printf(const DInst& d, Split& s) {
  launch_.last_effect = launch_.result.dispatches;
  for (int lane = s.lo; lane < s.hi; ++lane) {
    if (!s.mask[static_cast<size_t>(lane)]) continue;
    std::string format = ReadString(ReadReg(*s.frame, d.inst.a, lane), 4096);
    uint64_t args = d.inst.c == isa::kNoReg ? 0 : ReadReg(*s.frame, d.inst.c, lane);
    uint64_t left = 0, at = 0;
    if (args != 0) {
      auto provenance =
          static_cast<uint32_t>(d.inst.d == isa::kNoReg ? 0 : ReadReg(*s.frame, d.inst.d, lane));
      Target t = Resolve(provenance, *s.frame);
      uint64_t base = t.base + t.lane_stride * static_cast<uint64_t>(lane);
      if (t.kind != Target::Kind::kNone && args >= base && args - base <= t.end - t.base)
        left = t.end - t.base - (args - base);
    }
    auto take = [&](uint64_t size) -> uint64_t {
      at = (at + size - 1) / size * size;
      uint64_t v = 0;
      if (at + size <= left) std::memcpy(&v, reinterpret_cast<const void*>(args + at), size);
      at += size;
      return v;
    };
    std::string out;
    int count = 0;
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out += format[i];
        continue;
      }
      if (i + 1 < format.size() && format[i + 1] == '%') {
        out += '%';
        ++i;
        continue;
      }
      std::string spec = "%";
      bool wide = false;
      size_t k = i + 1;
      for (; k < format.size() && std::strchr("-+ #0123456789.*lhzjtL", format[k]) != nullptr;
           ++k) {
        if (format[k] == '*') {
          int width = std::clamp(static_cast<int>(take(4)), -512, 512);
          spec += std::to_string(width);
        } else if (std::strchr("lzjt", format[k]) != nullptr) {
          wide = true;
        } else if (format[k] != 'h' && format[k] != 'L' && spec.size() < 16) {
          spec += format[k];
        }
      }
      if (k >= format.size()) break;
      // A width with more than three digits would only fill the log.
      int digits = 0;
      bool sane = true;
      for (char c : spec) {
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        sane = sane && digits <= 3;
      }
      if (!sane) spec = "%";
      char buffer[1200];
      buffer[0] = 0;
      char conversion = format[k];
      ++count;
      switch (conversion) {
        case 'd':
        case 'i': {
          auto v = wide ? static_cast<int64_t>(take(8))
                        : static_cast<int64_t>(static_cast<int32_t>(take(4)));
          std::snprintf(buffer, sizeof buffer, (spec + "ld").c_str(), v);
          break;
        }
        case 'u':
        case 'x':
        case 'X':
        case 'o':
          std::snprintf(buffer, sizeof buffer, (spec + "l" + conversion).c_str(),
                        wide ? take(8) : take(4));
          break;
        case 'c':
          std::snprintf(buffer, sizeof buffer, (spec + "c").c_str(), static_cast<int>(take(4)));
          break;
        case 'p':
          std::snprintf(buffer, sizeof buffer, "%p", reinterpret_cast<void*>(take(8)));
          break;
        case 's':
          std::snprintf(buffer, sizeof buffer, (spec + "s").c_str(),
                        ReadString(take(8), 1024).c_str());
          break;
        case 'f':
        case 'F':
        case 'e':
        case 'E':
        case 'g':
        case 'G':
        case 'a':
        case 'A':
          std::snprintf(buffer, sizeof buffer, (spec + conversion).c_str(), As<double>(take(8)));
          break;
        default: std::snprintf(buffer, sizeof buffer, "%%%c", conversion); break;
      }
      out += buffer;
      i = k;
    }
    std::string& all = launch_.result.printf_output;
    if (all.size() < kMaxPrintf) all.append(out, 0, kMaxPrintf - all.size());
    WriteReg(*s.frame, d.inst.dst, lane, static_cast<uint64_t>(count));
  }
}

}  // namespace kuafu::simt
