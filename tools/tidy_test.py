#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: every rule of tidy fires on a tree that breaks it, and only there.

Method: small trees in a temporary directory, each with one fault added to a clean one.
"""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tidy  # noqa: E402

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// What this file is.\n"
CLEAN = {
    "src/base/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n"
                               "kuafu_module(base LAYER 0 PUBLIC_HEADERS a.h SOURCES a.cpp)\n",
    "src/base/a.h": HEAD + "#pragma once\nint A();\n",
    "src/base/private.h": HEAD + "#pragma once\nint B();\n",
    "src/base/a.cpp": HEAD + '#include "base/a.h"\n#include "base/private.h"\n'
                             '// throw getenv( rand( in a comment\n'
                             'const char* kText = "throw system_clock"; int k = 1\'000;\n',
    "src/klang/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n"
                                "kuafu_module(klang LAYER 3 PUBLIC_HEADERS k.h SOURCES k.cpp\n"
                                "  DEPS base)\n",
    "src/klang/k.h": HEAD + "#pragma once\n",
    "src/klang/k.cpp": HEAD + '#include "klang/k.h"\n#include "base/a.h"\n'
                              "#include <llvm/IR/Module.h>\n",
    "src/os/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n"
                             "kuafu_module(os LAYER 1 PUBLIC_HEADERS o.h SOURCES o.cpp)\n",
    "src/os/o.h": HEAD + "#pragma once\n",
    "src/os/o.cpp": HEAD + 'auto x = std::getenv("HOME");\n',
    "README.md": "See `src/base/a.h`, `src/*/CMakeLists.txt` and [this](src/base/a.h).\n",
}


def problems(changes):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in {**CLEAN, **changes}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tidy.Tidy(root).run()


class TidyTest(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual(problems({}), [])

    def test_machine_without_git(self):
        with unittest.mock.patch.dict("os.environ", {"PATH": "/nonexistent"}):
            self.assertEqual(problems({}), [])

    def expect(self, changes, where, what):
        found = problems(changes)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(where), found)
        self.assertIn(what, found[0])

    def test_undeclared_module(self):
        self.expect({"src/os/o.cpp": HEAD + '#include "base/a.h"\n'}, "src/os/o.cpp:3",
                    "does not declare a dependency on base")

    def test_private_header(self):
        self.expect({"src/klang/k.cpp": HEAD + '#include "base/private.h"\n'}, "src/klang/k.cpp:3",
                    "private to base")

    def test_llvm_outside_klang(self):
        self.expect({"src/os/o.cpp": HEAD + '#include "clang/AST/AST.h"\n'}, "src/os/o.cpp:3",
                    "klang")

    def test_llvm_in_a_header(self):
        self.expect({"src/klang/k.h": HEAD + "#pragma once\n#include <llvm/IR/Module.h>\n"},
                    "src/klang/k.h:4", "klang/*.cpp only")

    def test_too_many_llvm_files(self):
        many = {f"src/klang/f{i}.cpp": HEAD + "#include <llvm/IR/Module.h>\n" for i in range(12)}
        self.expect(many, "src/klang/f0.cpp:1", "13 files")

    def test_private_llvm_header_counts_where_it_is_included(self):
        header = {"src/klang/lower.h": HEAD + "#pragma once\n#include <llvm/IR/Module.h>\n"}
        self.assertEqual(problems(header), [])
        many = {f"src/klang/f{i}.cpp": HEAD + '#include "klang/lower.h"\n' for i in range(12)}
        self.expect({**header, **many}, "src/klang/f0.cpp:1", "13 files")

    def test_spdx_and_comment(self):
        self.expect({"src/os/o.cpp": "int x;\n"}, "src/os/o.cpp:1", "SPDX")
        self.expect({"src/os/o.cpp": "// SPDX-License-Identifier: Apache-2.0\nint x;\n"},
                    "src/os/o.cpp:2", "comment")

    def test_pragma_once(self):
        self.expect({"src/os/o.h": HEAD}, "src/os/o.h:1", "pragma once")

    def test_size(self):
        self.expect({"src/os/o.cpp": HEAD + "x" * 101 + "\n"}, "src/os/o.cpp:3", "101 columns")
        self.expect({"src/os/o.cpp": HEAD + "\n" * 799}, "src/os/o.cpp:801", "801 lines")
        self.assertEqual(problems({"src/os/o.cpp": HEAD + "x" * 100 + "\n" * 798}), [])

    def test_banned_calls(self):
        for code in ["getenv(\"X\");", "rand();", "std::random_device d;", "throw 1;",
                     "std::chrono::system_clock::now();", "system(\"x\");"]:
            self.expect({"src/base/b.cpp": HEAD + "auto f = " + code + "\n"}, "src/base/b.cpp:3",
                        "not allowed")
        member_calls = "int x = o.rand(); y->system(); my_rand();\n"
        self.assertEqual(problems({"src/base/b.cpp": HEAD + member_calls}), [])

    def test_unfinished(self):
        self.expect({"src/os/o.cpp": HEAD + "// " + "TO" + "DO later\n"}, "src/os/o.cpp:3", "issue")

    def test_docs(self):
        self.expect({"docs/a.md": "see `src/base/gone.h`\n"}, "docs/a.md:1", "does not exist")
        self.expect({"docs/a.md": "see [x](../gone.md)\n"}, "docs/a.md:1", "leads nowhere")

    def test_listed_file_is_absent(self):
        self.expect({"src/os/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n"
                                              "kuafu_module(os LAYER 1 PUBLIC_HEADERS o.h\n"
                                              "  SOURCES gone.cpp)\n"},
                    "src/os/CMakeLists.txt:1", "gone.cpp is listed")


if __name__ == "__main__":
    unittest.main()
