// SPDX-License-Identifier: Apache-2.0
// threadIdx and the like are always there.
#pragma once
#include "kuafu/prelude.h"
