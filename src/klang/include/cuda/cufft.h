// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: cufft is not available: write the transform as a kernel"
