// SPDX-License-Identifier: Apache-2.0
// A library that is not there.
#include <cub/cub.cuh>
