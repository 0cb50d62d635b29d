#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: the simulator conforms, and the driver of the suite tells what it could not run.

Method: every program at warp widths 32 and 128; a broken program; a compiler that is not there.
    run_test.py KUAFU
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).resolve().parent / "run.py"


def suite(*arguments, **environment):
    return subprocess.run([sys.executable, RUN, *arguments], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env=os.environ | environment)


def main(kuafu):
    failed = 0

    def expect(right, what, output):
        nonlocal failed
        if not right:
            print(f"FAILED: {what}\n{output}")
            failed += 1

    for target in ("sim:h100", "sim:mtt-s4000"):
        done = suite(f"--backend={target}", f"--kuafu={kuafu}")
        expect(done.returncode == 0, f"suite on {target}", done.stdout)
        print(done.stdout, end="")
    with tempfile.TemporaryDirectory() as nowhere:
        done = suite("--backend=mcc", "--json", PATH=nowhere, MUSA_HOME=nowhere)
        expect(done.returncode == 77 and "mcc" in json.loads(done.stdout)["absent"],
               "no compiler: 77 and the reason", done.stdout)
        done = suite("--backend=sim:h100", f"--kuafu={nowhere}/kuafu")
        expect(done.returncode == 77 and "not run" in done.stdout, "no kuafu: 77", done.stdout)
    for bad in (["--backend=sim:h100", "no_such_program"], ["--backend=gpu"], [],
                ["--backend=nvcc", "--backend=mcc"], ["--backend=sim:h100", "--compile-only"]):
        done = suite(*bad)
        expect(done.returncode == 2, f"usage {bad}", done.stdout)
    done = suite("--backend=sim:no-such-device", f"--kuafu={kuafu}", "device")
    expect(done.returncode == 1, "a target that does not exist is no pass", done.stdout)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
