// SPDX-License-Identifier: Apache-2.0
// Hostile: nothing at all

