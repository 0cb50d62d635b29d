#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets and runs each of them for so many executions over its seed corpus.
#
#   tools/run_fuzz.sh [--build=DIR] [--corpus=DIR] [EXECUTIONS [TARGET...]]
#
# EXECUTIONS is 100000 unless given. What is learnt on the way goes to --corpus (a new temporary
# directory unless given), never to the seeds. A finding stays in DIR/findings and makes the exit
# status 1: turn it into a test named after the hazard.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/fuzz
corpus=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --build=*) build=${1#*=} ;;
    --corpus=*) corpus=${1#*=} ;;
    *) echo "run_fuzz: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
executions=${1:-100000}
[[ $executions =~ ^[1-9][0-9]*$ ]] || { echo "run_fuzz: executions must be a number" >&2; exit 2; }
shift || true

command -v clang++-19 >/dev/null || { echo "run_fuzz: clang-19 is missing" >&2; exit 3; }
if [[ ! -e $(clang++-19 -print-file-name=libclang_rt.fuzzer.a) ]] &&
   ! compgen -G '/usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.fuzzer*' >/dev/null; then
  echo "run_fuzz: libFuzzer is missing: ./kuafu dev-setup" >&2
  exit 3
fi

log=$(mktemp)
trap 'rm -rf "$log" ${own_corpus:+"$own_corpus"}' EXIT
{ cmake -S "$root" -B "$build" --preset fuzz && ninja -C "$build" fuzzers; } >"$log" 2>&1 || {
  cat "$log" >&2
  echo "run_fuzz: the build failed" >&2
  exit 4
}
if [[ -z $corpus ]]; then own_corpus=$(mktemp -d); corpus=$own_corpus; fi
findings=$build/findings
mkdir -p "$findings"

# <module>_<name>_fuzz is src/<module>/<name>_fuzz.cpp, its seeds are in testdata/fuzz/<name>.
status=0
for source in "$root"/src/*/*_fuzz.cpp; do
  module=$(basename "$(dirname "$source")")
  name=$(basename "$source" _fuzz.cpp)
  target=${module}_${name}_fuzz
  if (($# > 0)) && [[ " $* " != *" $target "* ]]; then continue; fi
  seeds=$(dirname "$source")/testdata/fuzz/$name
  options=(-runs="$executions" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1)
  if [[ -f $seeds.dict ]]; then options+=(-dict="$seeds.dict"); fi
  mkdir -p "$corpus/$target"
  began=$SECONDS
  if "$build/bin/$target" "${options[@]}" -artifact_prefix="$findings/$target-" \
      "$corpus/$target" "$seeds" >"$log" 2>&1; then
    done_runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    covered=$(grep -oE 'cov: [0-9]+' "$log" | tail -1 || true)
    echo "$target: ${done_runs:-?} executions, no finding, ${covered:-}, $((SECONDS - began)) s"
    if ((${done_runs:-0} < executions)); then
      echo "$target: fewer executions than asked for" >&2
      status=1
    fi
  else
    tail -60 "$log" >&2
    echo "$target: a finding, its input is in $findings" >&2
    status=1
  fi
done
exit "$status"
