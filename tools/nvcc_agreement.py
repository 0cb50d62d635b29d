#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where do our compiler and the vendor's agree on which sources are CUDA?

    tools/nvcc_agreement.py [--limit=N] [--json] [--compiler=PATH] [--nvcc=PATH] [--cache=FILE]

Both compile the correct kernels, both twins of the compile-* defects, a choice of the other
defects, and automatic breakages of the kernels (a name nobody declared, a semicolon lost, a type
misspelt ...). The table counts who accepts what; each disagreement is listed with both messages.
Exit 1 when there is one that kernels/nvcc_disagreements.json does not explain, by the name of the
source or of its group; 77 where nvcc is
absent, which test runners count as skipped.

nvcc reads the tensor interface of candidates from our own header, with tools/nvcc_stub in front, so
that it needs no PyTorch; it compiles as far as PTX, which checks the host's half as well. A file
takes it seconds, hence the cache, which knows the text, the headers and the version of each.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from mutation_source import Source  # noqa: E402  (beside this file)

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kernels"
EXPLAINED = KERNELS / "nvcc_disagreements.json"
INCLUDE = [ROOT / "tools/nvcc_stub", ROOT / "src/klang/include",
           ROOT / "src/klang/include/torch", ROOT / "src/klang/include/torch/torch"]
SECONDS_MAX = 120
LIMIT = 160

BREAKAGES = {}


def breakage(function):
    BREAKAGES[function.__name__] = function
    return function


def first(source, test):
    """Index of a token in the middle of those that pass, so that not always the first is taken."""
    found = [i for i, token in enumerate(source.tokens) if test(i, token)]
    return found[len(found) // 2] if found else None


def swap(source, index, text, last=None):
    if index is None:
        return None
    end = source.tokens[index if last is None else last].end
    return source.text[:source.tokens[index].start] + text + source.text[end:]


@breakage
def undeclared_in_device_code(s):
    return swap(s, first(s, lambda i, t: t.region == "device" and t.text in ("threadIdx", "rows",
                                                                            "count", "n", "dim")),
                "nobody_declared_me")


@breakage
def undeclared_in_host_code(s):
    return swap(s, first(s, lambda i, t: t.region == "host" and t.kind == "name" and not t.checked
                         and s.t(i + 1) == "." and s.t(i - 1) in ("(", "=")), "nobody_declared_me")


@breakage
def semicolon_lost_in_device_code(s):
    return swap(s, first(s, lambda i, t: t.region == "device" and t.text == ";"
                         and s.t(i - 1) in (")", "]")), "")


@breakage
def semicolon_lost_in_host_code(s):
    return swap(s, first(s, lambda i, t: t.region == "host" and t.text == ";"), "")


@breakage
def brace_lost(s):
    return swap(s, first(s, lambda i, t: t.region == "device" and t.text == "}"), "")


@breakage
def type_misspelt(s):
    return swap(s, first(s, lambda i, t: t.region == "device" and t.text in ("float", "int")),
                "flot")


@breakage
def barrier_misspelt(s):
    return swap(s, first(s, lambda i, t: t.text == "__syncthreads"), "__syncthread")


@breakage
def include_of_tensors_missing(s):
    return s.text.replace("#include <torch/extension.h>\n", "")


@breakage
def include_of_nothing(s):
    return s.text.replace("#include <torch/extension.h>", "#include <torch/extensions.h>")


@breakage
def pointer_type_wrong(s):
    k = first(s, lambda i, t: t.region == "host" and t.text == "data_ptr" and s.t(i + 2) == "float")
    return None if k is None else swap(s, k + 2, "int")


@breakage
def argument_missing_in_launch(s):
    k = first(s, lambda i, t: t.text == ">>>" and s.t(i + 1) == "(" and len(s.arguments(i + 1)) > 1)
    if k is None:
        return None
    a, b = s.arguments(k + 1)[0]
    return swap(s, a, "", last=b + 1)


@breakage
def write_through_const(s):
    k = first(s, lambda i, t: t.region == "device" and t.text == "=" and s.t(i - 1) == "]")
    name = next((s.t(i + 3) for i, t in enumerate(s.tokens) if t.text == "const"
                 and s.t(i + 1) == "float" and s.t(i + 2) == "*" and s.kind(i + 3) == "name"), None)
    end = s.statement_end(k) if k is not None and name and name != "__restrict__" else None
    return None if end is None else swap(s, end, f"; {name}[0] = 1.0f;")


@breakage
def value_returned_by_kernel(s):
    k = first(s, lambda i, t: t.text == "__global__" and s.t(i + 1) == "void")
    return None if k is None else swap(s, k + 1, "int")


@breakage
def device_calls_host(s):
    return swap(s, first(s, lambda i, t: t.text == "__device__" and s.t(i + 1) != "__forceinline__"
                         and "__global__" in s.text), "__host__")


@breakage
def launch_without_end(s):
    return swap(s, first(s, lambda i, t: t.text == ">>>"), ">>")


@breakage
def shuffle_without_mask(s):
    k = first(s, lambda i, t: re.fullmatch(r"__shfl\w*_sync", t.text) is not None)
    if k is None:
        return None
    a, b = s.arguments(k + 1)[0]
    text = swap(s, a, "", last=b + 1)
    return text[:s.tokens[k].start] + s.t(k)[:-5] + text[s.tokens[k].end:]


@breakage
def member_unknown(s):
    return swap(s, first(s, lambda i, t: t.region == "device" and t.text == "x"
                         and s.t(i - 2) == "threadIdx"), "w")


@breakage
def subscript_of_a_number(s):
    k = first(s, lambda i, t: t.region == "device" and t.text in ("int", "int64_t")
              and s.kind(i + 1) == "name" and s.t(i + 2) == "=")
    end = s.statement_end(k) if k is not None else None
    return None if end is None else swap(s, end, f"; {s.t(k + 1)}[1] = 0;")


@breakage
def redefinition(s):
    k = first(s, lambda i, t: t.region == "device" and t.text in ("int", "int64_t", "float")
              and s.kind(i + 1) == "name" and s.t(i + 2) == "=" and s.t(i - 1) in (";", "{", "}"))
    end = s.statement_end(k) if k is not None else None
    return None if end is None else swap(s, end, f"; {s.t(k)} {s.t(k + 1)} = 0;")


def sources(limit):
    """[(name, group, text)], at most `limit`, evenly over the groups after the correct kernels."""
    kernels = {k["name"]: (KERNELS / k["cuda"]).read_text()
               for k in json.loads((KERNELS / "index.json").read_text())["kernels"]}
    groups = collections.defaultdict(list)
    for name, text in kernels.items():
        groups["kernel"].append((name, text))
    for path in sorted((KERNELS / "defects").glob("*/*.cu")):
        compile_time = path.parent.name.startswith("compile-")
        group = ("compile-time defect" if path.stem == "bad" else "its twin") if compile_time \
            else "run-time defect"
        groups[group].append((f"{path.parent.name}/{path.stem}", path.read_text()))
    names = list(kernels)
    for number, (kind, function) in enumerate(BREAKAGES.items()):
        made = []
        for offset in range(len(names)):
            name = names[(offset * 7 + number * 5) % len(names)]
            text = function(Source(kernels[name]))
            if text is not None and text != kernels[name]:
                made.append((f"{name}: {kind}", text))
        groups[f"breakage {kind}"] = made
    order = ["compile-time defect", "its twin", "kernel"]
    order += [g for g in groups if g.startswith("breakage")] + ["run-time defect"]
    chosen = [(n, g, t) for g in order[:3] for n, t in groups[g]]
    depth = 0
    while len(chosen) < limit and any(len(groups[g]) > depth for g in order[3:]):
        chosen += [(groups[g][depth][0], g, groups[g][depth][1])
                   for g in order[3:] if len(groups[g]) > depth]
        depth += 1
    return chosen[:limit]


def find_nvcc(given):
    if given:
        return given if os.access(given, os.X_OK) else None
    standard = "/usr/local/cuda/bin/nvcc"
    return shutil.which("nvcc") or (standard if os.access(standard, os.X_OK) else None)


def find_compiler(given):
    path = given or str(ROOT / "build/dev/bin/kuafu-compiler")
    return path if os.access(path, os.X_OK) else None


def run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=SECONDS_MAX, check=False)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return 124, f"took more than {SECONDS_MAX} s"


def ask_nvcc(nvcc, path, folder):
    command = [nvcc, "-x", "cu", "-ptx", "-std=c++17", "-arch=sm_90", "-w",
               *[f"-I{i}" for i in INCLUDE], "-o", str(folder / "out.ptx"), str(path)]
    code, text = run(command)
    errors = [line for line in text.splitlines() if "error" in line]
    return {"ok": code == 0, "message": errors[0].replace(str(folder) + "/", "") if errors
            else text.strip()[-200:] if code else ""}


def ask_ours(compiler, path, folder):
    code, text = run([compiler, str(path), "cuda", "900", str(folder / "m"), str(folder / "o")])
    try:
        answer = json.loads(text)
    except ValueError:
        return {"ok": False, "message": f"exit {code}: {text.strip()[-200:]}"}
    errors = [d["text"].split("\n")[0] for d in answer["diagnostics"] if "error: " in d["text"]]
    return {"ok": answer["ok"], "message": errors[0] if errors else ""}


def fingerprint(*files):
    digest = hashlib.sha256()
    for file in files:
        digest.update(pathlib.Path(file).read_bytes())
    return digest.hexdigest()[:16]


class Cache:
    def __init__(self, path):
        self.path = path
        self.data = json.loads(path.read_text()) if path.exists() else {}

    def get(self, tool, text, ask):
        name = hashlib.sha256((tool + text).encode()).hexdigest()[:32]
        if name not in self.data:
            self.data[name] = ask()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.data))
        return self.data[name]


def compare(chosen, nvcc, compiler, cache):
    headers = sorted(p for p in INCLUDE[1].rglob("*") if p.is_file())
    shared = [p for p in headers if "tensor" in p.name or "torch" in p.parts]
    ours_id = "ours" + fingerprint(compiler, *headers)
    nvcc_id = "nvcc" + run([nvcc, "--version"])[1] + fingerprint(*sorted(INCLUDE[0].rglob("*.h")),
                                                                 *shared)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = folder / "kernel.cu"
        for number, (name, group, text) in enumerate(chosen):
            path.write_text(text)
            ours = cache.get(ours_id, text, lambda: ask_ours(compiler, path, folder))
            theirs = cache.get(nvcc_id, text, lambda: ask_nvcc(nvcc, path, folder))
            rows.append({"name": name, "group": group, "kuafu": ours, "nvcc": theirs})
            if sys.stderr.isatty():
                print(f"\r\033[K{number + 1}/{len(chosen)} {name}"[:100], end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return rows


def summarise(rows, explained):
    table = collections.defaultdict(collections.Counter)
    disagreements = []
    for row in rows:
        ours, theirs = row["kuafu"]["ok"], row["nvcc"]["ok"]
        outcome = ("both accept" if ours else "both reject") if ours == theirs else \
            "only kuafu accepts" if ours else "only nvcc accepts"
        table[row["group"]][outcome] += 1
        if ours != theirs:
            disagreements.append({**row, "outcome": outcome,
                                  "reason": explained.get(row["name"]) or
                                  explained.get(row["group"], "")})
    same = sum(1 for row in rows if row["kuafu"]["ok"] == row["nvcc"]["ok"])
    return {"sources": len(rows), "agree": same, "groups": {g: dict(c) for g, c in table.items()},
            "disagreements": disagreements}


def markdown(summary):
    columns = ["both accept", "both reject", "only kuafu accepts", "only nvcc accepts"]
    out = [f"{summary['agree']} of {summary['sources']} sources: kuafu-compiler and nvcc agree.",
           "", "| group | " + " | ".join(columns) + " |", "|---|---:|---:|---:|---:|"]
    for group, counts in summary["groups"].items():
        out.append(f"| {group} | " + " | ".join(str(counts.get(c, 0)) for c in columns) + " |")
    for row in summary["disagreements"]:
        out += ["", f"{row['name']} ({row['group']}): {row['outcome']}",
                f"  kuafu: {row['kuafu']['message'] or 'accepts'}",
                f"  nvcc:  {row['nvcc']['message'] or 'accepts'}"]
        if row["reason"]:
            out.append(f"  why:   {row['reason']}")
    return "\n".join(out)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--compiler")
    parser.add_argument("--nvcc")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/nvcc_agreement.json")
    options = parser.parse_args(arguments)
    nvcc = find_nvcc(options.nvcc)
    if nvcc is None:
        print("nvcc_agreement: skipped: nvcc is neither in PATH nor in /usr/local/cuda/bin",
              file=sys.stderr)
        return 77
    compiler = find_compiler(options.compiler)
    if compiler is None:
        print("nvcc_agreement: kuafu-compiler is not built; run: ./kuafu build kuafu-compiler",
              file=sys.stderr)
        return 3
    explained = json.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}
    summary = summarise(compare(sources(options.limit), nvcc, compiler, Cache(options.cache)),
                        explained)
    print(json.dumps(summary, indent=1) if options.json else markdown(summary))
    return 1 if any(not d["reason"] for d in summary["disagreements"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
