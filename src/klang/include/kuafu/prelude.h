// SPDX-License-Identifier: Apache-2.0
// Included before every source, in both passes, and kept as a precompiled header: what the vendor's
// compiler includes by itself, plus whatever costs parse time and every candidate uses.
#pragma once

#include "kuafu/runtime_api.h"
#include "kuafu/math.h"
#include "kuafu/intrinsics.h"
#include "kuafu/warp.h"
#include "kuafu/atomics.h"
#include "kuafu/half.h"
#include "kuafu/constants.h"

#ifdef KUAFU_MUSA
#undef __CUDACC__
#undef __NVCC__
#undef __CUDA_ARCH__
#undef CUDA_VERSION
#endif

#ifndef KUAFU_NO_TORCH
#include "kuafu/tensor.h"
#endif
