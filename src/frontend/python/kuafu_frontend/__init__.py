# SPDX-License-Identifier: Apache-2.0
"""What runs a PyTorch reference file and turns it into trials. Imported by ../zygote.py, once;
every request then runs in a fork of that process."""
