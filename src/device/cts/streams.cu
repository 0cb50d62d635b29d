// SPDX-License-Identifier: Apache-2.0
// Streams and events: order within a stream, order between streams by events and by the default
// stream, host functions, async copies from and to pinned memory.
#include "check.h"

#include <algorithm>

__global__ void AddOne(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}
__global__ void Double(const int* from, int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * 2;
}
// Long enough that an unordered reader would come first.
__global__ void SlowSet(int* p, int n, int value) {
  int v = value;
  for (int i = 0; i < 2000; ++i) v = v * 5 + 1;
  for (int i = 0; i < 2000; ++i) v = (v - 1) * int(3435973837u);  // the inverse of 5
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = v;
}

constexpr int kN = 1000;

static void OneStream() {
  cudaStream_t stream;
  CTS_OK(cudaStreamCreate(&stream));
  int *host = nullptr, *back = nullptr;
  CTS_OK(cudaMallocHost(reinterpret_cast<void**>(&host), kN * sizeof(int)));
  CTS_OK(cudaMallocHost(reinterpret_cast<void**>(&back), kN * sizeof(int)));
  for (int i = 0; i < kN; ++i) host[i] = i;
  cts::Buffer<int> a(kN), b(kN);
  CTS_OK(cudaMemcpyAsync(a.get(), host, kN * sizeof(int), cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < 5; ++i) AddOne<<<8, 128, 0, stream>>>(a.get(), kN);
  Double<<<8, 128, 0, stream>>>(a.get(), b.get(), kN);
  CTS_OK(cudaMemsetAsync(a.get(), 0, kN * sizeof(int), stream));
  CTS_OK(cudaMemcpyAsync(back, b.get(), kN * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CTS_OK(cudaStreamSynchronize(stream));
  CTS_OK(cudaStreamQuery(stream));
  for (int i = 0; i < kN; ++i) CTS_EQ(back[i], (i + 5) * 2);
  CTS_EQ(a.Read()[7], 0);
  // From pageable memory the call has taken the bytes when it returns.
  std::vector<int> pageable(kN, 3);
  CTS_OK(
      cudaMemcpyAsync(a.get(), pageable.data(), kN * sizeof(int), cudaMemcpyHostToDevice, stream));
  std::fill(pageable.begin(), pageable.end(), 4);
  CTS_OK(cudaStreamSynchronize(stream));
  const std::vector<int> taken = a.Read();
  for (int i = 0; i < kN; ++i) CTS_EQ(taken[i], 3);
  CTS_OK(cudaStreamDestroy(stream));
  CTS_OK(cudaFreeHost(host));
  CTS_OK(cudaFreeHost(back));
}

static void TwoStreams(unsigned flags) {
  cudaStream_t first, second;
  cudaEvent_t ready;
  CTS_OK(cudaStreamCreateWithFlags(&first, flags));
  CTS_OK(cudaStreamCreateWithFlags(&second, flags));
  CTS_OK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  cts::Buffer<int> a(kN), b(kN);
  CTS_OK(cudaDeviceSynchronize());  // the fills above, for streams that do not wait for them
  for (int round = 1; round <= 3; ++round) {
    SlowSet<<<1, 32, 0, first>>>(a.get(), kN, round);
    CTS_OK(cudaEventRecord(ready, first));
    CTS_OK(cudaStreamWaitEvent(second, ready, 0));
    Double<<<8, 128, 0, second>>>(a.get(), b.get(), kN);
    CTS_OK(cudaEventRecord(ready, second));
    CTS_OK(cudaStreamWaitEvent(first, ready, 0));  // before a is set again
  }
  CTS_OK(cudaEventSynchronize(ready));
  CTS_OK(cudaEventQuery(ready));
  int last = 0;
  CTS_OK(cudaMemcpy(&last, b.get() + kN - 1, sizeof last, cudaMemcpyDeviceToHost));
  CTS_EQ(last, 6);
  // An event stands for what was recorded, not for what came after.
  CTS_OK(cudaStreamWaitEvent(second, ready, 0));
  CTS_OK(cudaStreamSynchronize(first));
  CTS_OK(cudaStreamSynchronize(second));
  CTS_OK(cudaEventDestroy(ready));
  CTS_OK(cudaStreamDestroy(first));
  CTS_OK(cudaStreamDestroy(second));
}

// The default stream waits for blocking streams and they for it; no event is needed.
static void DefaultStream() {
  cudaStream_t stream;
  CTS_OK(cudaStreamCreate(&stream));
  cts::Buffer<int> a(kN), b(kN), c(kN);
  SlowSet<<<1, 32, 0, stream>>>(a.get(), kN, 21);
  Double<<<8, 128>>>(a.get(), b.get(), kN);
  Double<<<8, 128, 0, stream>>>(b.get(), c.get(), kN);
  int out = 0;
  CTS_OK(cudaMemcpy(&out, c.get() + 5, sizeof out, cudaMemcpyDeviceToHost));
  CTS_EQ(out, 84);
  CTS_OK(cudaStreamDestroy(stream));
}

struct Note {
  const int* watched;
  int seen, order;
};
static int order = 0;
static void Look(void* data) {
  Note* note = static_cast<Note*>(data);
  note->seen = *note->watched;
  note->order = ++order;
}
static void HostFunctions() {
  cudaStream_t stream;
  CTS_OK(cudaStreamCreate(&stream));
  int* host = nullptr;
  CTS_OK(cudaMallocHost(reinterpret_cast<void**>(&host), sizeof(int)));
  *host = -1;
  cts::Buffer<int> a(1);
  Note before = {host, 0, 0}, after = {host, 0, 0};
  CTS_OK(cudaLaunchHostFunc(stream, Look, &before));
  SlowSet<<<1, 1, 0, stream>>>(a.get(), 1, 77);
  CTS_OK(cudaMemcpyAsync(host, a.get(), sizeof(int), cudaMemcpyDeviceToHost, stream));
  CTS_OK(cudaLaunchHostFunc(stream, Look, &after));
  CTS_OK(cudaStreamSynchronize(stream));
  CTS_EQ(before.seen, -1), CTS_EQ(before.order, 1);
  CTS_EQ(after.seen, 77), CTS_EQ(after.order, 2);
  CTS_ERROR(cudaLaunchHostFunc(stream, nullptr, nullptr), cudaErrorInvalidValue);
  cudaGetLastError();
  CTS_OK(cudaFreeHost(host));
  CTS_OK(cudaStreamDestroy(stream));
}

static void Events() {
  cudaEvent_t start, stop, untimed;
  CTS_OK(cudaEventCreate(&start));
  CTS_OK(cudaEventCreate(&stop));
  CTS_OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  // Never recorded: complete, but no time is known.
  CTS_OK(cudaEventQuery(start));
  CTS_OK(cudaEventSynchronize(start));
  float ms = -1;
  CTS_ERROR(cudaEventElapsedTime(&ms, start, stop), cudaErrorInvalidResourceHandle);
  cts::Buffer<int> a(kN);
  CTS_OK(cudaEventRecord(start, nullptr));
  SlowSet<<<1, 32>>>(a.get(), kN, 1);
  CTS_OK(cudaEventRecord(stop, nullptr));
  CTS_OK(cudaEventRecord(untimed, nullptr));
  CTS_OK(cudaEventSynchronize(stop));
  CTS_OK(cudaEventElapsedTime(&ms, start, stop));
  CTS_TRUE(ms > 0);
  float back = 0;
  CTS_OK(cudaEventElapsedTime(&back, stop, start));
  CTS_TRUE(back < 0);
  CTS_ERROR(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  CTS_OK(cudaEventDestroy(start));
  CTS_OK(cudaEventDestroy(stop));
  CTS_OK(cudaEventDestroy(untimed));
}

static void Handles() {
  cudaStream_t stream;
  CTS_ERROR(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
  CTS_ERROR(cudaStreamCreateWithFlags(&stream, 0x80), cudaErrorInvalidValue);
  CTS_ERROR(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  CTS_ERROR(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  CTS_OK(cudaStreamSynchronize(nullptr));
  CTS_OK(cudaStreamQuery(nullptr));
  int least = 1, greatest = 1;
  CTS_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CTS_TRUE(greatest <= least);
  CTS_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  CTS_OK(cudaStreamDestroy(stream));
  // Memory of a stream's order: made, used and given back by the stream alone.
  int *p = nullptr, out = 0;
  CTS_OK(cudaStreamCreate(&stream));
  CTS_OK(cudaMallocAsync(reinterpret_cast<void**>(&p), 64 * sizeof(int), stream));
  SlowSet<<<1, 32, 0, stream>>>(p, 64, 9);
  CTS_OK(cudaMemcpyAsync(&out, p + 63, sizeof out, cudaMemcpyDeviceToHost, stream));
  CTS_OK(cudaFreeAsync(p, stream));
  CTS_OK(cudaStreamSynchronize(stream));
  CTS_EQ(out, 9);
  CTS_OK(cudaStreamDestroy(stream));
}

int main() {
  OneStream();
  TwoStreams(cudaStreamDefault);
  TwoStreams(cudaStreamNonBlocking);
  DefaultStream();
  HostFunctions();
  Events();
  Handles();
  return cts::Finish();
}
