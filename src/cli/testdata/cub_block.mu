// SPDX-License-Identifier: Apache-2.0
// TARGET: sim:mtt-s4000
// Block-wide reductions and scans of CUB for blocks that are a multiple of nothing, checked by the host; one
// operation does not commute.
#include <musa_runtime.h>
#include <cub/cub.cuh>
#include <algorithm>
#include <cstdio>
#include <vector>

struct Matrix { int a, b, c, d; };
__host__ __device__ Matrix multiply(const Matrix& x, const Matrix& y) {
  return {(x.a * y.a + x.b * y.c) % 1009, (x.a * y.b + x.b * y.d) % 1009, (x.c * y.a + x.d * y.c) % 1009,
          (x.c * y.b + x.d * y.d) % 1009};
}
struct Multiply {
  __device__ Matrix operator()(const Matrix& x, const Matrix& y) const { return multiply(x, y); }
};
__host__ __device__ Matrix matrix_of(int v) { return {v % 7 + 1, v % 5, v % 3, 1}; }
struct Running {
  int total;
  __device__ int operator()(int block) {
    const int before = total;
    total += block;
    return before;
  }
};

template <int N>
__global__ void all_of_it(const int* x, int* out, Matrix* matrices, int valid) {
  using Reduce = cub::BlockReduce<int, N>;
  using Product = cub::BlockReduce<Matrix, N, cub::BLOCK_REDUCE_RAKING>;
  using Scan = cub::BlockScan<int, N>;
  using Products = cub::BlockScan<Matrix, N, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Product::TempStorage product;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Products::TempStorage products;
  const int t = threadIdx.x, v = x[t];
  const int sum = Reduce(reduce).Sum(v);
  __syncthreads();
  const int top = Reduce(reduce).Reduce(v, cub::Max());
  __syncthreads();
  const int part = Reduce(reduce).Sum(v, valid);
  const Matrix all = Product(product).Reduce(matrix_of(v), Multiply());
  if (t == 0) {
    out[0] = sum;
    out[1] = top;
    out[2] = part;
    matrices[0] = all;
  }
  int* own = out + 3 + t * 10;
  Scan(scan).InclusiveSum(v, own[0]);
  __syncthreads();
  Scan(scan).ExclusiveSum(v, own[1], own[2]);
  __syncthreads();
  Running running{1000};
  Scan(scan).InclusiveSum(v, own[3], running);
  Products(products).InclusiveScan(matrix_of(v), matrices[1 + 2 * t], Multiply());
  __syncthreads();
  Products(products).ExclusiveScan(matrix_of(v), matrices[2 + 2 * t], Matrix{1, 0, 0, 1}, Multiply());
  int items[3] = {v, 1, 2}, sums[3], before[3];
  Scan(scan).InclusiveSum(items, sums);
  __syncthreads();
  Scan(scan).ExclusiveSum(items, before);
  for (int i = 0; i < 3; ++i) {
    own[4 + i] = sums[i];
    own[7 + i] = before[i];
  }
}

bool same(const Matrix& x, const Matrix& y) { return x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d; }

template <int N>
int wrong() {
  std::vector<int> x(N), out(3 + 10 * N);
  std::vector<Matrix> matrices(1 + 2 * N);
  for (int i = 0; i < N; ++i) x[i] = (i * 37 + 11) % 101;
  int *device_x, *device_out;
  Matrix* device_matrices;
  musaMalloc(&device_x, N * sizeof(int));
  musaMalloc(&device_out, out.size() * sizeof(int));
  musaMalloc(&device_matrices, matrices.size() * sizeof(Matrix));
  musaMemcpy(device_x, x.data(), N * sizeof(int), musaMemcpyHostToDevice);
  const int valid = N * 2 / 3 + 1;
  all_of_it<N><<<1, N>>>(device_x, device_out, device_matrices, valid);
  musaMemcpy(out.data(), device_out, out.size() * sizeof(int), musaMemcpyDeviceToHost);
  musaMemcpy(matrices.data(), device_matrices, matrices.size() * sizeof(Matrix), musaMemcpyDeviceToHost);
  int bad = 0, sum = 0, top = 0, part = 0, total = 0;
  Matrix product{1, 0, 0, 1};
  for (int v : x) total += v;
  for (int i = 0; i < N; ++i) {
    const int* own = &out[3 + i * 10];
    const int before = sum, of_items = sum + 3 * i, v = x[i];
    sum += v;
    top = std::max(top, v);
    if (i < valid) part += v;
    const int expected[10] = {sum, before, total, sum + 1000, of_items + v, of_items + v + 1, of_items + v + 3,
                              of_items, of_items + v, of_items + v + 1};
    for (int k = 0; k < 10; ++k) bad += own[k] != expected[k];
    bad += !same(matrices[2 + 2 * i], product);
    product = multiply(product, matrix_of(v));
    bad += !same(matrices[1 + 2 * i], product);
  }
  bad += (out[0] != sum) + (out[1] != top) + (out[2] != part) + !same(matrices[0], product);
  printf("%d threads: %d wrong\n", N, bad);
  return bad;
}

int main() { return wrong<1>() + wrong<31>() + wrong<48>() + wrong<100>() + wrong<128>() + wrong<333>() != 0; }
