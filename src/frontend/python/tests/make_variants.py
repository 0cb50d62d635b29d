# SPDX-License-Identifier: Apache-2.0
"""Makes the trials of reference files and, for each trial, the results of reorder.VARIANTS.

    make_variants.py OUT REF.py...

OUT gets, for every file, what zygote.py would answer (N.reply, N.inputs, N.truth) and N.variants:
the results of every variant of every trial, one after the other, row-major in the dtype of the
output. Files are split over as many processes as there are processors."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import torch  # noqa: E402

torch.set_num_threads(1)

import reorder  # noqa: E402
from kuafu_frontend import child, loader, trials, truth  # noqa: E402


class Recording(trials.Maker):
    """Keeps what the trials were made from."""

    def store(self, variant, class_name, made, label=None):
        super().store(variant, class_name, made, label)
        _, inputs, state, _ = made
        self.made = getattr(self, "made", [])
        self.made.append((inputs, state))


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def arena_bytes(arena):
    data = bytearray(arena.size)
    for at, part in arena.parts:
        data[at:at + len(part)] = part
    return bytes(data)


def results(maker, inputs, state, name, trial):
    """The variant's results, in the order of the trial's outputs."""
    mode = reorder.Reorder(name)
    once = truth.Pass(maker.source, state.model, truth.copies(inputs), mode)
    parts = []
    values = list(once.results)
    for output in trial["outputs"]:
        if output["argument"] < 0:
            tensor = values.pop(0)[1]
        else:
            first = len(inputs) + len(state.parameters)
            tensor = once.buffers[output["argument"] - first]
        parts.append(child.to_bytes(tensor))
    return b"".join(parts)


def one(path, out, number):
    arenas = (child.Arena(), child.Arena())
    with open(path, encoding="utf-8") as file:
        source = file.read()
    request = {"source": source, "source_hash": "", "name": path, "plan": "quick", "seed": "5",
               "nominal_only": False}
    maker = Recording(request, arenas, loader.Stage())
    document = maker.make()
    data = b""
    for (inputs, state), trial in zip(maker.made, document["trials"]):
        for name in reorder.VARIANTS:
            data += results(maker, inputs, state, name, trial)
    write(os.path.join(out, f"{number}.reply"), json.dumps(document).encode())
    write(os.path.join(out, f"{number}.inputs"), arena_bytes(arenas[0]))
    write(os.path.join(out, f"{number}.truth"), arena_bytes(arenas[1]))
    write(os.path.join(out, f"{number}.variants"), data)


def main():
    out, files = sys.argv[1], sys.argv[2:]
    workers = min(os.cpu_count() or 1, 4)
    pids = []
    for worker in range(workers):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for number in range(worker, len(files), workers):
                    one(files[number], out, number)
                code = 0
            finally:
                sys.stdout.flush()
                os._exit(code) if code == 0 else None
        pids.append(pid)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids))


if __name__ == "__main__":
    main()
