// SPDX-License-Identifier: Apache-2.0
// All-pairs gravity: a thread per body, the others pass by in tiles of shared memory. Tile entries
// beyond the last body get mass zero and add nothing.
// kuafu: entry=accelerations args=position,mass
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 64;
constexpr float kSoftening = 0.01f;

__global__ void nbody_kernel(const float* __restrict__ position, const float* __restrict__ mass,
                             float* __restrict__ out, int64_t count) {
  __shared__ float4 tile[kThreads];  // x, y, z, mass
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t self = i < count ? i : count - 1;  // spare threads compute, but do not store
  const float px = position[self * 3];
  const float py = position[self * 3 + 1];
  const float pz = position[self * 3 + 2];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int64_t base = 0; base < count; base += kThreads) {
    const int64_t j = base + threadIdx.x;
    float4 body = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (j < count) {
      body = make_float4(position[j * 3], position[j * 3 + 1], position[j * 3 + 2], mass[j]);
    }
    tile[threadIdx.x] = body;
    __syncthreads();
    for (int t = 0; t < kThreads; ++t) {
      const float dx = tile[t].x - px;
      const float dy = tile[t].y - py;
      const float dz = tile[t].z - pz;
      const float d2 = dx * dx + dy * dy + dz * dz + kSoftening;
      const float weight = tile[t].w / (d2 * sqrtf(d2));
      ax = fmaf(weight, dx, ax);
      ay = fmaf(weight, dy, ay);
      az = fmaf(weight, dz, az);
    }
    __syncthreads();
  }
  if (i < count) {
    out[i * 3] = ax;
    out[i * 3 + 1] = ay;
    out[i * 3 + 2] = az;
  }
}

torch::Tensor accelerations(torch::Tensor position, torch::Tensor mass) {
  TORCH_CHECK(position.dim() == 2 && position.size(1) == 3, "position must be [bodies, 3]");
  TORCH_CHECK(mass.numel() == position.size(0), "mass must be [bodies]");
  TORCH_CHECK(position.scalar_type() == torch::kFloat32, "position must be float32");
  position = position.contiguous();
  mass = mass.contiguous();
  torch::Tensor out = torch::empty_like(position);
  const int64_t count = position.size(0);
  if (count == 0) return out;
  nbody_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(
      position.data_ptr<float>(), mass.data_ptr<float>(), out.data_ptr<float>(), count);
  return out;
}
