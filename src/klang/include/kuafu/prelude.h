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
#include "kuafu/torch.h"
#endif

// `__shared__ alignas(16) float x[32];`: the vendor's compiler takes the specifiers in any order, but a
// C++ attribute may not follow the GNU one that __shared__ is. A size or a type.
#ifdef __cplusplus
template <class T> constexpr size_t __kuafu_align() { return alignof(T); }
template <size_t N> constexpr size_t __kuafu_align() { return N; }
#define alignas(...) __attribute__((aligned(__kuafu_align<__VA_ARGS__>())))
#endif
