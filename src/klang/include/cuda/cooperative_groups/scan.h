// SPDX-License-Identifier: Apache-2.0
// No scans: fails by name.
#error "kuafu: cooperative_groups scans are not available: write the scan with shfl_up"
