// SPDX-License-Identifier: Apache-2.0
// What torch/extension.h brings, the headers of C++ that PyTorch's own include among it: candidates
// use std::sort or std::cerr without an include of their own.
#pragma once

#include <algorithm>
#include <complex>
#include <deque>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "kuafu/dispatch.h"
#include "kuafu/library.h"
#include "kuafu/pybind.h"
#include "kuafu/streams.h"
#include "kuafu/tensor.h"
