// SPDX-License-Identifier: Apache-2.0
// Where the content of device memory comes from, so that a verdict can say whether a result was
// computed by the candidate's own kernels. Kept for each allocation as a whole: a set of sources
// that grows with every writer since the call began.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "hostabi/session.h"

namespace kuafu::torchext {

enum Origin : uint8_t {
  kState = 1,           // there before the call: inputs, parameters, what earlier calls left
  kConstant = 2,        // zeros(), fill_() and the like
  kKernel = 4,          // by a kernel that has read state, or what such kernels wrote
  kKernelConstant = 8,  // by a kernel that has read neither
  kOperator = 16,       // computed by an operator of PyTorch
  kHost = 32,           // copied from host memory
};

class Origins : public hostabi::DataFlow {
 public:
  explicit Origins(hostabi::Session& session) : session_(session) {}

  // Everything that is live now is state.
  void Begin();
  void Launched(const std::vector<uint32_t>& read, const std::vector<uint32_t>& written) override;
  void Copied(uint32_t to, uint32_t from) override;
  void Filled(uint32_t to) override;
  // An operator of PyTorch has read and written these.
  void Operated(const std::vector<uint32_t>& read, const std::vector<uint32_t>& written,
                const std::string& name);

  // A set of Origin; 0 = nobody has written it.
  uint8_t Of(uint32_t id) const;
  // Of a set with kOperator: the first operator.
  std::string OperatorOf(uint32_t id) const;
  // "state", "kernel", ...
  static std::vector<std::string> Names(uint8_t origins);

 private:
  uint8_t Union(const std::vector<uint32_t>& ids) const;

  hostabi::Session& session_;
  std::unordered_map<uint32_t, uint8_t> origins_;
  std::unordered_map<uint32_t, std::string> operators_;
};

}  // namespace kuafu::torchext
