// SPDX-License-Identifier: Apache-2.0
// Finds the entry function of a candidate by looking at its tokens: the name must be known before
// the host half is compiled, because the call to it is appended to the source.
#pragma once

#include <string>
#include <string_view>

namespace kuafu::klang {

// In this order: the manifest comment `// kuafu: entry=f`, the first `m.def("...", &f)` of a
// pybind11 module, the last file-scope function that is not static and returns torch::Tensor,
// at::Tensor, std::vector<torch::Tensor> or std::tuple<...>. Empty = none.
std::string FindEntry(std::string_view source);

}  // namespace kuafu::klang
