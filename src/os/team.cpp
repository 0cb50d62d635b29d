// SPDX-License-Identifier: Apache-2.0
#include "os/team.h"

#include <algorithm>

namespace kuafu::os {
namespace {

// About 50 us. Longer, a member would take the processor from others for nothing; shorter, every
// operator of a model would wait for a wake-up, which takes as long.
constexpr int kSpins = 4000;

inline void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Until `value` is no longer `old`.
void AwaitChange(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    Relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Team::Team(int members) {
  for (int i = 1; i < std::max(members, 1); ++i) threads_.emplace_back([this, i] { Work(i); });
}

Team::~Team() {
  stopping_ = true;
  region_.fetch_add(1, std::memory_order_release);
  region_.notify_all();
}

void Team::Work(int member) {
  uint32_t seen = 0;
  for (;;) {
    AwaitChange(region_, seen);
    ++seen;
    if (stopping_) return;
    call_(body_, member);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void Team::RunErased(Call call, const void* body) {
  if (!threads_.empty()) {
    call_ = call;
    body_ = body;
    busy_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
    region_.fetch_add(1, std::memory_order_release);
    region_.notify_all();  // costs nothing while nobody sleeps
  }
  call(body, 0);
  for (uint32_t busy; (busy = busy_.load(std::memory_order_acquire)) != 0;)
    AwaitChange(busy_, busy);
}

}  // namespace kuafu::os
