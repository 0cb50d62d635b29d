// SPDX-License-Identifier: Apache-2.0
// See counters_json.h. Fields are listed once, for writing and reading.
#include "simt/counters_json.h"

#include <algorithm>
#include <iterator>

namespace kuafu::simt {
namespace {

struct MemoryField {
  const char* name;
  uint64_t MemoryCount::* field;
};
constexpr MemoryField kMemoryFields[] = {
    {"requests", &MemoryCount::requests}, {"sectors", &MemoryCount::sectors},
    {"lines", &MemoryCount::lines},       {"bytes", &MemoryCount::bytes},
    {"l1_hits", &MemoryCount::l1_hits},   {"l2_hits", &MemoryCount::l2_hits},
    {"dram", &MemoryCount::dram},
};
struct CountField {
  const char* name;
  uint64_t Count::* field;
};
constexpr CountField kCountFields[] = {
    {"warps", &Count::warps},
    {"lanes", &Count::lanes},
    {"branches", &Count::branches},
    {"diverged", &Count::diverged},
    {"atomic_serial", &Count::atomic_serial},
    {"shared_requests", &Count::shared_requests},
    {"shared_passes", &Count::shared_passes},
    {"shared_passes_ideal", &Count::shared_passes_ideal},
    {"shared_bytes", &Count::shared_bytes},
    {"local_requests", &Count::local_requests},
    {"constant_requests", &Count::constant_requests},
    {"barriers", &Count::barriers},
    {"barrier_wait", &Count::barrier_wait},
    {"stall", &Count::stall},
    {"stall_long", &Count::stall_long},
};
struct MemoryPart {
  const char* name;
  MemoryCount Count::* part;
};
constexpr MemoryPart kMemoryParts[] = {
    {"load", &Count::load}, {"store", &Count::store}, {"atomic", &Count::atomic}};
struct LaunchField {
  const char* name;
  uint64_t LaunchCount::* field;
};
constexpr LaunchField kLaunchFields[] = {
    {"launches", &LaunchCount::launches},
    {"static_shared_bytes", &LaunchCount::static_shared_bytes},
    {"dynamic_shared_bytes", &LaunchCount::dynamic_shared_bytes},
    {"blocks", &LaunchCount::blocks},
    {"critical_path_sum", &LaunchCount::critical_path_sum},
    {"critical_path_max", &LaunchCount::critical_path_max},
    {"stretch_max", &LaunchCount::stretch_max},
    {"memory_bytes", &LaunchCount::memory_bytes},
    {"atomic_hottest", &LaunchCount::atomic_hottest},
};
struct SmallField {
  const char* name;
  uint32_t LaunchCount::* field;
};
constexpr SmallField kSmallFields[] = {{"warp_width", &LaunchCount::warp_width},
                                       {"warps_per_block", &LaunchCount::warps_per_block},
                                       {"registers", &LaunchCount::registers}};

constexpr size_t kNameCharsMax = 4096;

// Zeros are left out.
Json ToJson(const Count& count) {
  Json json = Json::object();
  for (const CountField& f : kCountFields) {
    if (count.*f.field != 0) json[f.name] = count.*f.field;
  }
  for (const MemoryPart& part : kMemoryParts) {
    const MemoryCount& memory = count.*part.part;
    if (memory.requests == 0) continue;
    Json& out = json[part.name];
    for (const MemoryField& f : kMemoryFields) {
      if (memory.*f.field != 0) out[f.name] = memory.*f.field;
    }
  }
  return json;
}

Error Corrupt(const std::string& what) {
  return Error{Code::kCorrupt, "reading counters: " + what};
}

// Absent is 0.
template <class T>
Status Read(const Json& json, const char* name, T* value) {
  const Json* field = JsonFind(json, name);
  if (field == nullptr) return OkStatus();
  if (!field->is_number_unsigned()) return Corrupt(std::string(name) + " is no count");
  const auto number = field->get<uint64_t>();
  *value = static_cast<T>(number);
  if (*value != number) return Corrupt(std::string(name) + " is too large");
  return OkStatus();
}

Status Read(const Json& json, Count* count) {
  for (const CountField& f : kCountFields) {
    KUAFU_TRY_STATUS(Read(json, f.name, &(count->*f.field)));
  }
  for (const MemoryPart& part : kMemoryParts) {
    const Json* memory = JsonFind(json, part.name);
    if (memory == nullptr) continue;
    for (const MemoryField& f : kMemoryFields) {
      KUAFU_TRY_STATUS(Read(*memory, f.name, &(count->*part.part.*f.field)));
    }
  }
  return OkStatus();
}

Status ReadExtent(const Json& json, const char* name, uint32_t (&extent)[3]) {
  const Json* list = JsonFind(json, name);
  if (list == nullptr || !list->is_array() || list->size() != 3)
    return Corrupt(std::string(name) + " is no list of three");
  for (size_t i = 0; i < 3; ++i) {
    if (!(*list)[i].is_number_unsigned()) return Corrupt(std::string(name) + " is no extent");
    extent[i] = (*list)[i].get<uint32_t>();
  }
  return OkStatus();
}

Result<LaunchCount> ReadLaunch(const Json& json) {
  LaunchCount launch;
  KUAFU_TRY(launch.kernel, JsonString(json, "kernel"));
  launch.kernel.resize(std::min(launch.kernel.size(), kNameCharsMax));
  KUAFU_TRY_STATUS(ReadExtent(json, "grid", launch.grid));
  KUAFU_TRY_STATUS(ReadExtent(json, "block", launch.block));
  launch.launches = 0;
  for (const LaunchField& f : kLaunchFields) {
    KUAFU_TRY_STATUS(Read(json, f.name, &(launch.*f.field)));
  }
  for (const SmallField& f : kSmallFields) {
    KUAFU_TRY_STATUS(Read(json, f.name, &(launch.*f.field)));
  }
  KUAFU_TRY(launch.contended_limited, JsonBool(json, "contended_limited"));
  const Json* classes = JsonFind(json, "classes");
  const Json* lines = JsonFind(json, "lines");
  const Json* total = JsonFind(json, "total");
  if (classes == nullptr || lines == nullptr || total == nullptr || !lines->is_array() ||
      !classes->is_object() || !total->is_object() || lines->size() > kJsonLinesMax)
    return Corrupt("a kernel without classes, lines or total");
  for (int i = 0; i < kInstClassCount; ++i) {
    const std::string name(InstClassName(static_cast<InstClass>(i)));
    KUAFU_TRY_STATUS(Read(*classes, name.c_str(), &launch.warps_by_class[static_cast<size_t>(i)]));
  }
  KUAFU_TRY_STATUS(Read(*total, &launch.total));
  for (const Json& item : *lines) {
    LineCount line;
    KUAFU_TRY(line.file, JsonString(item, "file"));
    line.file.resize(std::min(line.file.size(), kNameCharsMax));
    KUAFU_TRY_STATUS(Read(item, "line", &line.line.line));
    const Json* count = JsonFind(item, "count");
    if (count == nullptr) return Corrupt("a line without its count");
    KUAFU_TRY_STATUS(Read(*count, &line.count));
    launch.lines.push_back(std::move(line));
  }
  return launch;
}

bool SameConfiguration(const LaunchCount& a, const LaunchCount& b) {
  return a.kernel == b.kernel && a.dynamic_shared_bytes == b.dynamic_shared_bytes &&
         a.warp_width == b.warp_width && std::equal(a.grid, a.grid + 3, b.grid) &&
         std::equal(a.block, a.block + 3, b.block);
}

void AddTo(LaunchCount& sum, const LaunchCount& launch) {
  sum.launches += launch.launches;
  sum.blocks += launch.blocks;
  sum.total.Add(launch.total);
  for (size_t i = 0; i < sum.warps_by_class.size(); ++i)
    sum.warps_by_class[i] += launch.warps_by_class[i];
  sum.critical_path_sum += launch.critical_path_sum;
  sum.critical_path_max = std::max(sum.critical_path_max, launch.critical_path_max);
  sum.stretch_max = std::max(sum.stretch_max, launch.stretch_max);
  sum.memory_bytes = std::max(sum.memory_bytes, launch.memory_bytes);
  sum.atomic_hottest = std::max(sum.atomic_hottest, launch.atomic_hottest);
  sum.contended_limited = sum.contended_limited || launch.contended_limited;
  for (const LineCount& line : launch.lines) {
    const auto it = std::find_if(sum.lines.begin(), sum.lines.end(), [&](const LineCount& other) {
      return other.line.line == line.line.line && other.file == line.file;
    });
    if (it == sum.lines.end())
      sum.lines.push_back(line);
    else
      it->count.Add(line.count);
  }
}

}  // namespace

std::vector<LaunchCount> Merge(const std::vector<LaunchCount>& launches) {
  std::vector<LaunchCount> merged;
  for (const LaunchCount& launch : launches) {
    const auto it = std::find_if(merged.begin(), merged.end(), [&](const LaunchCount& other) {
      return SameConfiguration(launch, other);
    });
    if (it == merged.end())
      merged.push_back(launch);
    else
      AddTo(*it, launch);
  }
  return merged;
}

Json CountersToJson(const std::vector<LaunchCount>& merged) {
  Json kernels = Json::array();
  for (const LaunchCount& launch : merged) {
    if (kernels.size() == kJsonKernelsMax) break;
    Json json = {{"kernel", launch.kernel.substr(0, kNameCharsMax)},
                 {"grid", {launch.grid[0], launch.grid[1], launch.grid[2]}},
                 {"block", {launch.block[0], launch.block[1], launch.block[2]}},
                 {"contended_limited", launch.contended_limited}};
    for (const LaunchField& f : kLaunchFields) json[f.name] = launch.*f.field;
    for (const SmallField& f : kSmallFields) json[f.name] = launch.*f.field;
    Json classes = Json::object();
    for (int i = 0; i < kInstClassCount; ++i) {
      const uint64_t count = launch.warps_by_class[static_cast<size_t>(i)];
      if (count != 0) classes[std::string(InstClassName(static_cast<InstClass>(i)))] = count;
    }
    json["classes"] = std::move(classes);
    json["total"] = ToJson(launch.total);
    std::vector<const LineCount*> lines;
    for (const LineCount& line : launch.lines) lines.push_back(&line);
    if (lines.size() > kJsonLinesMax) {
      std::stable_sort(lines.begin(), lines.end(), [](const LineCount* a, const LineCount* b) {
        return a->count.warps > b->count.warps;
      });
      lines.resize(kJsonLinesMax);
    }
    Json list = Json::array();
    for (const LineCount* line : lines) {
      list.push_back(
          {{"file", line->file}, {"line", line->line.line}, {"count", ToJson(line->count)}});
    }
    json["lines"] = std::move(list);
    kernels.push_back(std::move(json));
  }
  return kernels;
}

Result<std::vector<LaunchCount>> CountersFromJson(const Json& json) {
  if (!json.is_array() || json.size() > kJsonKernelsMax) return Corrupt("no list of kernels");
  std::vector<LaunchCount> launches;
  for (const Json& item : json) {
    KUAFU_TRY(LaunchCount launch, ReadLaunch(item));
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace kuafu::simt
