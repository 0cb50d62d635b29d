// SPDX-License-Identifier: Apache-2.0
// Loaded extensions and calls of their functions. Arguments and results cross as JSON:
//   {"t": {"base": address, "bytes": n, "dtype": "f32", "shape": [...], "strides": [...],
//    "offset": n, "cpu": whether it is in memory of the host}}, {"i": 3}, {"r": "0.5"}, {"b":
//    true}, {"n": null}, {"s": "text"}, {"l": [1, 2]},
//   {"rl": ["0.5"]}, {"tl": [tensors]}
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "hostabi/session.h"
#include "hostabi/tensors.h"
#include "kuafu/tensor_abi.h"

struct KuafuModule {
  struct Parameter {
    std::string name;  // empty: positional only
    bool has_default = false;
    kuafu::Json fallback;  // the default, as an argument
  };
  struct Function {
    std::string name;
    KuafuInvoker invoke = nullptr;
    void* function = nullptr;
    std::vector<Parameter> parameters;
  };
  std::vector<Function> functions;
};

namespace kuafu::torchext {

// {"functions": [{"name", "parameters": [{"name", "default"}]}]}; "default" only where there is
// one.
Json Describe(const KuafuModule& module);

// {"status": "ok", "form": "single", "values": [...]}, or {"status": "mismatch"|"threw", "error"}.
// A tensor among the values has the further field "handle", one reference, or "alias": its memory
// is not the session's to give away. `kept`: for each tensor argument, in order, whether the callee
// has kept a reference.
Result<Json> Call(hostabi::Session& session, const KuafuModule::Function& function,
                  const Json& arguments);

Result<KuafuTensor*> WrapTensor(hostabi::Session& session, const Json& tensor);

}  // namespace kuafu::torchext
