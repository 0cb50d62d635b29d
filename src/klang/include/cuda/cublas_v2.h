// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: cublas is not available: write the matrix product as a kernel"
