// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: cudnn is not available: write the operation as a kernel"
