// SPDX-License-Identifier: Apache-2.0
// A shuffle without a mask.
__global__ void k(int* p) { *p = __shfl_down(*p, 1); }
