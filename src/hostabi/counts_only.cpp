// SPDX-License-Identifier: Apache-2.0
// Launches of which only the counters are wanted: a few blocks of each, and none of one that is
// like an earlier one.
#include <algorithm>
#include <cstring>

#include "hostabi/session.h"

namespace kuafu::hostabi {
namespace {

constexpr uint64_t kLanesWhole = 40'000'000;  // a launch that costs no more is executed whole
constexpr uint64_t kLanesMax = 2'000'000'000;
constexpr size_t kWorkMax = 32768;
// Launches of one configuration whose numbers differ (a loop on the host); later ones are taken to
// be like the last.
constexpr size_t kVariantsMax = 4;
constexpr size_t kLaunchesCountedMax = 256;

}  // namespace

void Session::AddWork(Work work) {
  if (options_.counts_only && work_.size() < kWorkMax) work_.push_back(work);
}

int Session::LaunchForCounts(const Call& call) {
  const isa::Function& kernel = call.kernel->function();
  const auto append = [](std::string& key, const void* bytes, size_t count) {
    key.append(static_cast<const char*>(bytes), count);
  };
  std::string shape = kernel.name;
  append(shape, &call.grid, sizeof call.grid);
  append(shape, &call.block, sizeof call.block);
  append(shape, &call.shared_bytes, sizeof call.shared_bytes);
  std::string key = shape;
  for (const isa::Param& p : kernel.params) {
    if (!p.is_pointer) append(key, call.params.data() + p.offset, p.bytes);
  }
  auto same = counted_.find(key);
  size_t& variants = counted_shapes_[shape];
  if (same == counted_.end() && variants >= kVariantsMax) same = counted_.find(shape);
  if (same != counted_.end()) {
    AddWork({.kind = Work::Kind::kLaunch, .launch = same->second, .bytes = 0});
    return kSuccess;
  }
  const size_t number = counting_->launches().size();
  if (number >= kLaunchesCountedMax) {
    if (blind_.empty()) blind_ = "it launches too many different kernels";
    return kSuccess;
  }
  simt::LaunchOptions options = call.options;
  options.sanitize = false;
  options.order_seed = 0;
  options.sampling = {.on = true,
                      .seed = options_.order_seed,
                      .lanes_whole = kLanesWhole,
                      .lanes_max = kLanesMax,
                      .counts_only = true};
  simt::LaunchResult result =
      call.kernel->program->Launch(static_cast<uint32_t>(call.kernel->index), call.grid, call.block,
                                   call.shared_bytes, call.params, options);
  if (result.sampling.too_costly && blind_.empty())
    blind_ = "its kernel " + kernel.pretty + " costs too much to follow";
  const int error = Account(std::move(result));
  if (counting_->launches().size() == number) return error;  // it was refused
  ++variants;
  counted_[key] = counted_[shape] = number;
  AddWork({.kind = Work::Kind::kLaunch, .launch = number, .bytes = 0});
  return error;
}

}  // namespace kuafu::hostabi
