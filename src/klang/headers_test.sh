#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles testdata/headers for device and host with clang and refuses inline assembly in the IR;
# snippets marked "// nvcc" are shown to nvcc too, where there is one, so that our headers accept no
# private dialect.
# Snippets named bad_* must fail, with a message that says kuafu.
here=$(cd "$(dirname "$0")" && pwd); inc=$here/include; clang=${CLANG:-clang-19}; failed=0
# clang's wrappers of the C++ headers suit NVIDIA's headers; ours stand without them.
resource=$("$clang" -print-resource-dir)/include
compile() {  # file, device|host
  local flags=(-std=c++17 -O1 -nocudainc -nocudalib -nobuiltininc -idirafter "$resource"
    -Xclang -target-sdk-version=12.4 --cuda-gpu-arch=sm_90
    -isystem "$inc" -isystem "$inc/cuda"
    -isystem "$inc/musa" -isystem "$inc/torch"
    -include kuafu/prelude.h -Wno-unknown-cuda-version -x cuda)
  case $1 in *.mu) flags+=(-D__MUSACC__=1 -DKUAFU_MUSA=1);;
    *) flags+=(-D__CUDACC__=1 -D__NVCC__=1);; esac
  if [ "$2" = device ]; then
    flags+=(--cuda-device-only -Xclang -target-feature -Xclang +ptx83
      -Xclang -fcuda-allow-variadic-functions -Xclang -disable-llvm-passes)
    case $1 in *.mu) flags+=(-U__CUDA_ARCH__ -D__MUSA_ARCH__=220);; esac
  else flags+=(--cuda-host-only); fi
  timeout 60 "$clang" "${flags[@]}" "$1" -S -emit-llvm -o - 2>&1
}
for file in "$here"/testdata/headers/*.cu "$here"/testdata/headers/*.mu; do
  name=$(basename "$file")
  for side in device host; do
    out=$(compile "$file" $side); status=$?
    case $name in
      bad_*) if [ $status = 0 ] || ! grep -q 'kuafu: ' <<<"$out"; then
          echo "FAIL $name $side: not refused by name"; failed=1; fi; break;;
    esac
    if [ $status != 0 ]; then
      echo "FAIL $name $side"; grep -A4 'error' <<<"$out" | head -20; failed=1
    elif [ $side = device ] && grep -q 'call.* asm ' <<<"$out"; then
      echo "FAIL $name: inline assembly"; failed=1; fi
  done
  if grep -q '^// nvcc' "$file" && [ -x "${NVCC:=/usr/local/cuda/bin/nvcc}" ] &&
      [ -n "$KUAFU_TEST_NVCC" ]; then
    timeout 120 "$NVCC" -std=c++17 -arch=sm_90 --expt-relaxed-constexpr -rdc=true -ptx "$file" \
      -o /dev/null || { echo "FAIL $name: nvcc refuses it"; failed=1; }
  fi
done
exit $failed
