// SPDX-License-Identifier: Apache-2.0
// A profile as text: one fact a line, its label behind it where it was not counted.
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "perf/profile.h"

namespace kuafu::perf {
namespace {

constexpr size_t kLinesShown = 6;
constexpr double kShareShown = 0.01;
constexpr int kNameColumns = 34;

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string Significant(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3g", value);
  return value < 1000 ? text : Fixed(value, 0);
}

std::string Percent(uint64_t value, uint64_t of) {
  return of == 0 ? "-"
                 : Fixed(100.0 * static_cast<double>(value) / static_cast<double>(of), 1) + " %";
}

std::string Per(uint64_t value, uint64_t of) {
  return of == 0 ? "-" : Fixed(static_cast<double>(value) / static_cast<double>(of), 2);
}

std::string Bytes(uint64_t sectors) { return FormatBytes(static_cast<int64_t>(sectors * 32)); }

class Page {
 public:
  void Row(std::string_view name, const std::string& value, std::string_view label = {}) {
    text += "  " + std::string(name);
    text.append(static_cast<size_t>(std::max(1, kNameColumns - static_cast<int>(name.size()))),
                ' ');
    text += value;
    if (!label.empty()) text += "  (" + std::string(label) + ")";
    text += "\n";
  }
  std::string text;
};

void MemoryRows(Page& page, const char* what, const simt::MemoryCount& m) {
  if (m.requests == 0) return;
  const std::string name(what);
  page.Row(name + " sectors/request", Per(m.sectors, m.requests) + ", transactions/request " +
                                          Per(m.lines, m.requests) + ", " +
                                          std::to_string(m.requests) + " requests");
  page.Row(name + " bytes used",
           Percent(m.bytes, m.sectors * 32) + " of " + Bytes(m.sectors) + " moved");
}

// What is remarkable about a line.
std::string Remark(const simt::Count& c) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [name, m] :
       {std::pair{"load", &c.load}, std::pair{"store", &c.store}, std::pair{"atomic", &c.atomic}}) {
    if (m->requests > 0)
      add(std::string(name) + " " + Per(m->sectors, m->requests) + " sectors/request");
  }
  if (c.atomic_serial > c.atomic.requests)
    add(Per(c.atomic_serial, c.atomic.requests) + " lanes to one address");
  if (c.shared_passes > c.shared_passes_ideal)
    add(std::to_string(c.shared_passes - c.shared_passes_ideal) + " shared bank conflicts");
  else if (c.shared_requests > 0)
    add("shared, no bank conflicts");
  if (c.diverged > 0) add(Percent(c.diverged, c.branches) + " of branches diverged");
  if (c.barriers > 0) add(std::to_string(c.barriers) + " barriers");
  return text;
}

std::string Extent(const uint32_t (&e)[3]) {
  return std::to_string(e[0]) + " x " + std::to_string(e[1]) + " x " + std::to_string(e[2]);
}

}  // namespace

std::string Text(const device::Profile& profile, const KernelProfile& kernel) {
  const simt::LaunchCount& c = kernel.count;
  const simt::Count& t = c.total;
  const device::Occupancy& o = kernel.occupancy;
  Page page;
  page.text = c.kernel + "\n";
  page.Row("launches", std::to_string(c.launches) + " of grid " + Extent(c.grid) + ", block " +
                           Extent(c.block) + ", " + std::to_string(c.warps_per_block) +
                           " warps of " + std::to_string(c.warp_width));
  page.Row("registers/thread", std::to_string(c.registers), "estimated");
  page.Row("shared memory/block", std::to_string(c.static_shared_bytes) + " static + " +
                                      std::to_string(c.dynamic_shared_bytes) + " dynamic bytes");
  std::string assumed;
  for (const std::string_view figure : o.assumed)
    assumed += (assumed.empty() ? "; assumed: " : ", ") + std::string(figure);
  page.Row("theoretical occupancy",
           Fixed(100 * o.theoretical(), 1) + " %, " + std::to_string(o.blocks_per_sm) +
               " blocks/SM, limited by " + std::string(o.limiter),
           "modelled" + assumed);
  page.Row("warp instructions",
           std::to_string(t.warps) + ", " + Per(t.lanes, t.warps) + " active threads/warp");
  std::string classes;
  for (int i = 0; i < simt::kInstClassCount; ++i) {
    const uint64_t warps = c.warps_by_class[static_cast<size_t>(i)];
    if (warps == 0) continue;
    classes += (classes.empty() ? "" : ", ") +
               std::string(InstClassName(static_cast<simt::InstClass>(i))) + " " +
               Percent(warps, t.warps);
  }
  page.Row("by class", classes);
  page.Row("branches diverged",
           Percent(t.diverged, t.branches) + " of " + std::to_string(t.branches));
  MemoryRows(page, "global load", t.load);
  MemoryRows(page, "global store", t.store);
  MemoryRows(page, "global atomic", t.atomic);
  if (t.atomic.requests > 0) {
    page.Row("atomic serialisation",
             Per(t.atomic_serial, t.atomic.requests) + " lanes to one address of a request, " +
                 std::to_string(c.atomic_hottest) + " operations on the hottest address",
             c.contended_limited ? "at least: there are too many addresses to follow" : "");
  }
  if (t.shared_requests > 0) {
    page.Row("shared wavefronts/request",
             Per(t.shared_passes, t.shared_requests) + ", shared bank conflicts " +
                 std::to_string(t.shared_passes - t.shared_passes_ideal));
  }
  if (t.local_requests > 0)
    page.Row("local memory requests", std::to_string(t.local_requests),
             "a compiler may keep some in registers");
  if (t.barriers > 0)
    page.Row("barriers",
             Per(t.barriers, c.blocks) + " a block, longest stretch between them " +
                 std::to_string(c.stretch_max) + " clocks",
             "clocks modelled");
  page.Row("critical path of a block",
           Per(c.critical_path_sum, c.blocks) + " clocks on average, " +
               std::to_string(c.critical_path_max) + " at most",
           "modelled");
  if (t.load.sectors > 0) {
    page.Row("L1 hit rate", Percent(t.load.l1_hits, t.load.sectors), "modelled");
    page.Row("L2 hit rate", Percent(t.load.l2_hits, t.load.sectors - t.load.l1_hits), "modelled");
  }
  page.Row("DRAM read, write", Bytes(t.load.dram) + ", " + Bytes(t.store.dram + t.atomic.dram),
           "modelled");
  const KernelTime& time = kernel.time;
  page.Row("time of a launch",
           Significant(time.us) + " us, a factor of " + Fixed(time.uncertainty, 2) +
               " either way; most of it: " + std::string(CostName(time.binds)),
           time.guesses.empty() ? "modelled" : "modelled, on guessed figures of this GPU");
  if (c.launches > 1)
    page.Row("time of all launches", Significant(time.us_all) + " us", "modelled");
  page.Row("waves of blocks",
           Fixed(time.waves, 2) + ", SM time without a block " + Fixed(100 * time.tail, 1) + " %",
           "modelled");
  std::string guesses;
  for (const std::string& guess : time.guesses) guesses += (guesses.empty() ? "" : "; ") + guess;
  if (!guesses.empty()) page.Row("guessed figures", guesses);
  std::string bounds;
  for (int i = 0; i < kResourceCount; ++i) {
    const double us = kernel.bounds.us[static_cast<size_t>(i)];
    bounds += (bounds.empty() ? "" : ", ") + std::string(ResourceName(static_cast<Resource>(i))) +
              " " + (us < 0 ? "unknown" : Fixed(us, 2));
  }
  page.Row("at least, in us", bounds, "modelled");
  page.Row("largest bound",
           kernel.bounds.known ? std::string(ResourceName(kernel.bounds.binds))
                               : "unknown: no figures of " + std::string(profile.title),
           "modelled");
  if (!kernel.lines.empty()) {
    page.text += "  lines with most of it:\n";
    for (size_t i = 0; i < std::min(kernel.lines.size(), kLinesShown); ++i) {
      const LineShare& line = kernel.lines[i];
      if (line.share < kShareShown) break;
      const std::string place =
          line.file.empty() ? "(no line)" : line.file + ":" + std::to_string(line.line);
      page.text +=
          "    " + Fixed(100 * line.share, 1) + " %  " + place + "  " + Remark(line.count) + "\n";
    }
  }
  return page.text;
}

}  // namespace kuafu::perf
