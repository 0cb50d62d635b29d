#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Remakes the device modules in the seed corpus after a change of their format.
#
#   tools/fuzz_seeds.sh [COMPILER]        default: build/dev/bin/kuafu-compiler
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
compiler=${1:-$root/build/dev/bin/kuafu-compiler}
object=$(mktemp)
trap 'rm -f "$object"' EXIT
for source in "$root"/src/isa/testdata/fuzz_sources/*.cu; do
  "$compiler" "$source" cuda 900 \
    "$root/src/isa/testdata/fuzz/module/$(basename "$source" .cu).kfdm" "$object"
done
