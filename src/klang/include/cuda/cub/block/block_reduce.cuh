// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: cub is not available: write the reduction, scan or sort in the kernel"
