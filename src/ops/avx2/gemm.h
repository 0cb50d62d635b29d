// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm.h"

namespace kuafu::ops::avx2 {

GemmCode<F32> GemmF32();
GemmCode<F64> GemmF64();
GemmCode<BF16> GemmBF16();
GemmCode<U8S8> GemmU8S8();

}  // namespace kuafu::ops::avx2
