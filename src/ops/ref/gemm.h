// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm.h"

namespace kuafu::ops::ref {

// Scalar, each element on its own, floats summed in double: what the others are judged by.
template <class P>
GemmCode<P> Gemm();

}  // namespace kuafu::ops::ref
