#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of this repository that no compiler checks. Run as the test `tidy`; standard library only.

    tools/tidy.py [ROOT]        prints file:line: problem, exits 1 when there is one

Why a script: CMake enforces the layers at configure time, but it does not see an #include of a
module that was never declared. Both checks are needed.
"""

import pathlib
import re
import subprocess
import sys

COLUMNS_MAX = 100
LINES_MAX = 800
LLVM_FILES_MAX = 12  # 7 to 19 seconds of compiler time each
LLVM_MODULES = {"klang", "simt_jit"}

# Where the rules of our own C++ do not apply: code in the language of the candidates, and data.
CODE_SUFFIXES = {".h", ".cpp", ".py", ".cmake", ".sh"}
NAMED_CODE = {"CMakeLists.txt", "kuafu"}
SKIPPED_PARTS = {"build", ".git", "__pycache__", "third_party"}
# Tables and generated text may be longer or wider; each entry says why.
LONG_FILES = {}
# Code in the language of the candidates follows the names and habits of that world; only the first
# line is checked there.
DIALECT_PREFIXES = ("src/klang/include/", "kernels/", "examples/")
DIALECT_PARTS = {"testdata"}

# pattern, modules where it is allowed, what to do instead
BANNED = [
    (r"\bgetenv\s*\(", {"os"}, "use os::GetEnv"),
    (r"(?<![\w:.>])s?rand\s*\(", set(), "use base/rng.h with a seed"),
    (r"\brandom_device\b", set(), "use base/rng.h with a seed"),
    (r"\bsystem_clock\b|\bsteady_clock\b|\bhigh_resolution_clock\b", {"os"}, "use os::Clock"),
    (r"(?<![\w:.>])system\s*\(", set(), "use os::Spawn"),
    # hostabi answers candidates, which expect exceptions.
    (r"\bthrow\b", {"hostabi"}, "return Result or Status"),
    (r"-ffast-math|-Ofast", set(), "write a separate named function with its own tolerance"),
]
# Assembled so that this file does not contain what it forbids.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def without_comments_and_strings(text):
    """Same line structure, with comments, strings and characters blanked."""
    raw_string = r'R"(\w*)\((?:.|\n)*?\)\1"'
    string = r'"(?:\\.|[^"\\\n])*"'
    character = r"'(?:\\.|[^'\\\n])*'"
    comment = r"//[^\n]*|/\*(?:.|\n)*?\*/"
    pattern = "|".join([raw_string, string, character, comment])
    # Digit separators (1'000) are not character literals.
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", text)
    return re.sub(pattern, blank, text)


class Tidy:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.problems = []
        self.modules = {}

    def report(self, path, line, text):
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def files(self):
        """Tracked and new files when this is a git checkout; otherwise everything."""
        names = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        if names is not None and (self.git("rev-parse", "--show-toplevel") or "").strip() == str(
                self.root):
            paths = [self.root / name for name in names.split("\0") if name]
        else:
            paths = list(self.root.rglob("*"))
        return sorted(p for p in set(paths) if p.is_file()
                      and not SKIPPED_PARTS & set(p.relative_to(self.root).parts))

    def git(self, *arguments):
        """None: no git on this machine, or no checkout."""
        try:
            run = subprocess.run(["git", "-C", str(self.root), *arguments], capture_output=True,
                                 check=False)
        except FileNotFoundError:
            return None
        return run.stdout.decode() if run.returncode == 0 else None

    def load_modules(self):
        for path in sorted((self.root / "src").glob("*/CMakeLists.txt")):
            text = re.sub(r"#[^\n]*", "", path.read_text())
            match = re.search(r"kuafu_module\(\s*(\w+)(.*?)\)", text, re.S)
            if not match:
                continue
            fields, key = {}, None
            for token in match.group(2).split():
                if re.fullmatch(r"[A-Z_]+", token):
                    key = token
                    fields.setdefault(key, [])
                elif key:
                    fields[key].append(token)
            # Programs of the same folder declare theirs with target_link_libraries.
            linked = re.findall(r"\bkuafu(?:::|_)(\w+)", text[match.end():])
            self.modules[match.group(1)] = {
                "deps": set(fields.get("DEPS", []) + fields.get("PRIVATE_DEPS", []) + linked),
                "public_deps": set(fields.get("DEPS", [])),
                "headers": set(fields.get("PUBLIC_HEADERS", [])),
            }
            for listed in fields.get("SOURCES", []) + fields.get("TESTS", []):
                if "$" not in listed and not (path.parent / listed).exists():
                    self.report(path, 1, f"{listed} is listed but does not exist")

    def reachable(self, module):
        """What a module may include: its dependencies and what their public headers show."""
        seen, todo = set(), list(self.modules[module]["deps"])
        while todo:
            name = todo.pop()
            if name not in seen and name in self.modules:
                seen.add(name)
                todo += self.modules[name]["public_deps"]
        return seen

    def check_includes(self, path, lines, llvm_files):
        parts = path.relative_to(self.root).parts
        if parts[0] != "src" or path.suffix not in {".h", ".cpp"} or len(parts) < 3:
            return
        module = parts[1]
        for number, line in enumerate(lines, 1):
            match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
            if not match:
                continue
            name = match.group(2)
            if re.match(r"(llvm|llvm-c|clang|clang-c|lld)/", name):
                public = self.modules.get(module, {}).get("headers", set())
                if module not in LLVM_MODULES or path.name in public:
                    self.report(path, number, "LLVM and Clang headers belong in klang/*.cpp only")
                else:
                    llvm_files.add(path)
            if match.group(1) != '"' or "/" not in name:
                continue
            owner, header = name.split("/", 1)
            if owner not in self.modules or owner == module:
                continue
            if module not in self.modules:
                continue
            if owner not in self.reachable(module):
                self.report(path, number, f"{module} does not declare a dependency on {owner}")
            elif header not in self.modules[owner]["headers"]:
                self.report(path, number, f"{name} is private to {owner}")

    def check_first_lines(self, path, lines):
        at = 1 if lines and lines[0].startswith("#!") else 0
        if len(lines) <= at or "SPDX-License-Identifier: Apache-2.0" not in lines[at]:
            self.report(path, at + 1, "the first line must be the SPDX identifier")
            return
        following = lines[at + 1] if len(lines) > at + 1 else ""
        starts_comment = re.match(r'\s*(//|#|/\*|"""|r""")', following)
        if path.suffix in {".h", ".cpp", ".py"} and not starts_comment:
            self.report(path, at + 2, "a comment must say what this file is, below the SPDX line")
        if path.suffix == ".h" and "#pragma once" not in lines:
            self.report(path, 1, "a header needs #pragma once")

    def check_size(self, path, lines):
        relative = str(path.relative_to(self.root))
        if len(lines) > LINES_MAX and relative not in LONG_FILES:
            self.report(path, len(lines), f"{len(lines)} lines, limit {LINES_MAX}: split the file")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX and "http" not in line and relative not in LONG_FILES:
                self.report(path, number, f"{len(line)} columns, limit {COLUMNS_MAX}")
            if line != line.rstrip():
                self.report(path, number, "space at the end of the line")

    def check_banned(self, path, text):
        parts = path.relative_to(self.root).parts
        if path.suffix not in {".h", ".cpp"} or parts[0] != "src":
            return
        module = parts[1] if len(parts) > 2 else ""
        code = without_comments_and_strings(text)
        for pattern, allowed, instead in BANNED:
            if module in allowed:
                continue
            if "_clock" in pattern and path.name.endswith(("_test.cpp", "_bench.cpp")):
                continue
            for match in re.finditer(pattern, code):
                number = code.count("\n", 0, match.start()) + 1
                name = match.group(0).strip(" (")
                self.report(path, number, f"'{name}' is not allowed: {instead}")

    def check_docs(self, path, lines):
        """A path in backquotes must exist; a pattern must match something."""
        code_block = False
        for number, line in enumerate(lines, 1):
            if line.startswith("```"):
                code_block = not code_block
            if code_block:
                continue
            for name in re.findall(r"`([^`\s]+)`", line):
                name = name.split(":")[0].rstrip("/")
                if not re.match(r"(src|tools|cmake|docs|kernels|examples|\.ci)/[\w./*-]*$", name):
                    continue
                if not any(self.root.glob(name)):
                    self.report(path, number, f"{name} does not exist")
            for target in re.findall(r"\]\(([^)#\s]+)", line):
                if "://" in target or target.startswith("mailto:"):
                    continue
                if not (path.parent / target).exists():
                    self.report(path, number, f"the link {target} leads nowhere")

    def translation_units(self, paths):
        """The .cpp files among `paths`, and those that include a private header among them."""
        units = {path for path in paths if path.suffix == ".cpp"}
        for header in (path for path in paths if path.suffix == ".h"):
            name = f'"{header.parent.name}/{header.name}"'
            units |= {path for path in header.parent.glob("*.cpp") if name in path.read_text()}
        return units

    def run(self):
        self.load_modules()
        llvm_files = set()
        for path in self.files():
            relative = path.relative_to(self.root)
            is_code = path.suffix in CODE_SUFFIXES or path.name in NAMED_CODE
            if not is_code and path.suffix != ".md":
                continue
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                self.report(path, 1, "not UTF-8")
                continue
            lines = text.split("\n")
            if lines and lines[-1] == "":
                lines.pop()
            if path.suffix == ".md":
                self.check_docs(path, lines)
            for number, line in enumerate(lines, 1):
                if UNFINISHED.search(line):
                    self.report(path, number, "unfinished work belongs in an issue, not in code")
            if path.suffix == ".md" or DIALECT_PARTS & set(relative.parts):
                continue
            if str(relative).startswith(DIALECT_PREFIXES):
                if path.suffix in {".h", ".cpp"} and "SPDX-License-Identifier" not in text[:200]:
                    self.report(path, 1, "the first line must be the SPDX identifier")
                continue
            self.check_first_lines(path, lines)
            self.check_size(path, lines)
            self.check_includes(path, lines, llvm_files)
            self.check_banned(path, text)
        llvm_files = self.translation_units(llvm_files)
        if len(llvm_files) > LLVM_FILES_MAX:
            first = sorted(llvm_files)[0]
            self.report(first, 1, f"{len(llvm_files)} files include LLVM or Clang, limit "
                                  f"{LLVM_FILES_MAX}")
        return self.problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    problems = Tidy(root).run()
    for problem in problems:
        print(problem)
    print("tidy: ok" if not problems else f"tidy: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
