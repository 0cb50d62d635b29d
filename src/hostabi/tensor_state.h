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

// One allocation, freed with the last tensor over it. Null when it has no bytes.
struct Storage {
  explicit Storage(Session& owner) : session(owner) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Session& session;  // outlives it
  void* base = nullptr;
  bool owned = true;  // false: memory that others allocated and will free
  // In ordinary memory of the process, which is in no allocation table: a kernel that is given its
  // address fails, as on a GPU.
  bool host = false;
  uint32_t id = 0;  // in the allocation table; 0 on the host
  size_t bytes = 0;
};

struct TensorState {
  TensorState();
  ~TensorState();
  // Bytes of the storages on the host that tensors own.
  uint64_t host_bytes = 0;  // before `live`, whose tensors count themselves out
  // Every tensor that still has a reference, by its handle.
  std::unordered_map<const KuafuTensor*, std::unique_ptr<KuafuTensor>> live;
  std::string error;  // of the last call that failed
};

}  // namespace kuafu::hostabi
