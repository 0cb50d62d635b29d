#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How far are our estimates of registers per thread from what ptxas allots?

    tools/ptxas_registers.py [--arch=90] [--json] [--compiler=PATH] [--nvcc=PATH]

Both compile kernels/*/kernel.cu; each kernel function is one line, worst first. The estimate is
that of src/isa/pressure.cpp, whose constants were fitted on half of the folders. Exit 77 where nvcc
is absent, which test runners count as skipped.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from nvcc_agreement import INCLUDE, KERNELS, find_compiler, find_nvcc, run  # noqa: E402

CLOSE = 0.15
FUNCTION = re.compile(r"Compiling entry function '(\S+)'")
REGISTERS = re.compile(r"Used (\d+) registers")


def allotted(nvcc, arch, source, folder):
    """{mangled name: registers}"""
    code, text = run([nvcc, "-x", "cu", "-cubin", "-std=c++17", f"-arch=sm_{arch}", "-w",
                      "-Xptxas", "-v", *[f"-I{i}" for i in INCLUDE],
                      "-o", str(folder / f"{source.parent.name}.cubin"), str(source)])
    if code != 0:
        sys.exit(f"nvcc does not compile {source}: {text.strip()[-300:]}")
    registers, name = {}, None
    for line in text.splitlines():
        if found := FUNCTION.search(line):
            name = found.group(1)
        elif (found := REGISTERS.search(line)) and name:
            registers[name] = int(found.group(1))
    return registers


def estimated(compiler, arch, source, folder):
    code, text = run([compiler, str(source), "cuda", f"{arch}0",
                      str(folder / f"{source.parent.name}.m"),
                      str(folder / f"{source.parent.name}.o")])
    if code != 0:
        sys.exit(f"kuafu-compiler does not compile {source}: {text.strip()[-300:]}")
    return {k["symbol"]: k["registers"] for k in json.loads(text)["kernels"]}


def rows_of(nvcc, compiler, arch):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def both(source):
            ours = estimated(compiler, arch, source, folder)
            theirs = allotted(nvcc, arch, source, folder)
            return [{"kernel": source.parent.name, "symbol": symbol, "ptxas": count,
                     "estimate": ours.get(symbol, 0)} for symbol, count in theirs.items()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(both, sorted(KERNELS.glob("*/kernel.cu")))
            return [row for rows in found for row in rows]


def error_of(row):
    return abs(row["estimate"] / row["ptxas"] - 1)


def fitted(row):
    """Whether the constants of the estimate have seen this kernel."""
    return hashlib.md5(row["kernel"].encode()).digest()[-1] % 2 == 0


def summary_of(rows):
    errors = [error_of(row) for row in rows]
    return {"kernels": len(rows), "within": sum(e <= CLOSE for e in errors),
            "median_error": statistics.median(errors),
            "median_ratio": statistics.median(r["estimate"] / r["ptxas"] for r in rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--arch", default="90")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--compiler")
    parser.add_argument("--nvcc")
    given = parser.parse_args()
    nvcc, compiler = find_nvcc(given.nvcc), find_compiler(given.compiler)
    if not nvcc:
        print("skipped: no nvcc")
        sys.exit(77)
    if not compiler:
        sys.exit("no kuafu-compiler; build first, or --compiler=PATH")
    rows = sorted(rows_of(nvcc, compiler, given.arch), key=error_of, reverse=True)
    summaries = {"fitted on": summary_of([r for r in rows if fitted(r)]),
                 "held out": summary_of([r for r in rows if not fitted(r)])}
    if given.json:
        print(json.dumps({"arch": given.arch, "summaries": summaries, "rows": rows}))
        return
    for name, s in summaries.items():
        print(f"{name}: {s['within']} of {s['kernels']} kernels within {CLOSE:.0%} of ptxas for "
              f"sm_{given.arch}; median error {s['median_error']:.0%}, median estimate "
              f"{s['median_ratio']:.2f} of ptxas")
    print("\n| kernel | ptxas | estimate |\n|---|---:|---:|")
    for row in rows:
        print(f"| {row['kernel']} {row['symbol']} | {row['ptxas']} | {row['estimate']} |")


if __name__ == "__main__":
    main()
