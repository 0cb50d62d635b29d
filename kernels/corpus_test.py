#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the corpus through `kuafu verify --batch` and compares with what the indexes say.

  corpus_test.py KUAFU correct|defects|hostile [NAME ...] [--keep FILE]

correct   every kernel passes, as CUDA and as MUSA, at every warp width its targets imply, full plan
defects   every bad twin gets exactly its class and names the marked line; every good twin passes
hostile   every candidate gets its class, and honest ones between them still pass
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.abspath(__file__))
# The same inputs in every run: a test must not depend on luck. Other seeds: KUAFU_CORPUS_SEED.
SEED = int(os.environ.get("KUAFU_CORPUS_SEED", "20261"))
# Classes whose finding must name the line that the candidate marks.
WITH_LINE = {"oob", "race", "uninit", "misaligned", "barrier", "warp_sync", "index_overflow",
             "stream_order", "deadlock"}


def load(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return json.load(file)


def correct_jobs():
    for kernel in load("index.json")["kernels"]:
        reference = os.path.join(ROOT, kernel["reference"])
        for dialect, target in (("cuda", "sim:h100,sim:mtt-s4000"),
                                ("musa", "sim:mtt-s4000,sim:mtt-s5000")):
            yield {"id": f"{kernel['name']}/{dialect}", "reference": reference,
                   "kernel": os.path.join(ROOT, kernel[dialect]), "target": target,
                   "plan": "full"}, {"pass"}, None


def marks(path):
    """Line numbers marked EXPECT, and those marked EXPECT or EXPECT-ALSO."""
    main, also = set(), set()
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if re.search(r"//\s*EXPECT:", line):
                main.add(number)
            if re.search(r"//\s*EXPECT", line):
                also.add(number)
    return main, also


def defect_jobs():
    for defect in load("defects/index.json"):
        extension = "cu" if defect["dialect"] == "cuda" else "mu"
        folder = os.path.join(ROOT, "defects", defect["name"])
        target = defect["target"]
        if defect["class"] == "warp_width" and target == "sim:h100":
            target = "sim:h100,sim:mtt-s4000"
        for twin in ("bad", "good"):
            kernel = os.path.join(folder, f"{twin}.{extension}")
            job = {"id": f"{defect['name']}/{twin}", "kernel": kernel, "target": target,
                   "reference": os.path.join(ROOT, "defects", defect["ref"]),
                   "plan": defect["plan"]}
            if twin == "good":
                yield job, {"pass"}, None
            else:
                yield (job, {defect["class"], *defect.get("accept", [])},
                       (marks(kernel), defect["class"]))


def hostile_jobs():
    """An honest candidate follows every tenth hostile one: the next verdict must be unaffected."""
    honest = {"reference": os.path.join(ROOT, "softmax_online/ref.py"),
              "kernel": os.path.join(ROOT, "softmax_online/kernel.cu"), "target": "sim:h100"}
    for number, candidate in enumerate(load("hostile/index.json")):
        # Without the rules of legality: what they would refuse has to be survived as well.
        yield {"id": candidate["name"], "target": "sim:h100", "timeout_s": 5, "policy": "off",
               "reference": os.path.normpath(os.path.join(ROOT, "hostile", candidate["ref"])),
               "kernel": os.path.join(ROOT, "hostile", candidate["file"])}, \
            {candidate["class"], *candidate["accept"]}, None
        if number % 10 == 9:
            yield {"id": f"honest-{number}", **honest}, {"pass"}, None


JOBS = {"correct": correct_jobs, "defects": defect_jobs, "hostile": hostile_jobs}


def judge(result, accept, marked, marked_class):
    """None if the result is what it must be, else what is wrong with it."""
    if "error" in result:
        return "could not be judged: " + result["error"]["message"]
    verdict = result["verdict"]
    wrong = f"{verdict['class']} instead of {' or '.join(sorted(accept))}: {verdict['summary']}"
    if verdict["class"] not in accept:
        if verdict["failing_trial"]:
            wrong += f" [{verdict['failing_trial']}]"
        return wrong
    # The marks are for the class that is expected first, not for those that are accepted too.
    if marked is None or verdict["class"] != marked_class or marked_class not in WITH_LINE:
        return None
    main, also = marked
    findings = [f for f in verdict["findings"] if f["class"] == verdict["class"]]
    named = {f["line"] for f in findings} | {f["other_line"] for f in findings}
    if not findings:
        return f"{verdict['class']} without a finding"
    if not named & also:
        return f"names line {sorted(named - {0})} instead of {sorted(main)}: {verdict['summary']}"
    return None


def run(kuafu, jobs, results_path):
    with tempfile.TemporaryDirectory() as folder:
        listing = os.path.join(folder, "list.jsonl")
        with open(listing, "w", encoding="utf-8") as file:
            for job, _, _ in jobs:
                file.write(json.dumps({"seed": SEED, **job}) + "\n")
        results_path = results_path or os.path.join(folder, "results.jsonl")
        if os.path.exists(results_path):
            os.remove(results_path)
        code = subprocess.run([kuafu, "verify", "--batch", listing, "-o", results_path],
                              timeout=1500, check=False).returncode
        if code not in (0, 1):
            sys.exit(f"kuafu verify --batch ended with exit code {code}")
        with open(results_path, encoding="utf-8") as file:
            return {result["id"]: result for result in map(json.loads, file)}


def main():
    arguments = sys.argv[1:]
    keep = None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        keep = arguments[at + 1]
        del arguments[at:at + 2]
    kuafu, group, names = arguments[0], arguments[1], arguments[2:]
    jobs = [job for job in JOBS[group]()
            if not names or any(name in job[0]["id"] for name in names)]
    results = run(kuafu, jobs, keep)
    failures = 0
    for job, accept, marked in jobs:
        result = results.get(job["id"])
        lines, marked_class = marked or (None, None)
        problem = ("no result" if result is None
                   else judge(result, accept, lines, marked_class))
        if problem is not None:
            failures += 1
            print(f"{job['id']}: {problem}")
    print(f"{len(jobs) - failures} of {len(jobs)} {group} candidates as expected")
    return 1 if failures or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
