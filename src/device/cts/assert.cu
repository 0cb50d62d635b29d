// SPDX-License-Identifier: Apache-2.0
// A failed assert: the error is cudaErrorAssert, is told by the call that waits, and stays: no
// later work runs on the device (CUDA programming guide, "Assertion" and "Trap function").

// FINDING: runtime_error
#include "check.h"

#include <cassert>

__global__ void Stop(const int* values, int* out) {
  assert(values[0] == 1);  // holds
  if (threadIdx.x == 3) assert(values[0] == 2);
  out[threadIdx.x] = 1;
}
__global__ void Later(int* out) { out[0] = 77; }

int main() {
  int *values = nullptr, *out = nullptr, one = 1;
  CTS_OK(cudaMalloc(reinterpret_cast<void**>(&values), sizeof one));
  CTS_OK(cudaMalloc(reinterpret_cast<void**>(&out), 32 * sizeof(int)));
  CTS_OK(cudaMemcpy(values, &one, sizeof one, cudaMemcpyHostToDevice));
  Stop<<<1, 32>>>(values, out);
  CTS_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
  CTS_ERROR(cudaGetLastError(), cudaErrorAssert);
  Later<<<1, 1>>>(out);
  CTS_ERROR(cudaGetLastError(), cudaErrorAssert);  // the error does not go away
  CTS_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
  CTS_ERROR(cudaMemcpy(&one, out, sizeof one, cudaMemcpyDeviceToHost), cudaErrorAssert);
  CTS_EQ(one, 1);
  return cts::Finish();
}
