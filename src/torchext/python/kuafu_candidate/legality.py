# SPDX-License-Identifier: Apache-2.0
"""The static check of an extension candidate: what its Python may not do, by syntax only.

    for finding in legality.check(source, policy.load_policy()):
        print(finding.code, finding.line, finding.message)

Nothing of the candidate runs here. What cannot be told from syntax (which operators forward really
dispatches, who wrote the bytes of an output) is judged while it runs, so in doubt this check is
silent: an honest candidate that is refused costs more than a hack that the next gate refuses.
Text is never searched: words in comments, strings and names mean nothing.
"""
import dataclasses

from . import legality_file, legality_forward, legality_tree


CLASSES = ("format_error", "cheating", "illegal_fallback")


@dataclasses.dataclass(frozen=True)
class Finding:
    line: int       # from 1; 0 = the file as a whole
    column: int     # from 1
    code: str       # a key of the policy's `rules`
    cls: str        # format_error, illegal_fallback or cheating
    severity: str   # reject or warn
    message: str


class Report:
    """Collects findings; drops what the policy has switched off and what was said already."""

    def __init__(self, policy):
        self._rules = policy["rules"]
        self._limit = policy["limits"]["findings"]
        self._found = {}

    def add(self, code, node, message=""):
        rule = self._rules[code]
        if rule["severity"] == "off":
            return
        line = getattr(node, "lineno", 0)
        column = getattr(node, "col_offset", -1) + 1
        text = rule["text"] + (": " + message if message else "")
        if (code, line) not in self._found and len(self._found) < self._limit:
            self._found[code, line] = Finding(line, column, code, rule["class"],
                                              rule["severity"], text)

    def findings(self):
        """The first is the reason of a verdict: what rejects before what warns, then the classes in
        their order, the rules in the policy's, and lines."""
        order = {code: number for number, code in enumerate(self._rules)}
        return sorted(self._found.values(), key=lambda f: (
            f.severity != "reject", CLASSES.index(f.cls), order[f.code], f.line, f.column))


def check(source, policy):
    """Returns a list of Finding, empty when all is well. Never raises for any `source`."""
    report = Report(policy)
    try:
        tree, problem = legality_tree.parse(source, policy)
        if tree is None:
            report.add("bad_python", None, problem)
            return report.findings()
        legality_file.check(tree, policy, report)
        legality_forward.check(tree, policy, report)
    except RecursionError:
        report.add("bad_python", None, "expressions are nested too deeply")
    return report.findings()
