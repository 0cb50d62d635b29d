// SPDX-License-Identifier: Apache-2.0
// Renders a sphere: one ray per thread, analytic intersection, Lambert shading. The scene travels
// as a struct by value, so it sits in the parameter space and needs no copy.
// kuafu: entry=render args=rays
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 128;

struct Scene {
  float3 centre;
  float radius;
  float3 light;  // unit vector towards the light
  float ambient;
};

__device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__global__ void render_kernel(const float* __restrict__ rays, float* __restrict__ image,
                              int64_t pixels, Scene scene) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < pixels) {
    float3 d = make_float3(rays[i * 3], rays[i * 3 + 1], rays[i * 3 + 2]);
    const float length = sqrtf(dot(d, d));
    d = make_float3(d.x / length, d.y / length, d.z / length);
    // |t d - centre|^2 = radius^2 with a unit direction d.
    const float b = dot(d, scene.centre);
    const float c = dot(scene.centre, scene.centre) - scene.radius * scene.radius;
    const float discriminant = b * b - c;
    float colour = 0.0f;
    if (discriminant > 0.0f) {
      const float t = b - sqrtf(discriminant);
      const float3 normal =
          make_float3(fmaf(t, d.x, -scene.centre.x), fmaf(t, d.y, -scene.centre.y),
                      fmaf(t, d.z, -scene.centre.z));
      const float shade = fmaxf(dot(normal, scene.light) / scene.radius, 0.0f);
      // Fading towards the silhouette keeps the image continuous: no pixel hangs on one rounding.
      const float edge = fminf(discriminant, 1.0f);
      colour = edge * fmaf(1.0f - scene.ambient, shade, scene.ambient);
    }
    image[i] = colour;
  }
}

torch::Tensor render(torch::Tensor rays) {
  TORCH_CHECK(rays.dim() == 3 && rays.size(2) == 3, "rays must be [height, width, 3]");
  TORCH_CHECK(rays.scalar_type() == torch::kFloat32, "rays must be float32");
  rays = rays.contiguous();
  torch::Tensor image = torch::empty({rays.size(0), rays.size(1)}, rays.options());
  const int64_t pixels = image.numel();
  if (pixels == 0) return image;
  Scene scene;
  scene.centre = make_float3(0.0f, 0.0f, 3.0f);
  scene.radius = 1.0f;
  scene.light = make_float3(0.48f, 0.64f, -0.6f);
  scene.ambient = 0.1f;
  render_kernel<<<static_cast<unsigned>((pixels + kThreads - 1) / kThreads), kThreads>>>(
      rays.data_ptr<float>(), image.data_ptr<float>(), pixels, scene);
  return image;
}
