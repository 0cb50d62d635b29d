// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: curand is not available: random numbers would differ from the reference"
