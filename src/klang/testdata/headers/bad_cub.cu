// SPDX-License-Identifier: Apache-2.0
// A part of the library that is not there.
#include <cub/cub.cuh>
__global__ void k(int* x) {
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  __shared__ typename Sort::TempStorage temp;
}
