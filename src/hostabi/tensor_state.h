// SPDX-License-Identifier: Apache-2.0
// The tensors of a session: private to this module, so that session.h needs no tensor header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "hostabi/session.h"

struct KuafuTensor;

namespace kuafu::hostabi {

// One device allocation, freed with the last tensor over it. Null when it has no bytes.
struct Storage {
  explicit Storage(Session& owner) : session(owner) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Session& session;  // outlives it
  void* base = nullptr;
  bool owned = true;  // false: memory that others allocated on the device and will free
  uint32_t id = 0;    // in the allocation table
  size_t bytes = 0;
};

struct TensorState {
  TensorState();
  ~TensorState();
  // Every tensor that still has a reference, by its handle.
  std::unordered_map<const KuafuTensor*, std::unique_ptr<KuafuTensor>> live;
  std::string error;  // of the last call that failed
};

}  // namespace kuafu::hostabi
