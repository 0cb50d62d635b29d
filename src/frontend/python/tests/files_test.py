# SPDX-License-Identifier: Apache-2.0
"""Every reference of the repository becomes trials, with the shapes that a quick plan promises.

    files_test.py            run from the root of the repository"""

import glob
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import torch  # noqa: E402

torch.set_num_threads(1)

from kuafu_frontend import child, devices, loader, shims, trials  # noqa: E402

PATTERNS = ["kernels/*/ref.py", "kernels/defects/refs/*.py", "examples/*/ref.py"]


def make(source, plan="quick", nominal_only=False, seed=7, **options):
    shims.install()
    devices.install()
    request = {"source": source, "name": "ref.py", "plan": plan, "seed": str(seed),
               "nominal_only": nominal_only, "source_hash": "", **options}
    arenas = (child.Arena(), child.Arena())
    return trials.Maker(request, arenas, loader.Stage()).make(), arenas


class Files(unittest.TestCase):
    def test_all_references_of_the_repository(self):
        files = sorted(f for p in PATTERNS for f in glob.glob(p))
        self.assertGreaterEqual(len(files), 79)
        for path in files:
            with self.subTest(path), open(path, encoding="utf-8") as file:
                document, _ = make(file.read())
                labels = {t["shape_label"] for t in document["trials"]}
                self.assertIn("nominal", labels)
                self.assertIn("odd", labels)
                self.assertGreaterEqual(len(document["trials"]), 8, document["notes"])
                self.assertFalse([n for n in document["notes"] if n.startswith("nominal sizes")])
                self.assertFalse(document["inputs_mutated"])
                counts = [math.prod(a["shape"]) for t in document["trials"]
                          for a in t["arguments"] if "shape" in a]
                if "dct8x8" not in path:  # blocks of 64 elements
                    self.assertTrue([c for c in counts if c % 4 and c > 4])
                if "tall" not in path:
                    classes = {t["value_class"] for t in document["trials"]}
                    self.assertGreaterEqual(len(classes), 3)


if __name__ == "__main__":
    unittest.main()
