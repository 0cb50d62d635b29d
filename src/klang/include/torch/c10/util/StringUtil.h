// SPDX-License-Identifier: Apache-2.0
// Part of the tensor interface of candidates; see kuafu/torch.h.
#pragma once
#include "kuafu/prelude.h"
#include "kuafu/torch.h"
