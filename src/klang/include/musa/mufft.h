// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: mufft is not available: write the transform as a kernel"
