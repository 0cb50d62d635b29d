// SPDX-License-Identifier: Apache-2.0
// For tools/nvcc_agreement.py: takes the place of klang's prelude where the vendor's compiler reads
// the tensor interface of candidates. That compiler brings dialect headers of its own.
#pragma once
#include "kuafu/runtime_api.h"
