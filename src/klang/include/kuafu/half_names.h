// SPDX-License-Identifier: Apache-2.0
// The short names of half and bfloat16. The prelude has the types for every source, but a source that does not
// include the vendor's header may use these names for something else.
#pragma once

#include "kuafu/half.h"

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#ifdef KUAFU_MUSA
typedef __nv_bfloat16 __mt_bfloat16;
typedef __nv_bfloat162 __mt_bfloat162;
typedef __nv_bfloat16 mt_bfloat16;
typedef __nv_bfloat162 mt_bfloat162;
#endif
