// SPDX-License-Identifier: Apache-2.0
// Fuzz target: whatever bytes arrive as a device module, the loader answers with a module or an
// error. What it accepts can be printed and survives its own writer.
//
// Random bytes never have the right checksum, so each input is also tried with a header that fits
// its body; otherwise nothing behind the header would be reached.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "isa/isa.h"

namespace {

using namespace kuafu;

constexpr size_t kHeaderBytes = 16;

std::vector<uint8_t> WithHeader(std::span<const uint8_t> body) {
  static const std::vector<uint8_t> kEmpty = isa::Write(isa::Module{});
  std::vector<uint8_t> bytes(kEmpty.begin(), kEmpty.begin() + kHeaderBytes);
  uint64_t hash = 1469598103934665603ull;
  for (uint8_t b : body) hash = (hash ^ b) * 1099511628211ull;
  std::memcpy(bytes.data() + 8, &hash, sizeof hash);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

void Try(std::span<const uint8_t> bytes) {
  auto module = isa::Read(bytes);
  if (!module.ok()) return;
  for (const isa::Function& f : module.value().functions) {
    for (size_t pc = 0; pc < f.code.size(); ++pc) (void)isa::DisassembleInst(f, pc);
  }
  (void)isa::Disassemble(module.value());
  const std::vector<uint8_t> written = isa::Write(module.value());
  auto again = isa::Read(written);
  KUAFU_CHECK(again.ok(), "a written module is refused");
  KUAFU_CHECK(isa::Write(again.value()) == written, "a module changes when read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::span<const uint8_t> input(data, bytes);
  Try(input);
  // The corpus holds whole files; the body is what lies behind their header.
  if (bytes >= kHeaderBytes) Try(WithHeader(input.subspan(kHeaderBytes)));
  return 0;
}
