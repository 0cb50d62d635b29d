// SPDX-License-Identifier: Apache-2.0
// A kernel that launches a kernel: refused with the user's line.
#include <cuda_runtime.h>

__global__ void child(int* x) { x[0] = 1; }
__global__ void parent(int* x) {
  child<<<1, 1>>>(x);  // EXPECT: compile_error
}
int main() { return 0; }
