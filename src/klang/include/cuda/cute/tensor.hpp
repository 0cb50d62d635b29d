// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: cute is not available: write the kernel with wmma or plain CUDA"
