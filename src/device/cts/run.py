#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device conformance suite: self-checking CUDA programs, run on any backend.

    run.py --backend=sim:h100 [PROGRAM...]     each by `kuafu run`; sim:NAME is any simulated target
    run.py --backend=nvcc                      by nvcc, on the CUDA device of this machine
    run.py --backend=mcc                       the same for MUSA: the .mu text is made from the .cu
    run.py --backend=nvcc --compile-only       the compiler takes every program; needs no device

  --kuafu=PATH    the program `kuafu` (build/dev/bin/kuafu)
  --arch=ARCH     nvcc: sm_NN (native, or sm_90 with --compile-only); mcc: mp_NN (mp_22)
  --width=N       warp width of the simulation, other than the target's own
  --seed=N        order of warps and blocks of the simulation
  --jobs=N        programs at a time (2)
  --timeout-s=N   for one program (60)
  --json          one JSON document instead of the table

Exit status: 0 all passed, 1 a check failed, 2 usage, 77 the backend is not on this machine.

A program prints one line per failed check and last "checks N failed M". It may say in a comment
"// FINDING: class", a class of finding that the simulator must report, because there the defect is
the point; any other finding fails.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "kernels"))
sys.dont_write_bytecode = True
import make_mu  # noqa: E402  the one place that knows how CUDA names become MUSA names

ABSENT = 77
OUTPUT_LINES_MAX = 60


class Absent(Exception):
    pass


def parse_arguments(arguments):
    options = {"backend": "", "kuafu": str(ROOT / "build/dev/bin/kuafu"), "arch": "", "width": "",
               "seed": "0", "jobs": "2", "timeout-s": "60"}
    flags = {"json": False, "compile-only": False}
    seen, programs = set(), []
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--"):
            programs.append(argument)
            continue
        if name in seen or not (equals and name in options or not equals and name in flags):
            raise ValueError(f"unknown or repeated option {argument}")
        seen.add(name)
        if equals:
            options[name] = value
        else:
            flags[name] = True
    backend = options["backend"]
    if backend not in ("nvcc", "mcc") and not re.fullmatch(r"sim:[a-z0-9-]+", backend):
        raise ValueError("--backend=sim:NAME, nvcc or mcc is needed")
    for name in ("seed", "jobs", "timeout-s"):
        if not options[name].isdigit():
            raise ValueError(f"--{name} takes a number")
    if flags["compile-only"] and backend.startswith("sim:"):
        raise ValueError("--compile-only is for nvcc and mcc")
    present = sorted(p.stem for p in HERE.glob("*.cu"))
    names = [pathlib.Path(p).stem for p in programs] or present
    for name in names:
        if name not in present:
            raise ValueError(f"no program {name}; there are {', '.join(present)}")
    return options | flags, names


def is_musa(backend):
    return backend == "mcc" or backend.startswith("sim:mtt")


def whole(path):
    """The text with its own headers put in their places, as `kuafu run` takes one file; lines keep
    their names and numbers."""
    lines = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'#include "(\w+\.h)"', line)
        if include is None:
            lines.append(line)
        else:
            header = include[1]
            text = (HERE / header).read_text().replace("#pragma once", "")
            lines += [f'#line 1 "{header}"', text,
                      f'#line {number + 1} "{path.name}"']
    return "\n".join(lines) + "\n"


def prepare(names, backend, folder):
    """The sources as the backend takes them: name to path."""
    if backend == "nvcc":
        return {n: HERE / f"{n}.cu" for n in names}
    suffix, port = (".mu", make_mu.port) if is_musa(backend) else (".cu", str)
    paths = {n: folder / f"{n}{suffix}" for n in names}
    for name in names:
        paths[name].write_text(port(whole(HERE / f"{name}.cu")))
    return paths


def run(command, timeout_s):
    """Exit status (negative: signal, None: out of time) and output of a command."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=timeout_s, errors="replace")
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        return None, output.decode(errors="replace") if isinstance(output, bytes) else output


class Simulator:
    def __init__(self, options):
        self.options = options
        if not os.access(options["kuafu"], os.X_OK):
            raise Absent(f"{options['kuafu']} does not exist; build it, or name it with --kuafu=")

    def execute(self, source, _folder):
        o = self.options
        command = [o["kuafu"], "run", str(source), f"--target={o['backend']}", "--json",
                   f"--seed={o['seed']}", f"--timeout-s={o['timeout-s']}"]
        if o["width"]:
            command.append(f"--warp-width={o['width']}")
        status, output = run(command, int(o["timeout-s"]) + 30)
        try:
            record = json.loads(output[output.index("{"):])
        except ValueError:
            return ["`kuafu run` gave no record:"] + output.splitlines()[:OUTPUT_LINES_MAX], ""
        expected = set(re.findall(r"^// FINDING: (\w+)", source.read_text(), re.M))
        found = {f["class"]: f["text"] for f in reversed(record["findings"])}
        problems = [f"unexpected finding: {text}"
                    for c, text in found.items() if c not in expected]
        problems += [f"the simulator did not report {c}" for c in sorted(expected - set(found))]
        if record["class"] in ("compile_error", "timeout") or status is None:
            problems += [record["class"]] + record["message"].splitlines()
        elif record["exit_code"] != 0:
            problems.append(f"the program returned {record['exit_code']}")
        return problems, record.get("output", "")


class Vendor:
    """Compiles with nvcc or mcc, runs on the device."""

    def __init__(self, options):
        self.options = options
        musa = options["backend"] == "mcc"
        home = pathlib.Path(os.environ.get("MUSA_HOME" if musa else "CUDA_HOME",
                                           "/usr/local/musa" if musa else "/usr/local/cuda"))
        name = options["backend"]
        compiler = shutil.which(name) or shutil.which(name, path=str(home / "bin"))
        if compiler is None:
            raise Absent(f"{name} is neither in PATH nor in {home}/bin")
        device = ("/dev/mtgpu.0", "/dev/mtgpu0") if musa else ("/dev/nvidia0", "/dev/dxg")
        if not options["compile-only"] and not any(map(os.path.exists, device)):
            raise Absent(f"this machine has no {'MUSA' if musa else 'CUDA'} device "
                         f"({' or '.join(device)}); --compile-only needs none")
        if musa:  # options as in the samples of the MUSA SDK
            self.command = [compiler, "-std=c++17", "-O2",
                            f"--offload-arch={options['arch'] or 'mp_22'}", f"-L{home}/lib",
                            "-lmusart"]
        else:
            arch = options["arch"] or ("sm_90" if options["compile-only"] else "native")
            self.command = [compiler, "-std=c++17", "-O2", f"-arch={arch}", "--extended-lambda"]

    def execute(self, source, folder):
        program = folder / source.stem
        status, output = run(self.command + [str(source), "-o", str(program)], 300)
        if status != 0:
            lines = output.splitlines()[:OUTPUT_LINES_MAX]
            return [f"{self.options['backend']} refuses it"] + lines, ""
        if self.options["compile-only"]:
            return [], ""
        status, output = run([str(program)], int(self.options["timeout-s"]))
        if status is None:
            return [f"ran longer than {self.options['timeout-s']} s"], output
        return ([f"the program ended with {status}"] if status != 0 else []), output


def judge(backend, name, source, folder, compile_only):
    start = time.monotonic()
    problems, output = backend.execute(source, folder)
    counts = re.findall(r"^checks (\d+) failed (\d+)$", output, re.M)
    checks, failed = map(int, counts[-1]) if counts else (0, 0)
    if not counts and not compile_only and not problems:
        problems.append("the program did not come to its end")
    lines = [line for line in output.splitlines() if re.match(r"[\w.]+:\d+: ", line)]
    if failed or problems:
        problems = lines + problems
        if not counts:
            problems += output.splitlines()[-5:]
    return {"program": name, "checks": checks, "failed": failed, "passed": not problems,
            "seconds": round(time.monotonic() - start, 2), "problems": problems[:OUTPUT_LINES_MAX]}


def main(arguments):
    try:
        options, names = parse_arguments(arguments)
    except ValueError as error:
        print(f"{error}\n\n{__doc__}", file=sys.stderr)
        return 2
    name = options["backend"]
    try:
        backend = Simulator(options) if name.startswith("sim:") else Vendor(options)
    except Absent as reason:
        if options["json"]:
            print(json.dumps({"version": 1, "backend": name, "absent": str(reason),
                              "programs": []}))
        else:
            print(f"{name}: not run: {reason}")
        return ABSENT
    with tempfile.TemporaryDirectory(prefix="kuafu-cts-") as text:
        folder = pathlib.Path(text)
        sources = prepare(names, name, folder)
        with concurrent.futures.ThreadPoolExecutor(max(1, int(options["jobs"]))) as pool:
            results = list(pool.map(
                lambda n: judge(backend, n, sources[n], folder, options["compile-only"]), names))
    good = sum(r["passed"] for r in results)
    if options["json"]:
        print(json.dumps({"version": 1, "backend": name, "compile_only": options["compile-only"],
                          "passed": good, "failed": len(results) - good, "programs": results},
                         indent=2))
    else:
        print(f"{'program':<12} {'checks':>8} {'seconds':>8}  result  ({name})")
        for r in results:
            print(f"{r['program']:<12} {r['checks']:>8} {r['seconds']:>8.2f}  "
                  f"{'pass' if r['passed'] else 'FAIL'}")
            for line in r["problems"]:
                print(f"    {line}")
        checks = sum(r["checks"] for r in results)
        print(f"{good} of {len(results)} programs passed, {checks} checks")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
