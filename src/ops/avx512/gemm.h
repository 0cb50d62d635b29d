// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm.h"

namespace kuafu::ops::avx512 {

GemmCode<F32> GemmF32();
GemmCode<F64> GemmF64();
GemmCode<BF16> GemmBF16();  // needs AVX512_BF16
GemmCode<U8S8> GemmU8S8();  // needs AVX512_VNNI

}  // namespace kuafu::ops::avx512
