// SPDX-License-Identifier: Apache-2.0
#include "torchext/allocator.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" {
// glibc's own, behind the names that are replaced here.
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);

__attribute__((visibility("default"))) int kuafu_allocate_on_device = 0;
__attribute__((visibility("default"))) int kuafu_keep_freed_blocks = 0;
}

namespace kuafu::torchext {
namespace {

hostabi::Session* g_session = nullptr;
// Start addresses and sizes of the storages that PyTorch holds on the device. Never destroyed:
// free() is called until the process ends.
std::unordered_map<void*, size_t>* g_blocks = nullptr;
// Freed and kept: size -> blocks, the last freed at the end.
std::unordered_map<size_t, std::vector<void*>>* g_kept = nullptr;
bool g_changing = false;  // the set's own memory comes and goes through here as well

}  // namespace

void UseDevice(hostabi::Session* session) {
  g_blocks = new std::unordered_map<void*, size_t>;
  g_kept = new std::unordered_map<size_t, std::vector<void*>>;
  g_session = session;
}

}  // namespace kuafu::torchext

extern "C" __attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment,
                                                                     size_t size) {
  using namespace kuafu::torchext;
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  if (kuafu_allocate_on_device == 0 || g_session == nullptr) {
    void* block = __libc_memalign(alignment, size);
    if (block == nullptr) return ENOMEM;
    *out = block;
    return 0;
  }
  // What is allocated and freed meanwhile is the allocator's own.
  kuafu_allocate_on_device = 0;
  g_changing = true;
  *out = nullptr;
  if (auto kept = g_kept->find(size); kept != g_kept->end() && !kept->second.empty()) {
    *out = kept->second.back();
    kept->second.pop_back();
  } else if (auto block = g_session->memory().Allocate(
                 size, std::max<size_t>(alignment, 256),
                 "a tensor of " + std::to_string(size) + " bytes", false);
             block.ok()) {
    *out = block.value();
  }
  if (*out != nullptr) g_blocks->emplace(*out, size);
  g_changing = false;
  kuafu_allocate_on_device = 1;
  return *out != nullptr ? 0 : ENOMEM;
}

extern "C" __attribute__((visibility("default"))) void free(void* pointer) {
  using namespace kuafu::torchext;
  if (pointer != nullptr && g_blocks != nullptr && !g_changing) {
    const auto it = g_blocks->find(pointer);
    if (it != g_blocks->end()) {
      g_changing = true;
      if (kuafu_keep_freed_blocks != 0)
        (*g_kept)[it->second].push_back(pointer);
      else
        g_session->FreeDevice(pointer);
      g_blocks->erase(it);
      g_changing = false;
      return;
    }
  }
  __libc_free(pointer);
}
