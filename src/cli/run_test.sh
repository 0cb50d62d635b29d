#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Goal: `kuafu run` accepts a right program, and names the class and the line of each defect.
# Method: every program in src/cli/testdata; `// EXPECT: class` marks the line that must be named, a
# program without a mark must pass. Runs each at its target under two orders.
set -u
kuafu=$1
cd "$(dirname "$0")/testdata" || exit 4
failed=0 passed=0
for file in *.cu *.mu; do
  [ -e "$file" ] || continue
  target=$(sed -n 's|^// TARGET: ||p' "$file"); target=${target:-sim:h100}
  class=$(sed -n 's|.*// EXPECT: \([a-z_]*\).*|\1|p' "$file" | head -n 1)
  lines=$(grep -n '// EXPECT' "$file" | cut -d: -f1)
  for seed in 0 7; do
    out=$(timeout 60 "$kuafu" run "$file" --target="$target" --seed=$seed --json 2>&1); status=$?
    ok=1
    if [ -z "$class" ]; then
      [ $status -eq 0 ] || ok=0
    else
      [ $status -eq 1 ] && grep -q "\"class\": \"$class\"" <<<"$out" || ok=0
      if [ "$class" != compile_error ]; then
        named=0
        for line in $lines; do grep -qE "\"(other_)?line\": $line,?\$" <<<"$out" && named=1; done
        [ $named -eq 1 ] || ok=0
      fi
    fi
    if [ $ok -eq 1 ]; then passed=$((passed + 1)); else
      failed=$((failed + 1))
      printf 'FAILED: %s seed %s (expected %s at line %s), exit %s\n%s\n' "$file" \
        "$seed" "${class:-pass}" "$lines" "$status" "$out"
    fi
  done
done
printf '%d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ] && [ $passed -gt 0 ]
