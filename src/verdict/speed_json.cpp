// SPDX-License-Identifier: Apache-2.0
#include "verdict/speed_json.h"

#include <cmath>
#include <cstdio>

namespace kuafu::verdict {
namespace {

struct NumberField {
  const char* name;
  double Speed::* field;
};
constexpr NumberField kNumbers[] = {
    {"kernel_ms", &Speed::kernel_ms}, {"kernel_uncertainty", &Speed::kernel_uncertainty},
    {"eager_ms", &Speed::eager_ms},   {"eager_uncertainty", &Speed::eager_uncertainty},
    {"speedup", &Speed::speedup},     {"speedup_uncertainty", &Speed::speedup_uncertainty},
    {"floor_ms", &Speed::floor_ms},
};

std::string Time(double ms) {
  char text[48];
  if (ms < 1) {
    std::snprintf(text, sizeof text, "%.3g us", ms * 1e3);
  } else {
    std::snprintf(text, sizeof text, ms < 1000 ? "%.3g ms" : "%.0f ms", ms);
  }
  return text;
}

std::string Factor(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace

Json SpeedToJson(const Speed& speed) {
  if (!speed.known && speed.why.empty()) return nullptr;
  Json json = {{"known", speed.known},     {"why", speed.why},
               {"label", speed.label},     {"sizes", speed.as_written ? "as written" : "scaled"},
               {"sampled", speed.sampled}, {"kernel", speed.kernel},
               {"binds", speed.binds}};
  for (const NumberField& f : kNumbers) {
    const double value = speed.*f.field;
    json[f.name] = speed.known && std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  return json;
}

Result<Speed> SpeedFromJson(const Json& json) {
  Speed speed;
  KUAFU_TRY(speed.known, JsonBool(json, "known"));
  KUAFU_TRY(speed.why, JsonString(json, "why"));
  KUAFU_TRY(speed.label, JsonString(json, "label"));
  KUAFU_TRY(const std::string sizes, JsonString(json, "sizes"));
  speed.as_written = sizes == "as written";
  KUAFU_TRY(speed.sampled, JsonBool(json, "sampled"));
  KUAFU_TRY(speed.kernel, JsonString(json, "kernel"));
  KUAFU_TRY(speed.binds, JsonString(json, "binds"));
  if (!speed.known) return speed;
  for (const NumberField& f : kNumbers) {
    KUAFU_TRY(speed.*f.field, JsonNumber(json, f.name));
  }
  return speed;
}

std::string SpeedText(const Speed& speed) {
  if (!speed.known) return "not known: " + speed.why;
  std::string text = speed.label + ", " + (speed.as_written ? "sizes as written" : "scaled sizes");
  if (speed.sampled) text += ", from some of the blocks";
  text += ": " + Time(speed.kernel_ms) + " (within x" + Factor(speed.kernel_uncertainty) +
          "), most of it " + speed.binds + "; eager PyTorch " + Time(speed.eager_ms) + " (x" +
          Factor(speed.eager_uncertainty) + "); " + Factor(speed.speedup) + " times as fast (x" +
          Factor(speed.speedup_uncertainty) + ")";
  return text;
}

}  // namespace kuafu::verdict
