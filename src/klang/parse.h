// SPDX-License-Identifier: Apache-2.0
// The clang stage of Compile; see parse.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "klang/klang.h"
#include "klang/stages.h"

namespace llvm {
class LLVMContext;
}

namespace kuafu::klang {

// The newest libstdc++ on this machine; its headers need no compiler of their own.
std::string LibstdcxxVersion();

struct Paths {
  std::string include_dir, resource_dir = KUAFU_CLANG_RESOURCE_DIR, libstdcxx = LibstdcxxVersion();
  std::vector<std::string> user;  // from -I
  std::vector<std::string> Allowed() const {
    std::vector<std::string> all = {include_dir, resource_dir, "/usr/include"};
    all.insert(all.end(), user.begin(), user.end());
    return all;
  }
};

struct ParseInput {
  Half half = Half::kDevice;
  HeaderSet set;
  Paths paths;
  std::string file;  // relative
  std::string text;
  std::string before;  // stands before the text, after the headers, and is no line of it
  std::span<const uint8_t> headers;  // precompiled; empty = parsed
  bool check_headers = false;        // an error when a file that went into them has changed
};

// nullptr: clang reported errors. `context` owns what the module uses.
std::unique_ptr<llvm::Module> ParseHalf(const ParseInput& input, llvm::LLVMContext* context,
                                        std::vector<Diagnostic>* diagnostics);

// Everything that goes into Precompile except for the content of files.
std::string DescribeHeaders(const ParseInput& input);

// Empty: clang reported errors. Of `input`, the source is not used.
std::vector<uint8_t> Precompile(const ParseInput& input, std::vector<Diagnostic>* diagnostics);

}  // namespace kuafu::klang
