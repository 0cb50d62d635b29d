# SPDX-License-Identifier: Apache-2.0
"""The process of an extension candidate: real PyTorch whose tensors live on the simulated GPU."""
