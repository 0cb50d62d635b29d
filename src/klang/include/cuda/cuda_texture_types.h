// SPDX-License-Identifier: Apache-2.0
// Not provided; fails by name.
#error "kuafu: textures are not available: load from the pointer"
