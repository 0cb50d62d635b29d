// SPDX-License-Identifier: Apache-2.0
// Launches of the current candidate: from stub address and argument pointers to a simulated launch.
#include "hostabi/session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "device/occupancy.h"
#include "hostabi/streams.h"
#include "hostabi/tensor_state.h"
#include "hostabi/tensors.h"
#include "isa/pressure.h"

namespace kuafu::hostabi {
namespace {

constexpr size_t kPrintfBytesMax = 1 << 20;
constexpr size_t kChangesMax = 4096;        // ranges of one launch; more are not looked at
constexpr uint64_t kLaunchesMax = 100'000;  // a host loop that launches for ever ends as a timeout

Session* g_current = nullptr;

int KibToBytes(int kib, int unknown_kib) {
  return (kib == device::kUnknown ? unknown_kib : kib) * 1024;
}

// What the counters assume of the device.
simt::CountingOptions ModelOf(const device::Profile& profile) {
  const device::SmModel& sm = device::SmModelOf(profile);
  simt::CountingOptions model;
  const int l2_mib = profile.l2_mib == device::kUnknown ? sm.l2_mib : profile.l2_mib;
  model.l2_bytes = static_cast<uint64_t>(l2_mib) << 20;
  model.latencies.l1 = static_cast<uint32_t>(sm.l1_clocks);
  model.latencies.shared = static_cast<uint32_t>(sm.shared_clocks);
  model.latencies.l2 = static_cast<uint32_t>(sm.l2_clocks);
  model.latencies.dram = static_cast<uint32_t>(sm.dram_clocks);
  return model;
}

bool IsValid(const Image& image, size_t at) { return image.valid.empty() || image.valid[at] != 0; }

// The parts of `before` that are different in `after`. Runs with short gaps are kept together only
// where every byte changed: neighbours may belong to other streams.
void AddChanges(const Image& before, const Image& after, std::vector<Image>& changes) {
  constexpr size_t kElementBytes = 8;  // bytes of one value that happen to be equal do not split it
  const size_t size = before.bytes.size();
  for (size_t at = 0; at < size; ++at) {
    const auto same = [&](size_t i) {
      return before.bytes[i] == after.bytes[i] && IsValid(before, i) == IsValid(after, i);
    };
    if (same(at)) continue;
    size_t end = at + 1, equal = 0;
    for (size_t i = at + 1; i < size && equal < kElementBytes; ++i) {
      equal = same(i) ? equal + 1 : 0;
      if (equal == 0) end = i + 1;
    }
    Image change{before.id, at, {}, {}};
    const auto first = static_cast<std::ptrdiff_t>(at), last = static_cast<std::ptrdiff_t>(end);
    change.bytes.assign(before.bytes.begin() + first, before.bytes.begin() + last);
    if (!before.valid.empty())
      change.valid.assign(before.valid.begin() + first, before.valid.begin() + last);
    if (changes.size() < kChangesMax) {
      changes.push_back(std::move(change));
    }
    at = end;
  }
}

// The runs of marked bytes.
void AddRanges(uint32_t id, const std::vector<bool>& marked, std::vector<Image>& ranges) {
  for (size_t at = 0; at < marked.size() && ranges.size() < kChangesMax; ++at) {
    if (!marked[at]) continue;
    size_t end = at;
    while (end < marked.size() && marked[end]) ++end;
    ranges.push_back({id, at, std::vector<uint8_t>(end - at), {}});
    at = end;
  }
}

bool HasFloatAtomics(const isa::Function& function) {
  for (const isa::Inst& inst : function.code) {
    // Compare-and-swap is how atomics that the language lacks are written.
    if (inst.op == isa::Op::kAtomicCas) return true;
    if (inst.op != isa::Op::kAtomicRmw) continue;
    const auto op = static_cast<isa::AtomicOp>(inst.extra & 0xff);
    if (op == isa::AtomicOp::kFAdd || op == isa::AtomicOp::kFMin || op == isa::AtomicOp::kFMax)
      return true;
  }
  return false;
}

// Whether what a kernel wrote is different when it runs on other memory.
bool Depends(const Image& before, const Image& after, const Image& early, const Image& late) {
  for (size_t i = 0; i < before.bytes.size(); ++i) {
    const bool wrote = before.bytes[i] != after.bytes[i] || early.bytes[i] != late.bytes[i];
    if (wrote && after.bytes[i] != late.bytes[i]) return true;
  }
  return false;
}

// The simulator knows of no memory but the device's.
void ExplainHostPointer(Session& session, simt::Finding& finding) {
  if (finding.kind != simt::Finding::Kind::kOob || !finding.allocation.empty()) return;
  const std::string name = HostTensorAt(session, finding.address);
  if (name.empty()) return;
  finding.kind = simt::Finding::Kind::kHostPointer;
  finding.message += ": it is host memory, of " + name +
                     " on the CPU; create it with the options() of an input or move it with "
                     ".to(x.device())";
}

}  // namespace

void SetCurrent(Session* session) { g_current = session; }

Session& Current() {
  if (g_current == nullptr) std::abort();
  return *g_current;
}

Session::Session(const SessionOptions& options)
    : options_(options),
      memory_(options.memory_bytes),
      streams_(std::make_unique<Streams>(*this)),
      tensors_(std::make_unique<TensorState>()) {
  if (options.counts_only) {
    options_.count = true;
    options_.sanitize = false;
    if (!memory_.UsePattern().ok()) stop_error_ = kMemoryAllocation;
  }
  if (options_.count) counting_ = std::make_unique<simt::Counting>(ModelOf(*options.profile));
}
Session::~Session() = default;

const isa::Function& Session::Kernel::function() const {
  return program->module().functions[static_cast<size_t>(index)];
}

Result<size_t> Session::LoadModule(std::span<const uint8_t> bytes) {
  KUAFU_TRY(isa::Module module, isa::Read(bytes));
  KUAFU_TRY(auto program, simt::Program::Load(memory_, std::move(module)));
  programs_.push_back(std::move(program));
  return programs_.size() - 1;
}

void Session::RegisterKernels(std::span<const KernelEntry> kernels, size_t module) {
  simt::Program* program = programs_[module].get();
  for (const KernelEntry& k : kernels)
    kernels_[k.stub] = Kernel{program, program->KernelIndex(k.name)};
}

void Session::RegisterSymbols(std::span<const SymbolEntry> symbols, size_t module) {
  for (const SymbolEntry& s : symbols) symbols_[s.shadow] = {programs_[module].get(), s.name};
}

void Session::AddFinding(simt::Finding finding, HostDefect host) {
  if (findings_.size() >= simt::kMaxFindings || !blind_.empty()) return;
  const bool known = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& other) {
    return other.kind == finding.kind && other.host == host && other.kernel == finding.kernel &&
           other.line.line == finding.line.line && other.line.column == finding.line.column &&
           other.other_line.line == finding.other_line.line &&
           (finding.line.line != 0 || other.message == finding.message);
  });
  if (!known) findings_.push_back({std::move(finding), host});
}

std::string_view KindName(const Finding& finding) {
  switch (finding.host) {
    case HostDefect::kNone: return simt::KindName(finding.kind);
    case HostDefect::kOverrun: return "host_overrun";
    case HostDefect::kStreamOrder: return "stream_order";
  }
  return "unknown";
}

std::string Describe(const Finding& finding) {
  if (finding.host == HostDefect::kNone) return simt::Describe(finding);
  std::string text =
      finding.file.empty() ? "" : finding.file + ":" + std::to_string(finding.line.line) + ": ";
  text += std::string(KindName(finding)) + ": " + finding.message;
  if (!finding.kernel.empty()) text += " in " + finding.kernel;
  return text;
}

void Session::Begin(uint64_t order_seed, const CallSampling& sampling) {
  options_.order_seed = order_seed;
  if (counting_ != nullptr) counting_->Reset();
  sampling_ = sampling;
  sampled_.clear();
  estimates_.clear();
  blind_.clear();
  refused_before_ = memory_.refused();
  findings_.clear();
  counters = {};
  printf_output.clear();
  library_call.clear();
  last_error = kSuccess;
}

void Session::Finish(const std::vector<uint32_t>& returned) {
  streams_->CheckReturned(returned);
  streams_->SynchronizeAll();
}

void Session::CheckRedZone(uint32_t id) {
  if (memory_.RedZonesIntact(id)) return;
  const simt::Allocation* a = memory_.Get(id);
  AddFinding({.kind = simt::Finding::Kind::kOob,
              .message = "host code wrote beyond " + a->name + " of " + std::to_string(a->bytes) +
                         " bytes",
              .address = a->base,
              .allocation = a->name},
             HostDefect::kOverrun);
  auto* start = static_cast<uint8_t*>(a->storage);
  auto* base = reinterpret_cast<uint8_t*>(a->base);
  std::memset(start, simt::Memory::kRedZoneByte, static_cast<size_t>(base - start));
  std::memset(base + a->bytes, simt::Memory::kRedZoneByte,
              static_cast<size_t>(start + a->storage_bytes - (base + a->bytes)));
}

void Session::CheckRedZones() {
  for (uint32_t id = 1; memory_.Get(id) != nullptr; ++id) {
    if (memory_.Get(id)->live) CheckRedZone(id);
  }
}

bool Session::FreeDevice(void* pointer) {
  const uint32_t id = memory_.IdOf(reinterpret_cast<uint64_t>(pointer));
  if (id != 0 && memory_.Get(id)->live) CheckRedZone(id);
  return memory_.Free(pointer).ok();
}

bool Session::has_float_atomics() const {
  return std::any_of(programs_.begin(), programs_.end(), [](const auto& program) {
    const auto& functions = program->module().functions;
    return std::any_of(functions.begin(), functions.end(), HasFloatAtomics);
  });
}

int Session::SetSharedOptIn(const void* stub, int64_t bytes) {
  const auto it = kernels_.find(stub);
  if (it == kernels_.end() || !it->second.known()) return kInvalidDeviceFunction;
  if (bytes < 0 || bytes > KibToBytes(options_.profile->shared_kib_per_block_opt_in,
                                      options_.profile->shared_kib_per_block)) {
    return kInvalidValue;
  }
  it->second.shared_opt_in_bytes = bytes;
  return kSuccess;
}

void* Session::SymbolAddress(const void* shadow, size_t* bytes) const {
  const auto it = symbols_.find(shadow);
  if (it == symbols_.end()) return nullptr;
  return it->second.program->GlobalAddress(it->second.name, bytes);
}

const isa::Function* Session::FindKernel(const void* stub) const {
  const auto it = kernels_.find(stub);
  return it == kernels_.end() || !it->second.known() ? nullptr : &it->second.function();
}

size_t Session::StaticSharedBytes(const void* stub) const {
  const auto it = kernels_.find(stub);
  if (it == kernels_.end() || !it->second.known()) return 0;
  size_t bytes = 0;
  for (uint32_t index : it->second.function().shared) {
    const isa::SharedVar& v = it->second.program->module().shared[index];
    if (!v.dynamic) bytes += v.bytes;
  }
  return bytes;
}

int Session::Launch(const void* stub, simt::Dim3 grid, simt::Dim3 block, void** args,
                    size_t shared_bytes, bool cooperative, void* stream) {
  const auto it = kernels_.find(stub);
  if (it == kernels_.end() || !it->second.known()) return last_error = kInvalidDeviceFunction;
  if (stopped()) return last_error = stop_error_;
  if (!blind_.empty()) return kSuccess;
  const isa::Function& kernel = it->second.function();
  if (++counters.launches > kLaunchesMax) {
    AddFinding(
        {.kind = simt::Finding::Kind::kTimeout,
         .message = "the host launched more than " + std::to_string(kLaunchesMax) + " kernels",
         .kernel = kernel.pretty});
    return last_error = stop_error_ = kLaunchFailure;
  }
  size_t param_bytes = 0;
  for (const isa::Param& p : kernel.params)
    param_bytes = std::max<size_t>(param_bytes, p.offset + p.bytes);
  std::vector<uint8_t> params(param_bytes);
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    std::memcpy(params.data() + kernel.params[i].offset, args[i], kernel.params[i].bytes);
  }
  Stream* const queue = streams_->Find(stream);
  if (queue == nullptr) return last_error = kInvalidResourceHandle;
  Call call{&it->second,
            grid,
            block,
            shared_bytes,
            std::move(params),
            OptionsFor(it->second, block, shared_bytes)};
  call.options.cooperative = cooperative;
  if (counting_ != nullptr) PrepareCounting(it->second, call.options, block, shared_bytes);
  if (options_.counts_only) return LaunchForCounts(call);
  const int error = Account(RunOrdered(call, streams_->Issue(*queue)));
  if (data_flow != nullptr) ReportTouched();
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  if (error == kInvalidConfiguration && cooperative && blocks > call.options.resident_blocks)
    return last_error = kCooperativeLaunchTooLarge;
  return error;
}

simt::LaunchOptions Session::OptionsFor(const Kernel& kernel, simt::Dim3 block,
                                        size_t shared_bytes) const {
  const device::Profile& profile = *options_.profile;
  simt::LaunchOptions launch;
  launch.warp_width = options_.warp_width;
  launch.order_seed = options_.order_seed;
  launch.sanitize = options_.sanitize;
  // The budget is that of the whole call, however many launches it makes.
  launch.max_dispatches = options_.max_dispatches > counters.dispatches
                              ? options_.max_dispatches - counters.dispatches
                              : 1;
  launch.strict_exit = profile.musa;
  launch.max_threads_per_block = static_cast<uint32_t>(profile.threads_per_block_max);
  launch.shared_bytes_per_block =
      static_cast<uint32_t>(KibToBytes(profile.shared_kib_per_block, 48));
  launch.shared_bytes_opt_in = static_cast<uint32_t>(
      KibToBytes(profile.shared_kib_per_block_opt_in, profile.shared_kib_per_block));
  launch.shared_opt_in = kernel.shared_opt_in_bytes > 0 &&
                         shared_bytes <= static_cast<size_t>(kernel.shared_opt_in_bytes);
  launch.resident_blocks = profile.ResidentBlocks(block.x * block.y * block.z, shared_bytes);
  if (profile.sm_count != device::kUnknown)
    launch.sm_count = static_cast<uint32_t>(profile.sm_count);
  launch.sampling = SamplingOfLaunch();
  return launch;
}

void Session::PrepareCounting(Kernel& kernel, simt::LaunchOptions& launch, simt::Dim3 block,
                              size_t shared_bytes) {
  const isa::Module& module = kernel.program->module();
  if (kernel.registers == 0) {
    kernel.registers =
        isa::EstimateRegisters(module, static_cast<uint32_t>(kernel.index)).registers;
  }
  uint64_t shared = shared_bytes;
  for (const uint32_t index : kernel.function().shared) {
    if (!module.shared[index].dynamic) shared += module.shared[index].bytes;
  }
  const device::Occupancy occupancy =
      device::FindOccupancy(*options_.profile, {.threads = block.x * block.y * block.z,
                                                .registers = kernel.registers,
                                                .shared_bytes = shared});
  counting_->SetRegisters(kernel.registers);
  // Each resident block is taken to have its part of the L1 to itself.
  counting_->SetL1(occupancy.l1_bytes /
                   static_cast<uint64_t>(std::max(occupancy.blocks_per_sm, 1)));
  launch.counting = counting_.get();
}

// Runs a kernel; when it may meet work that is not ordered before it, also as if that work had not
// happened yet.
simt::LaunchResult Session::RunOrdered(const Call& call, Operation now) {
  const auto run = [&](const simt::LaunchOptions& launch_options) {
    return call.kernel->program->Launch(static_cast<uint32_t>(call.kernel->index), call.grid,
                                        call.block, call.shared_bytes, call.params, launch_options);
  };
  // Which bytes are known cannot be undone, as would be necessary for another order.
  if (!streams_->active() || sampling_.on) return run(call.options);
  const isa::Function& kernel = call.kernel->function();
  now.kernel = kernel.pretty;
  const isa::Module& module = call.kernel->program->module();
  if (kernel.line < module.lines.size()) now.line = module.lines[kernel.line];
  if (now.line.file < module.files.size()) now.file = module.files[now.line.file];
  std::vector<uint32_t> touched, written;
  std::vector<const Operation*> unordered;
  for (const isa::Param& p : kernel.params) {
    uint64_t value = 0;
    if (!p.is_pointer || p.bytes != sizeof value) continue;
    std::memcpy(&value, call.params.data() + p.offset, sizeof value);
    const uint32_t id = memory_.IdOf(value);
    const auto add = [&](std::vector<uint32_t>& ids) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    };
    if (id == 0 || !memory_.Get(id)->live) continue;
    add(touched);
    if (!p.read_only) add(written);
    for (const Operation* o : streams_->Unordered(now, id)) {
      if (std::find(unordered.begin(), unordered.end(), o) == unordered.end())
        unordered.push_back(o);
    }
  }
  std::sort(unordered.begin(), unordered.end());  // in the order of the calls
  const auto take = [&](const std::vector<uint32_t>& ids) {
    std::vector<Image> images;
    for (uint32_t id : ids) images.push_back(streams_->Take(id, 0, memory_.Get(id)->bytes));
    return images;
  };
  const std::vector<Image> before = take(touched);
  const std::vector<Image> before_written = take(written);
  simt::LaunchOptions recording = call.options;
  recording.record_reads = true;
  simt::LaunchResult result = run(recording);
  for (const auto& [id, bytes] : result.read) AddRanges(id, bytes, now.reads);
  const std::vector<Image> after = take(written);
  for (size_t i = 0; i < written.size(); ++i) AddChanges(before_written[i], after[i], now.undo);
  for (const Image& change : now.undo) streams_->CheckWrite(now, change);
  if (!unordered.empty()) {
    for (const Image& image : before) streams_->Put(image);
    for (size_t i = unordered.size(); i-- > 0;) {
      for (const Image& image : unordered[i]->undo) streams_->Put(image);
    }
    const std::vector<Image> early = take(written);
    simt::LaunchOptions quiet = call.options;
    quiet.sanitize = false;
    quiet.counting = nullptr;
    run(quiet);
    const std::vector<Image> late = take(written);
    for (size_t i = 0; i < written.size(); ++i) {
      if (!Depends(before_written[i], after[i], early[i], late[i])) continue;
      streams_->Report(now, *unordered.back(), "depends on", unordered.back()->undo.front().id);
      break;
    }
    for (const Image& image : before) streams_->Put(image);
    for (const Image& image : after) streams_->Put(image);
  }
  streams_->Add(std::move(now));
  return result;
}

void Session::ReportTouched() {
  std::vector<uint32_t> read, written;
  for (uint32_t id = 1; memory_.Get(id) != nullptr; ++id) {
    simt::Allocation& a = *memory_.Get(id);
    if ((a.touched & simt::Allocation::kRead) != 0) read.push_back(id);
    if ((a.touched & simt::Allocation::kWritten) != 0) written.push_back(id);
    a.touched = 0;
  }
  data_flow->Launched(read, written);
}

int Session::Account(simt::LaunchResult result) {
  counters.dispatches += result.dispatches;
  counters.lane_instructions += result.lane_instructions;
  counters.global_load_bytes += result.global_load_bytes;
  counters.global_store_bytes += result.global_store_bytes;
  counters.used_atomics |= result.atomics > 0;
  if (printf_output.size() < kPrintfBytesMax) printf_output += result.printf_output;
  if (options_.echo_printf)
    std::fwrite(result.printf_output.data(), 1, result.printf_output.size(), stdout);
  if (sampling_.on) AccountSampled(std::move(result.sampling));
  int error = kSuccess;
  for (simt::Finding& f : result.findings) {
    using Kind = simt::Finding::Kind;
    if (f.kind == Kind::kLaunchInvalid) error = kInvalidConfiguration;
    if (f.kind == Kind::kTimeout || f.kind == Kind::kDeadlock || f.kind == Kind::kTrap ||
        f.kind == Kind::kAssertFail) {
      if (!stopped()) stop_error_ = f.kind == Kind::kAssertFail ? kAssert : kLaunchFailure;
      error = stop_error_;
    }
    ExplainHostPointer(*this, f);
    AddFinding(std::move(f));
  }
  if (error != kSuccess) last_error = error;
  return error;
}

}  // namespace kuafu::hostabi
