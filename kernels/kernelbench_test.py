#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The candidates of kernels/kernelbench/ for tasks of KernelBench: each gets the verdict that
expected.json says, right ones and broken ones alike. The tasks are the benchmark's own, so a
checkout of it is needed and the test isn't part of `kuafu test`.

  kernelbench_test.py KUAFU --root=DIR [--no-sanitize] [NAME...]

DIR is the checkout, the folder that holds KernelBench/level1. A NAME is a part of a file's name.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernelbench")
NAME = re.compile(r"level_(\d+)_problem_(\d+)_sample_\d+_kernel\.py")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kuafu")
    parser.add_argument("--root", help="checkout of KernelBench")
    parser.add_argument("--no-sanitize", action="store_true",
                        help="do not look for races; what only a race breaks is not judged")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if not given.root:
        print("skipped: --root=DIR is missing, the checkout of KernelBench with the tasks")
        sys.exit(0)
    return given


def reference_of(root, level, problem):
    for folder in (os.path.join(root, "KernelBench"), root):
        found = glob.glob(os.path.join(folder, f"level{level}", f"{problem}_*.py"))
        if found:
            return found[0]
    sys.exit(f"no task {problem} of level {level} in {root}")


def judge(kuafu, root, names, options):
    """Verdicts by file name."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as listed:
        for name in names:
            level, problem = NAME.fullmatch(name).groups()
            listed.write(json.dumps({"id": name, "reference": reference_of(root, level, problem),
                                     "kernel": os.path.join(HERE, name), "target": "sim:h100"}) + "\n")
        listed.flush()
        run = subprocess.run([kuafu, "verify", "--batch", listed.name, "--threads", "2", *options],
                             stdout=subprocess.PIPE, text=True, check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    verdicts = {answer["id"]: answer.get("verdict", answer) for answer in answers}
    if len(verdicts) != len(answers):
        sys.exit("a candidate was judged twice")
    return verdicts


def main():
    given = arguments()
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    files = {name for name in os.listdir(HERE) if name.endswith(".py")}
    if files != set(expected):
        sys.exit(f"expected.json and the folder differ: {sorted(files ^ set(expected))}")
    names = sorted(name for name, want in expected.items()
                   if (not given.names or any(part in name for part in given.names))
                   and not (given.no_sanitize and want.get("needs") == "sanitizer"))
    begin = time.monotonic()
    verdicts = judge(given.kuafu, given.root, names, ["--no-sanitize"] if given.no_sanitize else [])
    seconds = time.monotonic() - begin

    wrong = 0
    by_level = {}
    for name in names:
        want, got = expected[name], verdicts.get(name, {"class": "nothing", "summary": "no answer"})
        right = got.get("class") == want["class"] and got.get("reason", "") == want["reason"]
        counts = by_level.setdefault((NAME.fullmatch(name)[1], want["class"] == "pass"), [0, 0])
        counts[0] += right
        counts[1] += 1
        if not right:
            wrong += 1
            print(f"{name}: expected {want['class']} {want['reason']}, got {got.get('class')} "
                  f"{got.get('reason', '')}: {got.get('summary', got)}")
    for (level, passes), (right, total) in sorted(by_level.items()):
        print(f"level {level}, {'right' if passes else 'broken'}: {right} of {total} as expected")
    print(f"{len(names)} candidates in {seconds:.1f} s, {1000 * seconds / max(1, len(names)):.0f} ms each")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
