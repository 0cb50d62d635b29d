// SPDX-License-Identifier: Apache-2.0
// kuafu-compiler: compiles one source file in a process of its own, because input can crash or
// stall clang.
//
//   kuafu-compiler SOURCE cuda|musa ARCH OUT_MODULE OUT_LIBRARY
//   kuafu-compiler --serve
//
// The first prints {"ok": ..., "diagnostics": [...], "kernels": [...]} on stdout, with an estimate
// of each kernel's registers. Exit 0 when the answer is complete, whatever it says.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "cli/compiler_headers.h"
#include "cli/compiler_serve.h"
#include "isa/isa.h"
#include "isa/pressure.h"
#include "klang/klang.h"
#include "os/file.h"

namespace {

std::string_view AsText(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

kuafu::Result<kuafu::Json> KernelsJson(const std::vector<uint8_t>& bytes) {
  using namespace kuafu;
  KUAFU_TRY(const isa::Module module, isa::Read(bytes));
  Json kernels = Json::array();
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    const isa::Function& function = module.functions[i];
    if (!function.is_kernel) continue;
    kernels.push_back({{"symbol", function.name},
                       {"name", function.pretty},
                       {"registers", isa::EstimateRegisters(module, i).registers}});
  }
  return kernels;
}

kuafu::Status Compile(char** argv) {
  using namespace kuafu;
  klang::CompileRequest request;
  KUAFU_TRY(request.source, os::ReadFile(argv[1], static_cast<int64_t>(klang::kMaxSourceBytes)));
  request.file = os::BaseName(argv[1]);
  request.dialect =
      std::string_view(argv[2]) == "musa" ? klang::Dialect::kMusa : klang::Dialect::kCuda;
  request.arch = static_cast<uint32_t>(ParseInt64(argv[3]).value_or(900));
  const klang::HeaderSet set = klang::HeadersFor(request);
  KUAFU_TRY(const std::vector<uint8_t> device, cli::HeadersFromCache(klang::Half::kDevice, set));
  KUAFU_TRY(const std::vector<uint8_t> host, cli::HeadersFromCache(klang::Half::kHost, set));
  KUAFU_TRY(const klang::CompileResult result, klang::Compile(request, device, host));
  Json answer;
  answer["ok"] = result.ok;
  answer["entry"] = result.entry;
  answer["device_ms"] = result.device_ms;
  answer["host_ms"] = result.host_ms;
  answer["diagnostics"] = Json::array();
  for (const klang::Diagnostic& d : result.diagnostics) {
    answer["diagnostics"].push_back(
        {{"line", d.line}, {"column", d.column}, {"message", d.message}, {"text", d.ToString()}});
  }
  if (result.ok) {
    KUAFU_TRY(answer["kernels"], KernelsJson(result.device_module));
    KUAFU_TRY_STATUS(os::WriteFileAtomic(argv[4], AsText(result.device_module)));
    KUAFU_TRY_STATUS(os::WriteFileAtomic(argv[5], AsText(result.host_library)));
  }
  std::puts(DumpJson(answer).c_str());
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--serve") return kuafu::cli::ServeCompiler();
  if (argc != 6) {
    std::fputs(
        "usage: kuafu-compiler SOURCE cuda|musa ARCH OUT_MODULE OUT_LIBRARY\n       kuafu-compiler "
        "--serve\n",
        stderr);
    return 2;
  }
  const kuafu::Status status = Compile(argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "kuafu-compiler: %s\n", status.error().ToString().c_str());
  return 4;
}
