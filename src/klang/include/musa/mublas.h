// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: mublas is not available: write the matrix product as a kernel"
