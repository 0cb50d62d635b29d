// SPDX-License-Identifier: Apache-2.0
// reduce() is part of the main header here.
#pragma once
#include "cooperative_groups.h"
