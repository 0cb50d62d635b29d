// SPDX-License-Identifier: Apache-2.0
// The MUSA runtime as Kuafu provides it.
#pragma once
#ifndef KUAFU_MUSA
#error "kuafu: this is a CUDA source and has no MUSA headers: include <cuda_runtime.h>"
#endif
#include "kuafu/prelude.h"
#include "kuafu/half_names.h"
