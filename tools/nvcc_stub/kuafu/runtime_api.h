// SPDX-License-Identifier: Apache-2.0
// See prelude.h.
#pragma once
#include <cuda_runtime.h>

#define KUAFU_METHOD __host__ __device__
