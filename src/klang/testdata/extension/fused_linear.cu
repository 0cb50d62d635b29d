#include <cuda_runtime.h>
#include <cstdint>
#include "math_constants.h"

template <int ROWS>
__global__ void linear_mish(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* __restrict__ y, int64_t m, int64_t n, int64_t k) {
    const int64_t col = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (col >= n) return;
    float acc[ROWS] = {0.f};
    const int64_t row0 = static_cast<int64_t>(blockIdx.y) * ROWS;
    for (int64_t i = 0; i < k; ++i) {
        const float wv = w[col * k + i];
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) if (row0 + r < m) acc[r] = fmaf(x[(row0 + r) * k + i], wv, acc[r]);
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (row0 + r >= m) break;
        const float v = acc[r] + (b ? b[col] : 0.f);
        y[(row0 + r) * n + col] = v * tanhf(v > 20.f ? v : log1pf(expf(v)));
    }
}
void fused_linear_launcher(const float* x, const float* w, const float* b, float* y, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    const dim3 grid((n + 127) / 128, (m + 3) / 4);
    linear_mish<4><<<grid, 128, 0, stream>>>(x, w, b, y, m, n, k);
}
