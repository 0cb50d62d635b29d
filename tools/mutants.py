#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the verifier: how many automatic defects of correct kernels does it see?

    tools/mutants.py generate [--count=N] [--seed=S] [--out=DIR]   mutants and DIR/list.jsonl
    tools/mutants.py run      [--out=DIR] [--kuafu=PATH]           kuafu verify --batch
    tools/mutants.py report   [--out=DIR] [--json]                 detection rate per operator
    tools/mutants.py operators                                     what each operator stands for

The mutants are chosen evenly over operators and kernels, the same ones for the same seed. Those
that do not compile say nothing about the verifier and are left out of the rates. A survivor is
either listed in kernels/mutants/equivalent.json, with the reason why it computes the same or why it
is missed, or it is unexplained, and then `report` exits 1. The rate is detected / (all - not
compiled - equivalent).
"""

import argparse
import collections
import hashlib
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mutation  # noqa: E402  (beside this file, wherever the script is called from)

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kernels"
EXPLAINED = KERNELS / "mutants" / "equivalent.json"
COUNT = 424
SEED = 1  # of inputs and orders
GOAL = 0.97
# Classes that say that the candidate is no valid program, hence that nothing was verified.
NOT_COMPILED = {"compile_error", "format_error"}


def corpus():
    return json.loads((KERNELS / "index.json").read_text())["kernels"]


def all_mutants():
    """[(kernel, target, source file, mutant)] of the whole corpus, in a fixed order."""
    out = []
    for kernel in corpus():
        cuda = mutation.Source((KERNELS / kernel["cuda"]).read_text())
        plain = set(mutation.OPERATORS) - mutation.WIDTH_OPERATORS
        out += [(kernel, "sim:h100", kernel["cuda"], m) for m in mutation.mutants(cuda, plain)]
        musa = mutation.Source((KERNELS / kernel["musa"]).read_text())
        out += [(kernel, "sim:mtt-s4000", kernel["musa"], m)
                for m in mutation.mutants(musa, mutation.WIDTH_OPERATORS)]
    return out


def choose(candidates, count, seed):
    """`count` of them: always from the operator, and within it from the kernel, with the fewest so
    far. Which place of a kernel is taken is drawn from the seed, independently of the others."""
    def rank(kernel, mutant):
        text = f"{seed}:{kernel}:{mutant.operator}:{mutant.line}:{mutant.nth}"
        return hashlib.sha256(text.encode()).hexdigest()
    pools = collections.defaultdict(list)
    for kernel, target, file, mutant in candidates:
        entry = (rank(kernel["name"], mutant), kernel, target, file, mutant)
        pools[mutant.operator].append(entry)
    for pool in pools.values():
        pool.sort(key=lambda entry: entry[0])
    per_operator = collections.Counter()
    per_kernel = collections.Counter()
    per_pair = collections.Counter()
    chosen = []
    while len(chosen) < count and any(pools.values()):
        operator = min((o for o in pools if pools[o]), key=lambda o: (per_operator[o], o))
        pool = pools[operator]
        entry = min(pool, key=lambda e: (per_pair[operator, e[1]["name"]],
                                         per_kernel[e[1]["name"]], e[0]))
        pool.remove(entry)
        per_operator[operator] += 1
        per_kernel[entry[1]["name"]] += 1
        per_pair[operator, entry[1]["name"]] += 1
        chosen.append(entry[1:])
    return chosen


def generate(out, count, seed):
    """Writes the mutants, list.jsonl and mutants.json; returns the records."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.[cm]u"):
        old.unlink()
    records = []
    for kernel, target, file, mutant in choose(all_mutants(), count, seed):
        name = f"{kernel['name']}-{mutant.operator}-{mutant.line}-{mutant.nth}"
        path = out / (name + pathlib.Path(file).suffix)
        path.write_text(mutant.text)
        records.append({"id": name, "kernel": kernel["name"], "operator": mutant.operator,
                        "line": mutant.line, "before": mutant.before, "after": mutant.after,
                        "file": path.name, "target": target, "reference": kernel["reference"]})
    records.sort(key=lambda r: r["id"])
    with open(out / "list.jsonl", "w", encoding="utf-8") as lines:
        for r in records:
            lines.write(json.dumps({"id": r["id"], "reference": str(KERNELS / r["reference"]),
                                    "kernel": str(out / r["file"]), "target": r["target"]}) + "\n")
    text = json.dumps({"seed": seed, "mutants": records}, indent=1)
    (out / "mutants.json").write_text(text + "\n")
    return records


def run(out, kuafu):
    """The quick plan for all of them, the full plan for what survives it. Each continues where it
    was interrupted."""
    status = batch(out / "list.jsonl", out / "quick.jsonl", kuafu, "quick")
    if status:
        return status
    quick = read_results(out / "quick.jsonl")
    lines = (out / "list.jsonl").read_text().splitlines()
    survivors = [x for x in lines if outcome_of(quick.get(json.loads(x)["id"])) == "pass"]
    (out / "survivors.jsonl").write_text("".join(x + "\n" for x in survivors))
    return batch(out / "survivors.jsonl", out / "full.jsonl", kuafu, "full")


def batch(candidates, results, kuafu, plan):
    if results.exists():  # what judged nothing the last time is tried again
        kept = [x for x in results.read_text().splitlines() if outcome_of(
            json.loads(x).get("verdict")) not in ("no result", "infra")]
        results.write_text("".join(x + "\n" for x in kept))
    command = [kuafu, "verify", f"--batch={candidates}", f"--output={results}", f"--plan={plan}",
               f"--seed={SEED}"]
    print("mutants:", " ".join(command), file=sys.stderr)
    # 1: some candidate was rejected, which is the point here.
    status = subprocess.run(command, stdout=subprocess.DEVNULL, cwd=ROOT, check=False).returncode
    return 0 if status in (0, 1) else status


def outcome_of(verdict):
    """The class, or why there is none. A compiler that ran out of time judged nothing."""
    if verdict is None:
        return "no result"
    if verdict["class"] == "compile_error" and "took longer" in verdict["summary"]:
        return "no result"
    return verdict["class"]


def key(record):
    return (record["kernel"], record["operator"], record["before"], record["after"])


def read_results(path):
    results = {}
    if not path.exists():
        return results
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                entry = json.loads(line)
                if "verdict" in entry:
                    results[entry["id"]] = entry["verdict"]
    return results


def read_explained(path):
    entries = json.loads(path.read_text()) if path.exists() else []
    for entry in entries:
        if entry["because"] not in ("equivalent", "missed") or not entry["reason"]:
            raise ValueError(f"{path}: {entry['kernel']} {entry['operator']}: no reason")
    return {key(entry): entry for entry in entries}


def summarise(records, quick, full, explained):
    """The report as data; `full` has verdicts on what survived `quick`."""
    rows = collections.defaultdict(collections.Counter)
    classes = collections.defaultdict(collections.Counter)
    lists = collections.defaultdict(list)
    for r in records:
        row = rows[r["operator"]]
        row["all"] += 1
        verdict = quick.get(r["id"])
        cls = outcome_of(verdict)
        if cls == "pass" and r["id"] in full:
            verdict = full[r["id"]]
            cls = outcome_of(verdict)
            if cls not in ("pass", "no result", "infra"):
                row["full_only"] += 1
        entry = explained.get(key(r))
        if cls in NOT_COMPILED:
            outcome = "not_compiled"
        elif cls in ("no result", "infra"):
            outcome = "not_judged"
        elif cls != "pass":
            outcome = "detected"
            classes[r["operator"]][cls] += 1
            if entry and entry["because"] == "equivalent":
                lists["equivalent_but_rejected"].append({**r, "class": cls, **{
                    "reason": entry["reason"], "summary": verdict.get("summary", "")}})
        elif entry:
            outcome = entry["because"]
        else:
            outcome = "unexplained"
        row[outcome] += 1
        if outcome in ("equivalent", "missed", "unexplained", "not_judged", "not_compiled"):
            lists[outcome].append({**r, "class": cls, "reason": entry["reason"] if entry else ""})
    total = collections.Counter()
    operators = []
    for name in sorted(rows):
        total.update(rows[name])
        operators.append({"operator": name, "meaning": mutation.OPERATORS[name][1], **rows[name],
                          "rate": rate(rows[name]), "classes": dict(classes[name].most_common())})
    return {"total": dict(total), "rate": rate(total), "rate_quick": rate(total, "full_only"),
            "goal": GOAL, "operators": operators,
            **{k: lists[k] for k in ("missed", "unexplained", "equivalent", "not_judged",
                                     "not_compiled", "equivalent_but_rejected")}}


def rate(row, without=None):
    judged = row["detected"] + row["missed"] + row["unexplained"]
    return (row["detected"] - row[without]) / judged if judged else None


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def markdown(summary):
    total = collections.Counter(summary["total"])
    out = ["# Mutation report", "",
           f"{total['all']} mutants: {total['detected']} detected, {total['missed']} missed, "
           f"{total['unexplained']} unexplained, {total['equivalent']} equivalent, "
           f"{total['not_compiled']} do not compile, {total['not_judged']} not judged.", "",
           f"Detection rate of the non-equivalent: **{percent(summary['rate'])}** "
           f"(goal {percent(summary['goal'])}); by the quick plan alone "
           f"{percent(summary['rate_quick'])}, the full plan judges what survives it.", "",
           "| operator | all | detected | only by full | missed | equivalent | not compiled | rate "
           "| classes |", "|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    for row in summary["operators"]:
        c = collections.Counter({k: v for k, v in row.items() if isinstance(v, int)})
        shown = ", ".join(f"{k} {v}" for k, v in list(row["classes"].items())[:4])
        out.append(f"| {row['operator']} | {c['all']} | {c['detected']} | {c['full_only']} | "
                   f"{c['missed'] + c['unexplained'] + c['not_judged']} | {c['equivalent']} | "
                   f"{c['not_compiled']} | {percent(row['rate'])} | {shown} |")
    titles = {"unexplained": "Survivors without a reason", "missed": "Missed",
              "not_judged": "Not judged",
              "equivalent_but_rejected": "Listed as equivalent, yet rejected",
              "equivalent": "Equivalent"}
    for name, title in titles.items():
        if not summary[name]:
            continue
        out += ["", f"## {title}", ""]
        for r in summary[name]:
            out.append(f"- `{r['kernel']}` line {r['line']}, {r['operator']} ({r['class']}): "
                       f"`{r['before']}` → `{r['after']}`")
            if r["reason"]:
                out.append(f"  {r['reason']}")
    return "\n".join(out)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("verb", choices=["generate", "run", "report", "operators"])
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--kuafu", default=str(ROOT / "kuafu"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    if options.verb == "operators":
        for name, (_, meaning) in mutation.OPERATORS.items():
            print(f"{name:26}{meaning}")
        return 0
    if options.verb == "generate":
        records = generate(out, options.count, options.seed)
        print(f"{len(records)} mutants of {len({r['kernel'] for r in records})} kernels by "
              f"{len({r['operator'] for r in records})} operators in {out}")
        return 0
    if not (out / "mutants.json").exists():
        print(f"mutants: {out} has no mutants; run: tools/mutants.py generate --out={out}",
              file=sys.stderr)
        return 2
    records = json.loads((out / "mutants.json").read_text())["mutants"]
    if options.verb == "run":
        return run(out, options.kuafu)
    if not (out / "quick.jsonl").exists():
        print(f"mutants: {out} has no results; run: tools/mutants.py run --out={out}",
              file=sys.stderr)
        return 2
    summary = summarise(records, read_results(out / "quick.jsonl"),
                        read_results(out / "full.jsonl"), read_explained(EXPLAINED))
    print(json.dumps(summary, indent=1) if options.json else markdown(summary))
    met = (summary["rate"] or 0.0) >= GOAL
    return 0 if met and not summary["unexplained"] and not summary["not_judged"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
