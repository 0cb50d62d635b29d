// SPDX-License-Identifier: Apache-2.0
// Shared and constant memory: static arrays of every shape, dynamic, several kinds of element in
// one dynamic array, templates each with an array of their own, pointers into shared memory, one
// copy per block.
#include "check.h"

struct Point {
  float x;
  double y;
  char tag;
};
__constant__ float table[64];
__constant__ Point points[3] = {{1.5f, 2.5, 'a'}, {3.5f, 4.5, 'b'}, {5.5f, 6.5, 'c'}};
__constant__ int scalar = 77;

template <class T, int N>
__global__ void Transpose(T* out) {
  __shared__ T tile[N][N + 1];
  for (int i = threadIdx.x; i < N * N; i += blockDim.x) tile[i / N][i % N] = T(i);
  __syncthreads();
  for (int i = threadIdx.x; i < N * N; i += blockDim.x) out[i] = tile[i % N][i / N];
}
// The same function name with other arguments has another array.
template <int Tag>
__device__ int* Own() {
  __shared__ int cell[4];
  return cell;
}
__global__ void Instances(int* out) {
  int *one = Own<1>(), *two = Own<2>(), *again = Own<1>();
  if (threadIdx.x < 4) one[threadIdx.x] = 10 + int(threadIdx.x);
  if (threadIdx.x < 4) two[threadIdx.x] = 20 + int(threadIdx.x);
  __syncthreads();
  if (threadIdx.x < 4) {
    out[threadIdx.x] = again[threadIdx.x];
    out[4 + threadIdx.x] = two[3 - threadIdx.x];
    out[8 + threadIdx.x] = one != two && one == again;
  }
}
// Sections of one dynamic array, widest element first.
__global__ void Sections(double* out, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  double* d = reinterpret_cast<double*>(raw);
  int* i = reinterpret_cast<int*>(d + n);
  char* c = reinterpret_cast<char*>(i + n);
  const int t = threadIdx.x;
  if (t < n) d[t] = t * 0.5, i[t] = -t, c[t] = char('a' + t % 26);
  __syncthreads();
  if (t < n) out[t] = d[n - 1 - t] + i[n - 1 - t] * 1000.0 + c[n - 1 - t];
}
// Static and dynamic together do not overlap; each block has its own.
__global__ void Both(int* out) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[32];
  __shared__ Point record;
  const int t = threadIdx.x;
  if (t < 32) fixed[t] = 1000 * int(blockIdx.x) + t;
  if (t < 32) dynamic[t] = -1000 * int(blockIdx.x) - t;
  if (t == 0) record = points[blockIdx.x % 3];
  __syncthreads();
  if (t < 32) out[blockIdx.x * 32 + t] = fixed[31 - t] + dynamic[t] + int(record.tag);
}
__device__ __noinline__ int SumOf(const int* p, int n) {  // any address space
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += p[i];
  return sum;
}
__global__ void Generic(const int* global, int* out) {
  __shared__ int cells[8];
  int local[8];
  for (int i = 0; i < 8; ++i) local[i] = i * int(threadIdx.x + 1);
  if (threadIdx.x < 8) cells[threadIdx.x] = 100 + int(threadIdx.x);
  __syncthreads();
  const int* choice[3] = {global, cells, local};
  out[threadIdx.x] = SumOf(choice[threadIdx.x % 3], 8);
  out[32 + threadIdx.x] = int(__isShared(cells)) | int(__isGlobal(global)) << 1 |
                          int(__isShared(global)) << 2 | int(__isGlobal(cells)) << 3;
}
// Bytes and shorts side by side: a store touches nothing but its own.
__global__ void Narrow(int* out) {
  __shared__ unsigned char bytes[64];
  __shared__ short shorts[64];
  const int t = threadIdx.x;
  bytes[t] = (unsigned char)(t * 5);
  shorts[t] = short(t * -300);
  __syncthreads();
  out[t] = int(bytes[63 - t]) * 100000 + shorts[63 - t];
}
__global__ void Constants(const int* index, float* out) {
  const int t = threadIdx.x;
  out[t] = table[5] + table[index[t]] * 10 + points[t % 3].x + float(points[2 - t % 3].y) +
           float(scalar);
}

template <class T, int N>
static void CheckTranspose() {
  cts::Buffer<T> out(N * N);
  Transpose<T, N><<<1, 96>>>(out.get());
  CTS_DONE();
  const std::vector<T> got = out.Read();
  for (int i = 0; i < N * N; ++i) CTS_EQ(got[i], T(i % N * N + i / N));
}

int main() {
  CheckTranspose<int, 16>();
  CheckTranspose<double, 24>();
  CheckTranspose<unsigned char, 9>();
  CheckTranspose<short, 33>();

  cts::Buffer<int> instances(12);
  Instances<<<1, 32>>>(instances.get());
  CTS_DONE();
  for (int i = 0; i < 4; ++i) {
    CTS_EQ(instances.Read()[i], 10 + i), CTS_EQ(instances.Read()[4 + i], 23 - i);
    CTS_EQ(instances.Read()[8 + i], 1);
  }
  cts::Buffer<double> sections(50);
  Sections<<<1, 64, 50 * 13>>>(sections.get(), 50);
  CTS_DONE();
  for (int t = 0; t < 50; ++t) {
    const int k = 49 - t;
    CTS_EQ(sections.Read()[t], k * 0.5 - k * 1000.0 + 'a' + k % 26);
  }
  cts::Buffer<int> both(5 * 32);
  Both<<<5, 64, 32 * sizeof(int)>>>(both.get());
  CTS_DONE();
  for (int i = 0; i < 160; ++i) CTS_EQ(both.Read()[i], (31 - i % 32) - i % 32 + 'a' + i / 32 % 3);
  cts::Buffer<int> global(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}), generic(64);
  Generic<<<1, 32>>>(global.get(), generic.get());
  CTS_DONE();
  for (int t = 0; t < 32; ++t) {
    CTS_EQ(generic.Read()[t], t % 3 == 0 ? 36 : t % 3 == 1 ? 828 : 28 * (t + 1));
    CTS_EQ(generic.Read()[32 + t], 3);
  }
  cts::Buffer<int> narrow(64);
  Narrow<<<1, 64>>>(narrow.get());
  CTS_DONE();
  for (int t = 0; t < 64; ++t)
    CTS_EQ(narrow.Read()[t], (63 - t) * 5 % 256 * 100000 - (63 - t) * 300);

  float values[64];
  std::vector<int> index(96);
  for (int i = 0; i < 64; ++i) values[i] = float(i * i);
  for (int i = 0; i < 96; ++i) index[i] = (i * 11) % 64;
  CTS_OK(cudaMemcpyToSymbol(table, values, sizeof values));
  cts::Buffer<int> indices(index);
  cts::Buffer<float> constants(96);
  Constants<<<1, 96>>>(indices.get(), constants.get());
  CTS_DONE();
  for (int t = 0; t < 96; ++t)
    CTS_EQ(constants.Read()[t], 25.0f + float(index[t] * index[t] * 10) + (1.5f + 2 * (t % 3)) +
                                    (2.5f + 2 * (2 - t % 3)) + 77.0f);
  // A launch sees the constants as they were when it was made.
  values[5] = 1000;
  CTS_OK(cudaMemcpyToSymbol(table, &values[5], sizeof(float), 5 * sizeof(float)));
  Constants<<<1, 96>>>(indices.get(), constants.get());
  CTS_DONE();
  CTS_EQ(constants.Read()[0], 1000.0f + 0.0f + 1.5f + 6.5f + 77.0f);
  return cts::Finish();
}
