// SPDX-License-Identifier: Apache-2.0
// Running a launch: checks of the configuration, block order, time slices.
#include <algorithm>
#include <cfenv>
#include <cstring>
#include <deque>
#include <numeric>
#include <optional>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

constexpr uint64_t kSlice = 20000;         // dispatches before a polling block gives way
constexpr int kSlicesWithoutPolling = 50;  // and before any other does
constexpr uint32_t kSharedGap =
    64;  // between shared variables, so that a stray access hits nothing

Layout LayOut(const isa::Function& fn, uint64_t threads) {
  Layout layout;
  layout.offset.reserve(fn.registers.size() + 1);
  uint64_t offset = 0;
  for (const isa::Register& r : fn.registers) {
    if (!r.uniform) offset = (offset + 63) & ~uint64_t{63};
    layout.offset.push_back(static_cast<uint32_t>(offset));
    const auto bytes = static_cast<uint64_t>(isa::TypeBytes(r.type));
    offset += r.uniform ? 8 : (bytes * threads + 63) & ~uint64_t{63};
  }
  layout.bytes = offset;
  return layout;
}

// The host code of a candidate may have changed rounding or unmasked exceptions; a device does not
// know of that.
class DefaultFloatMode {
 public:
  DefaultFloatMode() {
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatMode() { std::fesetenv(&host_); }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  std::fenv_t host_;
};

// All blocks, as many at once as can be resident.
void RunBlocks(LaunchState& st, uint64_t total, uint64_t resident) {
  const LaunchOptions& options = *st.options;
  std::vector<uint64_t> order = options.block_filter;
  if (options.order_seed != 0 && total <= (1u << 22)) {
    if (order.empty()) {
      order.resize(total);
      std::iota(order.begin(), order.end(), uint64_t{0});
    }
    uint64_t x = options.order_seed * 0x9e3779b97f4a7c15ull | 1;
    for (size_t i = order.size(); i > 1; --i) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      std::swap(order[i - 1], order[x % i]);
    }
  }

  std::vector<std::unique_ptr<BlockRun>> pool;
  std::vector<BlockRun*> idle;
  std::deque<BlockRun*> live;      // front runs next
  std::vector<BlockRun*> at_grid;  // wait for a grid barrier
  uint64_t next = 0, exited = 0;
  Sampler* const sampler = st.sampler;
  const auto more = [&] { return sampler != nullptr ? sampler->More() : next < total; };
  auto start = [&]() {
    if (idle.empty()) {
      pool.push_back(std::make_unique<BlockRun>(st));
      idle.push_back(pool.back().get());
    }
    BlockRun* b = idle.back();
    idle.pop_back();
    if (sampler != nullptr)
      b->Start(sampler->Take());
    else
      b->Start(order.empty() ? next : order[next]);
    ++next;
    ++st.result.blocks;
    live.push_front(b);
  };
  int slices = 0;
  while (!st.stop) {
    if (live.empty()) {
      if (at_grid.size() < resident && more()) {
        start();
      } else if (!at_grid.empty()) {
        if (exited > 0) {
          Finding f;
          f.kind = Finding::Kind::kDeadlock;
          f.message = std::to_string(exited) +
                      " blocks returned while the others wait at a grid-wide barrier";
          st.Report(std::move(f), at_grid.front()->GridLine(), 0);
          break;
        }
        uint32_t tick = 0;
        for (BlockRun* b : at_grid) tick = std::max(tick, b->sync().tick);
        for (BlockRun* b : at_grid) {
          b->sync().tick = b->sync().barrier_tick = tick + 1;
          b->ReleaseGrid();
          live.push_back(b);
        }
        if (st.shadow != nullptr) st.shadow->grid_tick = tick + 1;
        st.last_effect = st.result.dispatches;
        at_grid.clear();
      } else {
        break;
      }
    }
    if (sampler != nullptr && sampler->Stopped()) break;
    if (st.result.dispatches >= options.max_dispatches) {
      Finding f;
      f.kind = Finding::Kind::kTimeout;
      f.message = "the launch executed " + std::to_string(st.result.dispatches) +
                  " block instructions without ending; is there an endless loop?";
      st.Report(std::move(f), live.front()->SpinLine(), 0);
      break;
    }
    BlockRun* b = live.front();
    uint64_t polls_before = st.polls;
    RunStatus status = b->Run(std::min(kSlice, options.max_dispatches - st.result.dispatches));
    if (status == RunStatus::kDone) {
      if (sampler != nullptr) sampler->Ended(b->linear(), b->given_up() || st.stop, b->log());
      live.pop_front();
      idle.push_back(b);
      ++exited;
      slices = 0;
      st.last_effect = st.result.dispatches;
      continue;
    }
    if (status == RunStatus::kGridWait) {
      live.pop_front();
      at_grid.push_back(b);
      slices = 0;
      continue;
    }
    bool polling = st.polls > polls_before + 64;
    if (polling && st.result.dispatches - st.last_effect > options.spin_dispatches) {
      Finding f;
      f.kind = Finding::Kind::kDeadlock;
      f.message =
          "threads poll here for something that no running thread will ever write" +
          std::string(next < total ? "; blocks that have not started cannot start before these end"
                                   : "");
      st.Report(std::move(f), st.poll_line, 0);
      break;
    }
    if (!polling && ++slices < kSlicesWithoutPolling) continue;
    slices = 0;
    live.pop_front();
    live.push_back(b);
    if (live.size() + at_grid.size() < resident && more()) start();
  }
  if (sampler != nullptr) {
    for (BlockRun* b : at_grid) sampler->Ended(b->linear(), true, b->log());
    for (BlockRun* b : live) sampler->Ended(b->linear(), true, b->log());
  }
  if (st.shadow != nullptr) {
    st.result.shadow_limited = st.shadow->limited();
    uint32_t last_tick = 0;
    for (const auto& b : pool) last_tick = std::max(last_tick, b->sync().tick);
    st.shadow->EndLaunch(last_tick);
  }
}

}  // namespace

LaunchResult Program::Launch(std::string_view kernel, Dim3 grid, Dim3 block, size_t dynamic_shared,
                             std::span<const uint8_t> params, const LaunchOptions& options) {
  int index = KernelIndex(kernel);
  if (index >= 0)
    return Launch(static_cast<uint32_t>(index), grid, block, dynamic_shared, params, options);
  LaunchResult result;
  Finding f;
  f.kind = Finding::Kind::kLaunchInvalid;
  f.message = "the module has no kernel named " + std::string(kernel);
  result.findings.push_back(std::move(f));
  return result;
}

LaunchResult Program::Launch(uint32_t kernel, Dim3 grid, Dim3 block, size_t dynamic_shared,
                             std::span<const uint8_t> params, const LaunchOptions& options) {
  const DefaultFloatMode mode;
  const isa::Module& m = decoded_->module;
  LaunchState st;
  st.options = &options;
  st.memory = memory_;
  st.module = decoded_.get();
  auto refuse = [&](std::string message) {
    Finding f;
    f.kind = Finding::Kind::kLaunchInvalid;
    f.message = std::move(message);
    if (kernel < m.functions.size()) f.kernel = m.functions[kernel].pretty;
    st.result.findings.push_back(std::move(f));
    return std::move(st.result);
  };
  if (kernel >= m.functions.size() || !m.functions[kernel].is_kernel) {
    return refuse("function " + std::to_string(kernel) + " of the module is not a kernel");
  }
  const isa::Function& fn = m.functions[kernel];
  const DFunction& kernel_fn = decoded_->functions[kernel];
  st.kernel = kernel;
  st.width = static_cast<int>(options.warp_width);
  if (st.width != 32 && st.width != 64 && st.width != 128) {
    return refuse("warp width " + std::to_string(st.width) + " is none of 32, 64, 128");
  }
  uint64_t threads = uint64_t{block.x} * block.y;
  threads = block.z != 0 && threads > 65536 / block.z ? 65536 : threads * block.z;
  uint64_t max_threads = std::min(options.max_threads_per_block, 1024u);
  if (threads == 0 || threads > max_threads || block.z > 64) {
    return refuse("block of " + std::to_string(block.x) + " x " + std::to_string(block.y) + " x " +
                  std::to_string(block.z) + " threads: 1 to " + std::to_string(max_threads) +
                  " are possible (z at most 64)");
  }
  if (fn.max_threads != 0 && threads > fn.max_threads) {
    return refuse("block of " + std::to_string(threads) +
                  " threads is larger than the kernel's __launch_bounds__(" +
                  std::to_string(fn.max_threads) + ")");
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu ||
      grid.y > options.max_grid_y || grid.z > options.max_grid_z) {
    return refuse("grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                  std::to_string(grid.z) + " blocks: each extent must be at least 1, y at most " +
                  std::to_string(options.max_grid_y) + ", z at most " +
                  std::to_string(options.max_grid_z));
  }
  size_t needed = 0;
  for (const isa::Param& p : fn.params)
    needed = std::max<size_t>(needed, size_t{p.offset} + p.bytes);
  if (params.size() < needed) {
    return refuse("parameter block has " + std::to_string(params.size()) +
                  " bytes, the kernel needs " + std::to_string(needed));
  }
  st.grid[0] = grid.x, st.grid[1] = grid.y, st.grid[2] = grid.z;
  st.block[0] = block.x, st.block[1] = block.y, st.block[2] = block.z;
  st.n = static_cast<int>(threads);
  st.warps = (st.n + st.width - 1) / st.width;
  st.grid_id = ++launches_;
  uint64_t all_blocks = uint64_t{grid.x} * grid.y;  // below 2^47
  all_blocks *= grid.z;
  uint64_t total = options.block_filter.empty() ? all_blocks : options.block_filter.size();
  for (uint64_t id : options.block_filter) {
    if (id >= all_blocks)
      return refuse("block filter names block " + std::to_string(id) + " of " +
                    std::to_string(all_blocks));
  }
  uint64_t resident = std::max<uint64_t>(options.resident_blocks, 1);
  if (options.cooperative && total > resident) {
    return refuse("cooperative launch of " + std::to_string(total) + " blocks, but only " +
                  std::to_string(resident) + " can be resident at once");
  }

  // Shared memory: what counts towards the limit has no gaps, what is laid out has.
  st.shared.resize(m.shared.size());
  uint64_t counted = dynamic_shared, at = 0, dynamic_align = 16;
  for (uint32_t index : fn.shared) {
    const isa::SharedVar& v = m.shared[index];
    uint64_t align = std::clamp<uint64_t>(v.align, 1, 1024);
    if (v.dynamic) {
      dynamic_align = std::max(dynamic_align, align);
      continue;
    }
    counted += v.bytes;
    at = (at + align - 1) & ~(align - 1);
    st.shared[index] = {static_cast<uint32_t>(at), v.bytes};
    at += v.bytes + kSharedGap;
    if (at > (1u << 28)) break;
  }
  uint64_t limit =
      options.shared_opt_in ? options.shared_bytes_opt_in : options.shared_bytes_per_block;
  if (counted > limit) {
    return refuse(std::to_string(counted) + " bytes of shared memory (" +
                  std::to_string(dynamic_shared) + " dynamic), the limit is " +
                  std::to_string(limit) +
                  (options.shared_opt_in ? ""
                                         : "; more needs cudaFuncSetAttribute with "
                                           "cudaFuncAttributeMaxDynamicSharedMemorySize"));
  }
  at = (at + dynamic_align - 1) & ~(dynamic_align - 1);
  for (uint32_t index : fn.shared) {
    if (m.shared[index].dynamic)
      st.shared[index] = {static_cast<uint32_t>(at), static_cast<uint32_t>(dynamic_shared)};
  }
  st.shared_bytes = static_cast<uint32_t>((at + dynamic_shared + 63) & ~uint64_t{63});
  st.dynamic_shared = static_cast<uint32_t>(dynamic_shared);

  for (auto& v : st.special) v.resize(threads + 64);
  for (int t = 0; t < st.n; ++t) {
    auto u = static_cast<uint32_t>(t);
    auto k = static_cast<size_t>(t);
    st.special[0][k] = static_cast<int32_t>(u % block.x);
    st.special[1][k] = static_cast<int32_t>(u / block.x % block.y);
    st.special[2][k] = static_cast<int32_t>(u / block.x / block.y);
    st.special[3][k] = t % st.width;
    st.special[4][k] = t / st.width;
  }
  st.params.assign(params.begin(), params.end());
  st.params.resize(params.size() + 64);
  st.params_bytes = params.size();
  std::vector<uint8_t> read_only, written;
  auto mark = [](std::vector<uint8_t>& list, uint32_t id) {
    if (id >= list.size()) list.resize(id + 1);
    list[id] = 1;
  };
  for (const isa::Param& p : fn.params) {
    uint32_t id = 0;
    if (p.is_pointer && p.bytes == 8) {
      uint64_t value = 0;
      std::memcpy(&value, params.data() + p.offset, 8);
      id = memory_->IdOf(value);
      bool loaded = p.read_only || kernel_fn.param_loaded[st.param_provenance.size()] != 0;
      if (id != 0) mark(loaded ? read_only : written, id);
    }
    st.param_provenance.push_back(id);
  }
  if (options.sanitize) {
    shadow_->BeginLaunch(*memory_);
    st.shadow = shadow_.get();
    for (size_t i = 0; i < read_only.size() && i < written.size(); ++i) {
      if (written[i]) read_only[i] = 0;
    }
    for (size_t i = 0; i < m.globals.size(); ++i) {
      if (m.globals[i].space == isa::Space::kConstant)
        mark(read_only, memory_->IdOf(decoded_->global_address[i]));
    }
    st.shadow->read_only = std::move(read_only);
  }

  st.layouts.resize(m.functions.size());
  for (uint32_t i : kernel_fn.reachable) {
    st.layouts[i] = LayOut(m.functions[i], threads);
    if (st.layouts[i].bytes > (1u << 31)) {
      return refuse("function " + m.functions[i].pretty + " needs " +
                    std::to_string(st.layouts[i].bytes) +
                    " bytes of registers for a block; use smaller blocks");
    }
  }
  st.stack_bytes = static_cast<uint32_t>(kernel_fn.stack_need);
  std::optional<LaunchCounter> counter;
  if (options.counting != nullptr) {
    counter.emplace(*options.counting, m, kernel, kernel_fn.reachable);
    st.counter = &*counter;
    LaunchCount& info = counter->info();
    std::copy(st.grid, st.grid + 3, info.grid);
    std::copy(st.block, st.block + 3, info.block);
    info.warp_width = options.warp_width;
    info.warps_per_block = static_cast<uint32_t>(st.warps);
    info.static_shared_bytes = counted - dynamic_shared;
    info.dynamic_shared_bytes = dynamic_shared;
  }
  std::optional<Sampler> sampler;
  if (options.sampling.on && options.block_filter.empty()) {
    sampler.emplace(st, total);
    st.sampler = &*sampler;
  }
  RunBlocks(st, total, resident);
  if (sampler.has_value()) sampler->Finish();
  if (counter.has_value()) {
    counter->info().blocks = st.result.blocks;
    counter->Finish();
  }
  st.result.ok = st.result.findings.empty();
  return std::move(st.result);
}

}  // namespace kuafu::simt
