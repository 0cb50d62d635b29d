# SPDX-License-Identifier: Apache-2.0
# With what models often leave in a file: the task's own class, its inputs, a check for the command line.
import os
import logging
import warnings
from functools import lru_cache
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

try:
    from typing_extensions import Final
except ImportError:
    Final = Optional

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
logger = logging.getLogger(__name__)
warnings.filterwarnings("ignore", category=UserWarning)

batch_size = 24
dim = 1030


class Model(nn.Module):
    def forward(self, x):
        return F.relu(x)


CUDA = """
#include <torch/extension.h>
#include <cuda_runtime.h>
// Not used: cublasSgemm, cudnnActivationForward, torch::relu(x) would be other ways.
__global__ void relu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = x[i] * (x[i] > 0.0f);
}
torch::Tensor forward(torch::Tensor x) {
    int device = 0, processors = 0, threads = 0, blocks = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, relu, 0, 0);
    auto y = torch::empty_like(x);
    const int n = x.numel();
    if (n == 0) return y;
    threads = std::max(32, std::min(threads, 256));
    relu<<<std::min((n + threads - 1) / threads, std::max(1, processors)), threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


@lru_cache(maxsize=None)
def build(name: Optional[str] = None):
    logger.info("building %s", name)
    return load_inline(name=name or "relu_ext", cpp_sources="torch::Tensor forward(torch::Tensor x);", cuda_sources=CUDA,
                       functions=["forward"])


class ReluFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = build("relu_ext").forward(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (y > 0).to(grad.dtype)


class ModelNew(nn.Module):
    """ReLU that must not fall back to torch.relu."""

    def __init__(self):
        super().__init__()
        build("relu_ext")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not x.is_cuda:
            x = x.cuda()
        return ReluFunction.apply(x.contiguous())


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []


if __name__ == "__main__":
    inputs = get_inputs()
    print(torch.allclose(ModelNew()(*inputs), Model()(*inputs)))
