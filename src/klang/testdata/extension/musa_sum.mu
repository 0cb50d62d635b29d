#include <torch/types.h>
#include <musa.h>
#include <musa_runtime.h>
#include <musa_fp16.h>
#include "torch_musa/csrc/core/MUSAException.h"

__global__ void row_sum_kernel(const float* x, float* y, int cols) {
    __shared__ float partial[256];
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += x[blockIdx.x * cols + i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = partial[0];
}
torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_kernel<<<x.size(0), 256, 0, at::musa::getCurrentMUSAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    TORCH_MUSA_CHECK(musaGetLastError());
    return y;
}
