// SPDX-License-Identifier: Apache-2.0
// MUSA names, a warp of run-time width.
#include <musa_runtime.h>
#include <musa_fp16.h>
#include <torch/extension.h>
#include "torch_musa/csrc/core/MUSAStream.h"
__global__ void k(float* x, __mt_bfloat16* b) {
#if defined(__MUSA_ARCH__) && !defined(__CUDA_ARCH__)
  float v = x[threadIdx.x];
  for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  auto m = __ballot_sync(__activemask(), v > 0);
  x[threadIdx.x] = v + __bfloat162float(b[0]) + __popcll(m);
#endif
}
torch::Tensor f(torch::Tensor x) { k<<<1, 128, 0, c10::musa::getCurrentMUSAStream()>>>(x.data_ptr<float>(), nullptr); void* p; musaMalloc(&p, 4); musaError_t e = musaGetLastError(); TORCH_CHECK(e == musaSuccess, musaGetErrorString(e)); return x; }
