// SPDX-License-Identifier: Apache-2.0
struct Pair { int a; double b; };
__device__ __noinline__ int depth(int n, int* p) { return n <= 0 ? *p : depth(n - 1, p) + 1; }
__device__ __noinline__ int twice(int v) { return v * 2; }
__device__ int (*table[2])(int) = {twice, twice};
__global__ void calls(Pair pair, double* out, int n) {
  int local[8];
  for (int i = 0; i < 8; ++i) local[i] = i * n;
  int r = depth(n, &local[n & 7]);
  r += table[n & 1](r);
  out[threadIdx.x & 7] = pair.b * r + pair.a;
}
