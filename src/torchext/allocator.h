// SPDX-License-Identifier: Apache-2.0
// PyTorch's memory on the simulated device. The library is preloaded into the Python process and
// takes the place of posix_memalign, from which PyTorch's CPU allocator gets every storage, and of
// free. While allocation is switched to the device, a storage is an allocation of the session, with
// red zones and a record of what was written: a tensor is "on the GPU" because of its address.
#pragma once

#include "hostabi/session.h"

namespace kuafu::torchext {

// From now on posix_memalign can allocate there. The session outlives the process's last tensor.
void UseDevice(hostabi::Session* session);

}  // namespace kuafu::torchext

extern "C" {
// Not 0: storages are allocated on the device. Set around each operator by the Python side.
extern int kuafu_allocate_on_device;
// Not 0: a storage that is freed keeps its content and is handed out again to the next of its size,
// as PyTorch's caching allocator does on a GPU. For protocols that are repeated as they are.
extern int kuafu_keep_freed_blocks;
}
