// SPDX-License-Identifier: Apache-2.0
// See prelude.h.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
