// SPDX-License-Identifier: Apache-2.0
// half and bfloat16.
#pragma once
#include "kuafu/prelude.h"
#include "kuafu/half_names.h"
