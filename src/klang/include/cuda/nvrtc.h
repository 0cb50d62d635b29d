// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: nvrtc is not available: compile the kernel with the file"
