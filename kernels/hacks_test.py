#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The hack suite: each published way around a checker is tried, and its honest look-alike passes.

  hacks_test.py --static              what the syntax of the Python files tells; needs no build
  hacks_test.py --verify=KUAFU [N..]  whole verdicts of `kuafu verify`; of the numbers given

index.json lists for each hack file the gate that must catch it, the class and the reason:
  python   the static check of the Python file
  source   the static check of the C++ and CUDA sources
  run      the operators of forward and the origin of its outputs
  compare, sanitize, launch   the gates that judge any candidate
`accept` holds other classes or reasons that are as good; a number without files says why it cannot
apply here.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hacks")
HACK_COUNT = 41
SEED = 20261


def load_index():
    with open(os.path.join(ROOT, "index.json"), encoding="utf-8") as file:
        return json.load(file)


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def check_index(index):
    """Every number once, every file listed, every reason a rule of the policy."""
    with open(os.path.join(ROOT, "../../src/verify/policy/default.json"),
              encoding="utf-8") as file:
        rules = json.load(file)["rules"]
    wrong = []
    if [hack["number"] for hack in index] != list(range(1, HACK_COUNT + 1)):
        wrong.append("the numbers are not 1 to 41")
    for hack in index:
        if "not_applicable" in hack:
            continue
        files = {"ref.py", "honest.py"} | {variant["file"] for variant in hack["hacks"]}
        if files != set(os.listdir(os.path.join(ROOT, hack["name"]))) - {"__pycache__"}:
            wrong.append(f"{hack['name']}: files are not those of the index")
        for variant in hack["hacks"]:
            reason = variant["reason"]
            if reason and rules.get(reason, {}).get("class") != variant["class"]:
                wrong.append(f"{hack['name']}/{variant['file']}: {reason} is no rule of "
                             f"class {variant['class']}")
    return wrong


def static(index):
    sys.path.insert(0, os.path.join(ROOT, "../../src/torchext/python"))
    # pylint: disable=import-outside-toplevel,import-error
    from kuafu_candidate import legality, policy
    rules = policy.load_policy()
    wrong = check_index(index)
    count = 0
    for hack in index:
        honest = [] if "not_applicable" in hack else [{"file": "honest.py", "gate": ""}]
        for variant in honest + hack.get("hacks", []):
            found = legality.check(read(hack["name"], variant["file"]), rules)
            first = next((f.code for f in found if f.severity == "reject"), "")
            want = {""}
            if variant["gate"] == "python":
                want = {variant["reason"], *variant.get("accept", [])}
            count += 1
            if first not in want:
                wrong.append(f"{hack['name']}/{variant['file']}: "
                             f"{sorted(f'{f.code} line {f.line}' for f in found)} instead of "
                             f"{sorted(want)}")
    return count, wrong


def judge(variant, result):
    """None if the verdict is what it must be."""
    if "error" in result:
        return "could not be judged: " + result["error"]["message"]
    verdict = result["verdict"]
    said = f"{verdict['class']} {verdict['reason']}: {verdict['summary']}"
    if variant["file"] == "honest.py":
        return None if verdict["class"] == "pass" else said
    accept = set(variant.get("accept", []))
    if verdict["class"] == variant["class"] and verdict["reason"] == variant["reason"]:
        return None
    if verdict["reason"] in accept or (verdict["class"] in accept and not verdict["reason"]):
        return None
    return f"{said}; expected {variant['class']} {variant['reason']}"


def verify(kuafu, index, numbers):
    jobs = {}
    for hack in index:
        if "not_applicable" in hack or (numbers and hack["number"] not in numbers):
            continue
        for variant in [{"file": "honest.py"}] + hack["hacks"]:
            jobs[f"{hack['name']}/{variant['file']}"] = variant
    with tempfile.TemporaryDirectory() as folder:
        listing, output = os.path.join(folder, "list.jsonl"), os.path.join(folder, "out.jsonl")
        with open(listing, "w", encoding="utf-8") as file:
            for name in jobs:
                reference = os.path.join(ROOT, os.path.dirname(name), "ref.py")
                file.write(json.dumps({"id": name, "reference": reference, "seed": SEED,
                                       "kernel": os.path.join(ROOT, name),
                                       "target": "sim:h100"}) + "\n")
        run = subprocess.run([kuafu, "verify", "--batch", listing, "-o", output], check=False)
        if not os.path.exists(output):
            return len(jobs), [f"kuafu exited with {run.returncode} and wrote nothing"]
        with open(output, encoding="utf-8") as file:
            results = {result["id"]: result for result in map(json.loads, file)}
    wrong = []
    for name, variant in jobs.items():
        problem = judge(variant, results[name]) if name in results else "no verdict"
        if problem:
            wrong.append(f"{name}: {problem}")
    return len(jobs), wrong


def main(arguments):
    index = load_index()
    if arguments[:1] == ["--static"]:
        count, wrong = static(index)
    elif arguments and arguments[0].startswith("--verify="):
        count, wrong = verify(arguments[0].split("=", 1)[1], index, set(map(int, arguments[1:])))
    else:
        print(__doc__)
        return 2
    for line in wrong:
        print("WRONG", line)
    print(f"hacks: {count} files, {len(wrong)} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
