// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
__global__ void k(float* x) { x[0] = undeclared_name; }  // EXPECT: compile_error
int main() { return 0; }
