// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: wmma is not available: write the product with plain loads and fmaf"
