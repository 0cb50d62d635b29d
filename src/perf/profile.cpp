// SPDX-License-Identifier: Apache-2.0
// From counters to profiles, and their JSON. Every group says what kind of figures it has.
#include "perf/profile.h"

#include <algorithm>

namespace kuafu::perf {
namespace {

using simt::Count;
using simt::MemoryCount;

constexpr size_t kLinesMax = 32;

Json Ratio(uint64_t value, uint64_t of) {
  if (of == 0) return Json();
  return static_cast<double>(value) / static_cast<double>(of);
}

Json MemoryJson(const MemoryCount& m) {
  return {{"requests", m.requests},
          {"sectors", m.sectors},
          {"transactions", m.lines},
          {"sectors_per_request", Ratio(m.sectors, m.requests)},
          {"transactions_per_request", Ratio(m.lines, m.requests)},
          {"bytes_requested", m.bytes},
          {"bytes_moved", m.sectors * 32}};
}

Json CountJson(const Count& c) {
  Json json = {{"warp_instructions", c.warps},
               {"thread_instructions", c.lanes},
               {"active_threads_per_warp", Ratio(c.lanes, c.warps)}};
  if (c.branches > 0) json["branches"] = {{"warps", c.branches}, {"diverged", c.diverged}};
  if (c.load.requests > 0) json["global_load"] = MemoryJson(c.load);
  if (c.store.requests > 0) json["global_store"] = MemoryJson(c.store);
  if (c.atomic.requests > 0) {
    json["global_atomic"] = MemoryJson(c.atomic);
    json["global_atomic"]["serial_steps"] = c.atomic_serial;
  }
  if (c.shared_requests > 0) {
    json["shared"] = {{"requests", c.shared_requests},
                      {"wavefronts", c.shared_passes},
                      {"wavefronts_per_request", Ratio(c.shared_passes, c.shared_requests)},
                      {"bank_conflicts", c.shared_passes - c.shared_passes_ideal}};
  }
  if (c.local_requests > 0) json["local_requests"] = c.local_requests;
  if (c.constant_requests > 0) json["constant_requests"] = c.constant_requests;
  if (c.barriers > 0) json["barriers"] = c.barriers;
  return json;
}

Json ModelJson(const Count& c) {
  return {{"label", "modelled"},
          {"l1_hit_rate", Ratio(c.load.l1_hits, c.load.sectors)},
          {"l2_hit_rate", Ratio(c.load.l2_hits, c.load.sectors - c.load.l1_hits)},
          {"l2_bytes", (c.load.sectors - c.load.l1_hits + c.store.sectors + c.atomic.sectors) * 32},
          {"dram_read_bytes", c.load.dram * 32},
          {"dram_write_bytes", c.store.dram * 32},
          {"dram_atomic_bytes", c.atomic.dram * 32},
          {"stall_clocks", c.stall},
          {"long_stall_clocks", c.stall_long},
          {"barrier_wait_clocks", c.barrier_wait}};
}

}  // namespace

std::vector<KernelProfile> Profiles(const device::Profile& profile,
                                    const std::vector<simt::LaunchCount>& merged) {
  std::vector<KernelProfile> kernels;
  for (const simt::LaunchCount& count : merged) {
    KernelProfile kernel;
    kernel.count = count;
    kernel.occupancy = device::FindOccupancy(
        profile, {.threads = count.block[0] * count.block[1] * count.block[2],
                  .registers = count.registers,
                  .shared_bytes = count.static_shared_bytes + count.dynamic_shared_bytes});
    kernel.bounds = FindBounds(profile, count, kernel.occupancy);
    kernel.time = ModelTime(profile, count, kernel.occupancy, TimeConstants());
    // A kernel that does nothing with what binds is told by its instructions.
    Resource by = kernel.bounds.binds;
    double total = UseOf(by, count.total);
    if (total <= 0) {
      by = Resource::kIssue;
      total = UseOf(by, count.total);
    }
    for (const simt::LineCount& line : count.lines) {
      const double use = UseOf(by, line.count);
      if (use <= 0 || total <= 0) continue;
      kernel.lines.push_back({line.file, line.line.line, use / total, line.count});
    }
    std::stable_sort(kernel.lines.begin(), kernel.lines.end(),
                     [](const LineShare& a, const LineShare& b) { return a.share > b.share; });
    if (kernel.lines.size() > kLinesMax) kernel.lines.resize(kLinesMax);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Json ToJson(const KernelProfile& kernel) {
  const simt::LaunchCount& c = kernel.count;
  const device::Occupancy& o = kernel.occupancy;
  Json assumed = Json::array();
  for (const std::string_view figure : o.assumed) assumed.push_back(std::string(figure));
  Json classes = Json::object();
  for (int i = 0; i < simt::kInstClassCount; ++i) {
    const uint64_t warps = c.warps_by_class[static_cast<size_t>(i)];
    if (warps > 0) classes[std::string(InstClassName(static_cast<simt::InstClass>(i)))] = warps;
  }
  Json bounds = {{"label", "modelled"}};
  for (int i = 0; i < kResourceCount; ++i) {
    const double us = kernel.bounds.us[static_cast<size_t>(i)];
    bounds[std::string(ResourceName(static_cast<Resource>(i)))] = us < 0 ? Json() : Json(us);
  }
  bounds["binds"] =
      kernel.bounds.known ? Json(std::string(ResourceName(kernel.bounds.binds))) : Json();
  Json lines = Json::array();
  for (const LineShare& line : kernel.lines) {
    lines.push_back({{"file", line.file},
                     {"line", line.line},
                     {"share", line.share},
                     {"counted", CountJson(line.count)},
                     {"modelled", ModelJson(line.count)}});
  }
  return {{"kernel", c.kernel},
          {"launches", c.launches},
          {"grid", {c.grid[0], c.grid[1], c.grid[2]}},
          {"block", {c.block[0], c.block[1], c.block[2]}},
          {"warp_width", c.warp_width},
          {"warps_per_block", c.warps_per_block},
          {"blocks", c.blocks},
          {"shared_bytes_per_block",
           {{"static", c.static_shared_bytes}, {"dynamic", c.dynamic_shared_bytes}}},
          {"registers_per_thread", {{"label", "estimated"}, {"value", c.registers}}},
          {"occupancy",
           {{"label", "modelled"},
            {"theoretical", o.theoretical()},
            {"blocks_per_sm", o.blocks_per_sm},
            {"warps_per_sm", o.warps_per_sm},
            {"limited_by", std::string(o.limiter)},
            {"assumed_figures", std::move(assumed)}}},
          {"counted", CountJson(c.total)},
          {"warp_instructions_by_class", std::move(classes)},
          {"atomics_to_hottest_address", c.atomic_hottest},
          {"atomics_to_hottest_address_exact", !c.contended_limited},
          {"modelled", ModelJson(c.total)},
          {"critical_path",
           {{"label", "modelled"},
            {"clocks_max", c.critical_path_max},
            {"clocks_mean", Ratio(c.critical_path_sum, c.blocks)},
            {"clocks_between_barriers_max", c.stretch_max}}},
          {"bounds_us", std::move(bounds)},
          {"time", ToJson(kernel.time, TimeConstants())},
          {"lines", std::move(lines)}};
}

}  // namespace kuafu::perf
