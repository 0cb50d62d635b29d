// SPDX-License-Identifier: Apache-2.0
// Part of the tensor interface of candidates; see kuafu/tensor.h.
#pragma once
#include "kuafu/prelude.h"
#include "kuafu/tensor.h"
