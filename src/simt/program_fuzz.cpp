// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a module that the loader accepts can be run. The interpreter checks no index, it
// trusts isa::Validate; whatever a damaged module computes must end as a result or a finding, never
// as an access of the interpreter itself that goes astray.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "isa/isa.h"
#include "simt/simt.h"

namespace {

using namespace kuafu;

constexpr size_t kHeaderBytes = 16;
constexpr size_t kMemoryBytes = 4u << 20;
constexpr uint32_t kThreads = 40;  // a whole warp of 32 and a part of one
constexpr size_t kBufferBytes = 4096;

// The header that fits the body, see isa/module_fuzz.cpp.
std::vector<uint8_t> WithHeader(std::span<const uint8_t> body) {
  static const std::vector<uint8_t> kEmpty = isa::Write(isa::Module{});
  std::vector<uint8_t> bytes(kEmpty.begin(), kEmpty.begin() + kHeaderBytes);
  uint64_t hash = 1469598103934665603ull;
  for (uint8_t b : body) hash = (hash ^ b) * 1099511628211ull;
  std::memcpy(bytes.data() + 8, &hash, sizeof hash);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

// Pointers get a buffer, everything else a small number.
std::vector<uint8_t> Parameters(const isa::Function& kernel, void* buffer) {
  std::vector<uint8_t> block(65536);
  for (const isa::Param& p : kernel.params) {
    uint64_t value = p.is_pointer ? reinterpret_cast<uint64_t>(buffer) : 7;
    if (p.offset + sizeof value <= block.size())
      std::memcpy(block.data() + p.offset, &value, sizeof value);
  }
  return block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes < kHeaderBytes) return 0;
  auto module = isa::Read(WithHeader(std::span(data, bytes).subspan(kHeaderBytes)));
  if (!module.ok()) return 0;
  simt::Memory memory(kMemoryBytes);
  auto program = simt::Program::Load(memory, std::move(module).value());
  if (!program.ok()) return 0;
  auto buffer = memory.Allocate(kBufferBytes, 256, "buffer", true);
  if (!buffer.ok()) return 0;
  simt::LaunchOptions options;
  options.max_dispatches = 2000;
  options.spin_dispatches = 1000;
  options.heap_bytes = 64u << 10;
  options.order_seed = 1;
  const auto& functions = program.value()->module().functions;
  for (size_t f = 0; f < functions.size() && f < 4; ++f) {
    if (!functions[f].is_kernel) continue;
    (void)program.value()->Launch(static_cast<uint32_t>(f), {2, 1, 1}, {kThreads, 1, 1}, 256,
                                  Parameters(functions[f], buffer.value()), options);
  }
  return 0;
}
