#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives the MUSA form (.mu) of every CUDA source (.cu) in kernels/ and examples/.

The two dialects differ in names only, so the .mu files are made, never edited: a fix lands in both.
    make_mu.py            rewrite every .mu next to its .cu
    make_mu.py --check    exit 1 and name each file that is out of step (also checks index.json)
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent

# Whole identifiers and header names first; the prefix rule below catches the rest of the runtime API.
NAMES = {
    "cuda_runtime.h": "musa_runtime.h",
    "cuda_fp16.h": "musa_fp16.h",
    "cuda_bf16.h": "musa_bf16.h",
    "__nv_bfloat16": "__mt_bfloat16",
    "__nv_bfloat162": "__mt_bfloat162",
    "__CUDA_ARCH__": "__MUSA_ARCH__",
    "getCurrentCUDAStream": "getCurrentMUSAStream",
}
TOKEN = re.compile(r"cuda_(?:runtime|fp16|bf16)\.h|[A-Za-z_]\w*")


def port_token(match):
    token = match.group(0)
    if token in NAMES:
        return NAMES[token]
    if re.match(r"cuda[A-Z]", token):  # cudaMemcpyToSymbol, cudaError_t, cudaSuccess ...
        return "musa" + token[4:]
    return token


def port(text):
    """Returns the MUSA text of a CUDA source. Manifest and EXPECT comments contain no such token."""
    return TOKEN.sub(port_token, text)


# An example has a .mu only where the demo uses one.
def sources():
    yield from sorted(ROOT.glob("*/kernel.cu"))
    yield from (p for p in sorted((ROOT.parent / "examples").rglob("*.cu"))
                if p.with_suffix(".mu").exists())


def check_index():
    """index.json lists each directory once, with files that exist and an entry that is defined."""
    listed = json.loads((ROOT / "index.json").read_text())["kernels"]
    names = [k["name"] for k in listed]
    present = sorted(p.parent.name for p in ROOT.glob("*/kernel.cu"))
    problems = [f"index.json: {n} is listed but has no kernel.cu" for n in names if n not in present]
    problems += [f"index.json: {n} is not listed" for n in present if n not in names]
    problems += [f"index.json: {n} is listed twice" for n in set(names) if names.count(n) > 1]
    for kernel in listed:
        for key in ("reference", "cuda", "musa"):
            path = ROOT / kernel[key]
            if not path.is_file():
                problems.append(f"index.json: {kernel['name']}: {kernel[key]} does not exist")
            elif key != "reference" and not re.search(rf"\b{kernel['entry']}\(", path.read_text()):
                problems.append(f"{kernel[key]}: entry {kernel['entry']} is not defined")
    return problems


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    problems = []
    for source in sources():
        target = source.with_suffix(".mu")
        text = port(source.read_text())
        if not arguments:
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            problems.append(f"{target}: differs from {source.name}; run kernels/make_mu.py")
    problems += check_index()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
