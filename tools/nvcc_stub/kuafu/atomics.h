// SPDX-License-Identifier: Apache-2.0
// In place of the dialect header of this name: the vendor's compiler has atomics of its own.
#pragma once
