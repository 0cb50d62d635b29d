// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime as Kuafu provides it.
#pragma once
#ifdef KUAFU_MUSA
#error "kuafu: this is a MUSA source and has no CUDA headers: include <musa_runtime.h>"
#endif
#include "kuafu/prelude.h"
