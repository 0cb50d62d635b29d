// SPDX-License-Identifier: Apache-2.0
// What torch/extension.h brings.
#pragma once

#include "kuafu/dispatch.h"
#include "kuafu/library.h"
#include "kuafu/pybind.h"
#include "kuafu/streams.h"
#include "kuafu/tensor.h"
