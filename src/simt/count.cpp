// SPDX-License-Identifier: Apache-2.0
// Counting while a launch runs, see count.h.
#include "simt/count.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::Op;

constexpr uint64_t kAllocationAlign = 512;  // as allocators of devices align
constexpr uint64_t kCopyBytesMax = 4096;    // of one lane's block copy that are looked at

uint32_t Bits(uint32_t mask) { return static_cast<uint32_t>(__builtin_popcount(mask)); }

bool IsStore(Op op) { return op == Op::kStore || op == Op::kAtomicStore; }

void AddRequest(const RequestCost& cost, MemoryCount* count) {
  count->requests += cost.requests;
  count->sectors += cost.sectors;
  count->lines += cost.touches.size();
  count->bytes += cost.bytes;
}

}  // namespace

// --- the launch ---

LaunchCounter::LaunchCounter(Counting& counting, const isa::Module& module, uint32_t kernel,
                             std::span<const uint32_t> reachable)
    : counting_(counting), module_(module) {
  info_.kernel = module.functions[kernel].pretty;
  info_.function = kernel;
  info_.registers = counting.registers_;
  counts_.resize(module.functions.size());
  memos_.resize(module.functions.size());
  for (const uint32_t i : reachable) {
    counts_[i].resize(module.functions[i].code.size());
    memos_[i].resize(module.functions[i].code.size());
  }
  if (counting.l1_ == nullptr)
    counting.l1_ = std::make_unique<SectorCache>(counting.l1_bytes_, counting.options_.l1_ways);
  if (counting.l2_ == nullptr) {
    counting.l2_ =
        std::make_unique<SectorCache>(counting.options_.l2_bytes, counting.options_.l2_ways);
  }
}

LaunchCounter::~LaunchCounter() = default;

CostMemo& LaunchCounter::Memo(uint32_t function, uint32_t pc) {
  std::unique_ptr<CostMemo>& memo = memos_[function][pc];
  if (memo == nullptr) memo = std::make_unique<CostMemo>();
  return *memo;
}

uint64_t LaunchCounter::DeviceBase(uint32_t allocation, uint64_t bytes) {
  if (allocation >= touched_.size()) touched_.resize(allocation + 1);
  if (touched_[allocation] == 0) {
    touched_[allocation] = 1;
    info_.memory_bytes += bytes;
  }
  std::vector<uint64_t>& bases = counting_.device_base_;
  if (allocation >= bases.size()) bases.resize(allocation + 1);
  if (bases[allocation] == 0) {
    counting_.device_next_ += kAllocationAlign;
    bases[allocation] = counting_.device_next_;
    counting_.device_next_ += (bytes + kAllocationAlign - 1) / kAllocationAlign * kAllocationAlign;
  }
  return bases[allocation];
}

uint32_t LaunchCounter::Load(const RequestCost& cost, uint64_t first_line, MemoryCount* count) {
  AddRequest(cost, count);
  const Latencies& clocks = latencies();
  uint32_t latency = clocks.l1;
  for (const LineTouch& touch : cost.touches) {
    const uint64_t line = first_line + static_cast<uint64_t>(touch.line);
    const uint32_t hits = counting_.l1_->Read(line, touch.sectors);
    count->l1_hits += Bits(hits);
    const uint32_t missing = touch.sectors & ~hits;
    if (missing == 0) continue;
    const uint32_t found = counting_.l2_->Read(line, missing);
    count->l2_hits += Bits(found);
    count->dram += Bits(missing & ~found);
    latency = std::max(latency, missing == found ? clocks.l2 : clocks.dram);
  }
  return latency;
}

void LaunchCounter::Store(const RequestCost& cost, uint64_t first_line, MemoryCount* count) {
  AddRequest(cost, count);
  for (const LineTouch& touch : cost.touches) {
    const uint64_t line = first_line + static_cast<uint64_t>(touch.line);
    const uint32_t dirty = counting_.l2_->Write(line, touch.sectors);
    count->l2_hits += Bits(dirty);
    count->dram += Bits(touch.sectors & ~dirty);
  }
}

void LaunchCounter::Atomic(const RequestCost& cost, uint64_t first_line, MemoryCount* count) {
  AddRequest(cost, count);
  for (const LineTouch& touch : cost.touches) {
    const uint64_t line = first_line + static_cast<uint64_t>(touch.line);
    const uint32_t found = counting_.l2_->Read(line, touch.sectors);
    const uint32_t dirty = counting_.l2_->Write(line, touch.sectors);
    count->l2_hits += Bits(found);
    count->dram += Bits(touch.sectors & ~found) + Bits(touch.sectors & ~dirty);
  }
}

void LaunchCounter::Contend(uint64_t device_address, uint32_t lanes) {
  auto it = hot_.find(device_address);
  if (it == hot_.end()) {
    if (hot_.size() >= kHotAddressesMax) {
      info_.contended_limited = true;
      return;
    }
    it = hot_.emplace(device_address, 0).first;
  }
  it->second += lanes;
  info_.atomic_hottest = std::max(info_.atomic_hottest, it->second);
}

void LaunchCounter::StartBlock() { counting_.l1_->Clear(); }

void LaunchCounter::EndBlock(uint64_t path) {
  info_.critical_path_sum += path;
  info_.critical_path_max = std::max(info_.critical_path_max, path);
}

void LaunchCounter::Stretch(uint64_t clocks) {
  info_.stretch_max = std::max(info_.stretch_max, clocks);
}

void LaunchCounter::Finish() {
  std::map<std::pair<uint32_t, uint32_t>, Count> lines;  // by file and line
  for (size_t f = 0; f < counts_.size(); ++f) {
    const std::vector<isa::Inst>& code = module_.functions[f].code;
    for (size_t pc = 0; pc < counts_[f].size(); ++pc) {
      const Count& count = counts_[f][pc];
      if (count.warps == 0) continue;
      const isa::Line line =
          code[pc].line < module_.lines.size() ? module_.lines[code[pc].line] : isa::Line{};
      lines[{line.file, line.line}].Add(count);
      info_.total.Add(count);
      info_.warps_by_class[static_cast<size_t>(ClassOf(code[pc]))] += count.warps;
    }
  }
  for (const auto& [place, count] : lines) {
    const std::string file =
        place.first < module_.files.size() && place.second != 0 ? module_.files[place.first] : "";
    info_.lines.push_back({file, {place.first, place.second, 0}, count});
  }
  if (counting_.launches_.size() < Counting::kLaunchesMax)
    counting_.launches_.push_back(std::move(info_));
  else
    ++counting_.dropped_;
}

// --- the block ---

BlockCounter::BlockCounter(LaunchCounter& launch, int width, int warps)
    : launch_(launch),
      width_(width),
      warps_(warps),
      present_(static_cast<size_t>(warps)),
      clocks_(static_cast<size_t>(warps)) {}

void BlockCounter::Start() {
  Unbind();
  common_ = last_barrier_ = 0;
  std::fill(clocks_.begin(), clocks_.end(), 0);
  launch_.StartBlock();
}

void BlockCounter::Bind(const Split& s) {
  if (split_ == &s && split_count_ == s.count) return;
  split_ = &s;
  split_count_ = s.count;
  Find(s);
}

void BlockCounter::Find(const Split& s) {
  std::fill(present_.begin(), present_.end(), uint8_t{0});
  const int from = s.lo / width_, to = (s.hi - 1) / width_;
  present_count_ = 0;
  first_ = from;
  for (int w = to; w >= from; --w) {
    const int lo = std::max(s.lo, w * width_), hi = std::min(s.hi, (w + 1) * width_);
    const bool any = s.dense() || std::find(s.mask.begin() + lo, s.mask.begin() + hi, uint8_t{1}) !=
                                      s.mask.begin() + hi;
    if (!any) continue;
    present_[static_cast<size_t>(w)] = 1;
    ++present_count_;
    first_ = w;
  }
}

uint64_t BlockCounter::Issue(uint64_t ready, uint64_t* stall) {
  const uint64_t now = common_ + clocks_[static_cast<size_t>(first_)];
  *stall = ready > now ? std::min(ready - now, kStallMax) : 0;
  const uint64_t advance = *stall + 1;
  if (present_count_ == warps_) {
    common_ += advance;
  } else {
    for (size_t w = 0; w < clocks_.size(); ++w) clocks_[w] += present_[w] != 0 ? advance : 0;
  }
  return now + *stall;
}

void BlockCounter::Barrier(const std::vector<Split*>& waiting, Count* count) {
  std::vector<uint8_t> arrived(clocks_.size(), 0);
  for (const Split* s : waiting) {
    Find(*s);
    for (size_t w = 0; w < arrived.size(); ++w) arrived[w] |= present_[w];
  }
  Unbind();
  uint64_t last = 0;
  for (size_t w = 0; w < arrived.size(); ++w) last = std::max(last, arrived[w] * clocks_[w]);
  for (size_t w = 0; w < arrived.size(); ++w) {
    if (arrived[w] == 0) continue;
    count->barrier_wait += last - clocks_[w];
    clocks_[w] = last + launch_.latencies().barrier;
  }
  ++count->barriers;
  launch_.Stretch(common_ + last - last_barrier_);
  last_barrier_ = common_ + last;
}

void BlockCounter::End() {
  const uint64_t last = common_ + *std::max_element(clocks_.begin(), clocks_.end());
  launch_.Stretch(last - last_barrier_);
  launch_.EndBlock(last);
}

// --- instructions ---

void BlockRun::CountDispatch(const DInst& d, const Split& s, uint32_t pc) {
  if (d.cls == InstClass::kNone) return;
  BlockCounter& block = *counter_;
  block.Bind(s);
  Count& count = block.launch().At(s.frame->index, pc);
  count.warps += block.warps();
  count.lanes += static_cast<uint64_t>(s.count);
  uint64_t* ready = s.frame->ready.data();
  uint64_t needed = std::max({ready[d.a], ready[d.b], ready[d.c]});
  if (!d.lanes && d.inst.d != isa::kNoReg && d.inst.d < s.frame->ready.size())
    needed = std::max(needed, ready[d.inst.d]);
  uint64_t stall = 0;
  const uint64_t issued = block.Issue(needed, &stall);
  count.stall += stall;
  if (stall >= kLongStall) count.stall_long += stall;
  const Latencies& clocks = block.launch().latencies();
  uint32_t latency = clocks.alu, results = 1;
  switch (d.cls) {
    case InstClass::kSpecial: latency = clocks.special; break;
    case InstClass::kWarp: latency = clocks.warp; break;
    case InstClass::kMemory:
      latency = CountMemory(d, s, pc, &count);
      if (d.inst.op == Op::kLoad) results = std::max(d.inst.Components(), 1u);
      break;
    case InstClass::kAtomic: latency = CountMemory(d, s, pc, &count); break;
    case InstClass::kControl:
      if (d.inst.op == Op::kCondBr) count.branches += block.warps();
      break;
    default: break;
  }
  if (d.inst.dst == isa::kNoReg) return;
  for (uint32_t i = 0; i < results && d.inst.dst + i < s.frame->ready.size(); ++i)
    ready[d.inst.dst + i] = issued + latency;
}

// The split is about to be divided at a branch: lanes with a set predicate go one way.
void BlockRun::CountDivergence(const Split& s, uint32_t pc, const uint8_t* predicate) {
  Count& count = counter_->launch().At(s.frame->index, pc);
  const int width = launch_.width;
  for (int w = s.lo / width; w <= (s.hi - 1) / width; ++w) {
    const int lo = std::max(s.lo, w * width), hi = std::min(s.hi, (w + 1) * width);
    const uint8_t* mask = s.mask.data();
    uint8_t yes = 0, no = 0;
    for (int i = lo; i < hi; ++i) {
      yes |= mask[i] & predicate[i];
      no |= mask[i] & (predicate[i] ^ 1);
    }
    count.diverged += (yes & no) != 0;
  }
}

// Clocks until the result is there.
uint32_t BlockRun::CountMemory(const DInst& d, const Split& s, uint32_t pc, Count* count) {
  const isa::Inst& inst = d.inst;
  if (inst.op == Op::kMemCopy || inst.op == Op::kMemCopyDyn || inst.op == Op::kMemSet)
    return CountCopy(d, s, count);
  LaunchCounter& launch = counter_->launch();
  const Latencies& clocks = launch.latencies();
  const auto bytes = static_cast<uint32_t>(isa::TypeBytes(inst.type));
  const bool atomic = d.cls == InstClass::kAtomic;
  const uint32_t size = atomic ? bytes : bytes * std::max(inst.Components(), 1u);
  const Frame& f = *s.frame;
  uint32_t provenance = 0;
  if (!AllSame(d, s, &provenance)) {
    ComputeAddresses(d, s);
    return CountLanes(s, inst.c, size, IsStore(inst.op), atomic, count);
  }
  const Target t = Resolve(provenance, f);
  const uint32_t warps = counter_->warps();
  switch (t.kind) {
    case Target::Kind::kNone:
    case Target::Kind::kParam: return clocks.alu;
    // A compiler keeps most of them in registers.
    case Target::Kind::kLocal: count->local_requests += warps; return clocks.alu;
    case Target::Kind::kGlobal:
      if (inst.MemSpace() == isa::Space::kConstant) {
        count->constant_requests += warps;
        return clocks.l1;
      }
      break;
    case Target::Kind::kShared: break;
  }
  const bool shared = t.kind == Target::Kind::kShared;
  const uint64_t origin = shared ? reinterpret_cast<uint64_t>(shared_) : t.base;
  const CostKind kind = atomic ? CostKind::kAtomic : shared ? CostKind::kShared : CostKind::kGlobal;
  LaneAddresses lanes;
  lanes.mask = s.dense() ? nullptr : s.mask.data() + s.lo;
  lanes.lo = s.lo;
  lanes.n = s.hi - s.lo;
  lanes.bytes = size;
  lanes.width = launch_.width;
  CostMemo& memo = launch.Memo(f.index, pc);
  const RequestCost* cost = nullptr;
  uint64_t first = 0;
  const bool indexed = !atomic && inst.b != isa::kNoReg;
  if (s.dense() && indexed && f.scalar[d.a] && !f.scalar[d.b] && !d.index64) {
    const auto* index = reinterpret_cast<const int32_t*>(f.regs[d.b]) + s.lo;
    std::memcpy(&first, f.regs[d.a], 8);
    first += static_cast<uint64_t>(int64_t{inst.Offset()}) +
             static_cast<uint64_t>(int64_t{index[0]}) * inst.Scale() - origin;
    cost = &memo.OfIndex(index, first, inst.Scale(), lanes, kind, address_.data());
  } else {
    ComputeAddresses(d, s);
    for (int i = 0; i < lanes.n; ++i) address_[static_cast<size_t>(i)] -= origin;
    lanes.offset = address_.data();
    const int lane = FirstLane(s) - s.lo;
    first = address_[static_cast<size_t>(lane)];
    cost = &memo.OfOffsets(lanes, lane, kind);
  }
  if (atomic) count->atomic_serial += cost->serial;
  if (shared) {
    RequestCost passes;
    if (atomic) {
      // Turns at one address are passes as well.
      lanes.offset = address_.data();
      FindCost(lanes, CostKind::kShared, &passes);
      passes.passes = std::max(passes.passes, cost->serial);
      cost = &passes;
    }
    return CountShared(*cost, count);
  }
  const uint64_t base = launch.DeviceBase(t.id, t.end - t.base);
  const uint64_t line = (base + first) / SectorCache::kLineBytes;
  if (atomic) {
    for (int i = 0; i < lanes.n; ++i) {
      if (lanes.mask == nullptr || lanes.mask[i] != 0)
        launch.Contend(base + address_[static_cast<size_t>(i)], 1);
    }
    launch.Atomic(*cost, line, &count->atomic);
    return clocks.l2;
  }
  if (IsStore(inst.op)) {
    launch.Store(*cost, line, &count->store);
    return clocks.alu;
  }
  return launch.Load(*cost, line, &count->load);
}

uint32_t BlockRun::CountShared(const RequestCost& cost, Count* count) {
  count->shared_requests += cost.requests;
  count->shared_passes += cost.passes;
  count->shared_passes_ideal += cost.passes_ideal;
  count->shared_bytes += cost.bytes;
  const uint32_t each = cost.requests == 0 ? 1 : cost.passes / cost.requests;
  return counter_->launch().latencies().shared + (each > 1 ? each - 1 : 0);
}

// Lanes that may go to different objects; address_ has where.
uint32_t BlockRun::CountLanes(const Split& s, uint32_t provenance_reg, uint32_t size, bool store,
                              bool atomic, Count* count) {
  LaunchCounter& launch = counter_->launch();
  const auto n = static_cast<size_t>(s.hi - s.lo);
  std::vector<uint8_t> global(n, 0), shared(n, 0);
  std::vector<uint64_t> offset(n, 0);
  bool any_global = false, any_shared = false, any_local = false;
  for (size_t i = 0; i < n; ++i) {
    const int lane = s.lo + static_cast<int>(i);
    if (s.mask[static_cast<size_t>(lane)] == 0) continue;
    const Target t =
        Resolve(static_cast<uint32_t>(ReadReg(*s.frame, provenance_reg, lane)), *s.frame);
    if (t.kind == Target::Kind::kGlobal) {
      global[i] = 1;
      any_global = true;
      offset[i] = launch.DeviceBase(t.id, t.end - t.base) + (address_[i] - t.base);
    } else if (t.kind == Target::Kind::kShared) {
      shared[i] = 1;
      any_shared = true;
      offset[i] = address_[i] - reinterpret_cast<uint64_t>(shared_);
    }
    any_local = any_local || t.kind == Target::Kind::kLocal;
  }
  uint32_t latency = launch.latencies().alu;
  LaneAddresses lanes;
  lanes.offset = offset.data();
  lanes.lo = s.lo;
  lanes.n = static_cast<int>(n);
  lanes.bytes = size;
  lanes.width = launch_.width;
  RequestCost cost;
  if (any_local) count->local_requests += counter_->warps();
  if (any_shared) {
    lanes.mask = shared.data();
    FindCost(lanes, CostKind::kShared, &cost);
    latency = CountShared(cost, count);
  }
  if (!any_global) return latency;
  lanes.mask = global.data();
  FindCost(lanes, atomic ? CostKind::kAtomic : CostKind::kGlobal, &cost);
  const size_t first =
      static_cast<size_t>(std::find(global.begin(), global.end(), uint8_t{1}) - global.begin());
  const uint64_t line = offset[first] / SectorCache::kLineBytes;
  if (atomic) {
    count->atomic_serial += cost.serial;
    for (size_t i = 0; i < n; ++i) {
      if (global[i] != 0) launch.Contend(offset[i], 1);
    }
    launch.Atomic(cost, line, &count->atomic);
    return launch.latencies().l2;
  }
  if (store) {
    launch.Store(cost, line, &count->store);
    return latency;
  }
  return launch.Load(cost, line, &count->load);
}

uint32_t BlockRun::CountCopy(const DInst& d, const Split& s, Count* count) {
  const isa::Inst& inst = d.inst;
  const Frame& f = *s.frame;
  const bool set = inst.op == Op::kMemSet;
  const int lane = FirstLane(s);
  uint64_t size = set                          ? ReadReg(f, inst.c, lane)
                  : inst.op == Op::kMemCopyDyn ? ReadReg(f, inst.extra, lane)
                                               : static_cast<uint64_t>(inst.imm);
  size = std::min(size, kCopyBytesMax);
  if (size == 0) return 0;
  const auto take = [&](uint32_t reg) {
    for (int i = s.lo; i < s.hi; ++i) address_[static_cast<size_t>(i - s.lo)] = ReadReg(f, reg, i);
  };
  uint32_t latency = 0;
  if (!set) {
    take(inst.c);
    latency = CountLanes(s, inst.d, static_cast<uint32_t>(size), false, false, count);
  }
  take(inst.a);
  return std::max(latency, CountLanes(s, inst.b, static_cast<uint32_t>(size), true, false, count));
}

}  // namespace kuafu::simt
