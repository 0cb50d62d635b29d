// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: fp8 is not available: use half or bfloat16"
