// SPDX-License-Identifier: Apache-2.0
#include "torchext/origins.h"

namespace kuafu::torchext {

void Origins::Begin() {
  origins_.clear();
  operators_.clear();
  for (uint32_t id = 1; const simt::Allocation* a = session_.memory().Get(id); ++id) {
    if (a->live) origins_[id] = kState;
  }
}

uint8_t Origins::Of(uint32_t id) const {
  const auto it = origins_.find(id);
  return it == origins_.end() ? uint8_t{0} : it->second;
}

std::string Origins::OperatorOf(uint32_t id) const {
  const auto it = operators_.find(id);
  return it == operators_.end() ? std::string() : it->second;
}

uint8_t Origins::Union(const std::vector<uint32_t>& ids) const {
  uint8_t all = 0;
  for (const uint32_t id : ids) all |= Of(id);
  return all;
}

void Origins::Launched(const std::vector<uint32_t>& read, const std::vector<uint32_t>& written) {
  const uint8_t sources = Union(read);
  const bool derived = (sources & (kState | kKernel)) != 0;
  const auto origin =
      static_cast<uint8_t>((derived ? kKernel : kKernelConstant) | (sources & (kOperator | kHost)));
  for (const uint32_t id : written) {
    origins_[id] |= origin;
    if ((sources & kOperator) == 0) continue;
    for (const uint32_t from : read) {
      if (const auto it = operators_.find(from); it != operators_.end())
        operators_.try_emplace(id, it->second);
    }
  }
}

void Origins::Copied(uint32_t to, uint32_t from) {
  origins_[to] |= from == 0 ? uint8_t{kHost} : Of(from);
  if (const std::string name = OperatorOf(from); !name.empty()) operators_.try_emplace(to, name);
}

void Origins::Filled(uint32_t to) { origins_[to] |= kConstant; }

void Origins::Operated(const std::vector<uint32_t>& read, const std::vector<uint32_t>& written,
                       const std::string& name) {
  const uint8_t origin = kOperator | Union(read);
  for (const uint32_t id : written) {
    origins_[id] |= origin;
    operators_.try_emplace(id, name);
  }
}

std::vector<std::string> Origins::Names(uint8_t origins) {
  static constexpr struct {
    Origin origin;
    const char* name;
  } kNames[] = {{kState, "state"},       {kConstant, "constant"},
                {kKernel, "kernel"},     {kKernelConstant, "kernel_constant"},
                {kOperator, "operator"}, {kHost, "host"}};
  std::vector<std::string> names;
  for (const auto& row : kNames) {
    if ((origins & row.origin) != 0) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace kuafu::torchext
