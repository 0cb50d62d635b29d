# SPDX-License-Identifier: Apache-2.0
# One .cu, written by pathlib into a folder named after its hash.
from pathlib import Path
import hashlib
import tempfile

import torch
import torch.nn as nn
from torch.utils import cpp_extension

SOURCE = r"""
#include <torch/extension.h>
#include <vector>
__global__ void avg_pool(const float* __restrict__ x, float* __restrict__ y, int total, int L, int O, int K, int S, int P) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
        const float* plane = x + i / O * L;
        const int first = i % O * S - P, begin = first < 0 ? 0 : first, end = first + K > L ? L : first + K;
        float s = 0;
        for (int k = begin; k < end; ++k) s += plane[k];
        y[i] = s / K;
    }
}
torch::Tensor forward(torch::Tensor x, std::vector<int> window) {
    TORCH_CHECK(window.size() == 3, "kernel, stride, padding");
    const int L = x.size(2), K = window[0], S = window[1], P = window[2], O = (L + 2 * P - K) / S + 1;
    auto y = torch::empty({x.size(0), x.size(1), O}, x.options());
    if (y.numel() > 0) avg_pool<<<3, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), y.numel(), L, O, K, S, P);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""

folder = Path(tempfile.gettempdir()) / f"avg_pool_{hashlib.sha256(SOURCE.encode()).hexdigest()[:12]}"
folder.mkdir(parents=True, exist_ok=True)
path = folder / "avg_pool.cu"
path.write_text(SOURCE)
avg_pool = cpp_extension.load(name="avg_pool_one", sources=[str(path)], extra_cuda_cflags=["-O3"], build_directory=str(folder))


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.window = [kernel_size, stride, padding]

    def forward(self, x):
        return avg_pool.forward(x.contiguous(), self.window)
