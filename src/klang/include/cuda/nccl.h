// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: nccl is not available: a candidate runs on one device"
