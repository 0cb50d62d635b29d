// SPDX-License-Identifier: Apache-2.0
// The runtime API of the dialect being compiled: cuda* in a CUDA source, musa* in a MUSA one. The names of
// the other dialect do not exist, as with the vendor's compiler.
#pragma once

#include "kuafu/base.h"

#ifdef KUAFU_MUSA
typedef cudaStream_t musaStream_t;
typedef cudaEvent_t musaEvent_t;
typedef cudaError musaError;
typedef cudaError_t musaError_t;
#define KUAFU_ERROR(number, name, text) static const cudaError_t musa##name = cuda##name;
#include "kuafu/errors.def"
#undef KUAFU_ERROR
#define MUSA_VERSION 40300
#define MUSART_VERSION 40300
#define RT(name) musa##name
extern "C" cudaError_t musaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        musaStream_t stream);
#else
#define CUDART_VERSION 12040
#define RT(name) cuda##name
#endif
#define RTE cudaError_t
#include "kuafu/runtime_api.inc"
#undef RTE
#undef RT

#ifdef KUAFU_MUSA
#define musaStreamLegacy ((musaStream_t)0x1)
#define musaStreamPerThread ((musaStream_t)0x2)
#else
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#endif

// From a kernel these are dynamic parallelism or textures: they fail by name.
#define KUAFU_UNAVAILABLE(name, text) template <class... A> __attribute__((host, device, unavailable(text))) int name(A...);
KUAFU_UNAVAILABLE(tex1Dfetch, "kuafu: textures are not available: load from the pointer")
KUAFU_UNAVAILABLE(tex1D, "kuafu: textures are not available: load from the pointer")
KUAFU_UNAVAILABLE(tex2D, "kuafu: textures are not available: load from the pointer")
KUAFU_UNAVAILABLE(tex3D, "kuafu: textures are not available: load from the pointer")
KUAFU_UNAVAILABLE(surf2Dread, "kuafu: surfaces are not available: load from the pointer")
KUAFU_UNAVAILABLE(surf2Dwrite, "kuafu: surfaces are not available: store through the pointer")
KUAFU_UNAVAILABLE(cudaCreateTextureObject, "kuafu: textures are not available: load from the pointer")
KUAFU_UNAVAILABLE(cudaGraphLaunch, "kuafu: graphs are not available: launch the kernels one by one")
KUAFU_UNAVAILABLE(cudaStreamBeginCapture, "kuafu: graphs are not available: launch the kernels one by one")
KUAFU_UNAVAILABLE(cudaGraphInstantiate, "kuafu: graphs are not available: launch the kernels one by one")
#undef KUAFU_UNAVAILABLE
