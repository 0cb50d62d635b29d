// SPDX-License-Identifier: Apache-2.0
// CUDART_* constants.
#pragma once
#include "kuafu/constants.h"
