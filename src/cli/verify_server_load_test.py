#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients against `kuafu verify-server` while its workers are killed.

  verify_server_load_test.py KUAFU [--seconds=20] [--clients=50] [--queue=64] [--forms=cuda,...]

Every client sends right, wrong and hostile candidates of the corpus, waiting for some answers and
fetching others; a full queue sends it away until later. A worker of the server (compiler, runner,
Python) is killed now and then. At the end: jobs sent = jobs answered, each exactly once and with
the class that the corpus says; the server's own count agrees. The latency is printed beside what
the length of the queue and the throughput explain: a figure, not a condition.
"""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNELS = os.path.join(ROOT, "kernels")
sys.path.insert(0, os.path.join(ROOT, "examples"))
import verify_client  # noqa: E402  (found through the path above)

WORKERS = ("kuafu-compiler", "kuafu-runner", "python")
SEED = 20261


def read(*path):
    with open(os.path.join(KERNELS, *path), encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def candidates(forms):
    """Jobs with the classes that are right for them. What takes seconds by design is left out: it
    would measure its own time limit."""
    found = []
    if "cuda" in forms:
        for kernel in json.loads(read("index.json"))["kernels"][:20]:
            found.append(({"reference": read(kernel["reference"]), "candidate":
                           read(kernel["cuda"])}, {"pass"}))
        for defect in json.loads(read("defects", "index.json")):
            if (defect["dialect"] == "cuda" and defect["plan"] == "quick" and
                    defect["target"] == "sim:h100" and defect["class"] not in
                    ("deadlock", "timeout", "warp_width", "index_overflow")):
                found.append(({"reference": read("defects", defect["ref"]), "candidate":
                               read("defects", defect["name"], "bad.cu"), "target": "sim:h100"},
                              {defect["class"], *defect.get("accept", [])}))
        for hostile in json.loads(read("hostile", "index.json")):
            if (hostile["class"] in ("compile_error", "runtime_error", "format_error") and
                    "timeout" not in hostile["accept"] and
                    hostile["name"] not in ("source-constexpr-loop", "source-template-bomb")):
                found.append(({"reference": read("hostile", hostile["ref"]), "candidate":
                               read("hostile", hostile["file"]), "timeout_s": 5,
                               # What they do is against the rules; here it shall happen.
                               "policy": "off"},
                              {hostile["class"], *hostile["accept"]}))
    if "musa" in forms:
        for kernel in json.loads(read("index.json"))["kernels"][:5]:
            found.append(({"reference": read(kernel["reference"]), "form": "musa", "candidate":
                           read(kernel["musa"])}, {"pass"}))
    if "extension" in forms:
        for name in ("relu", "softmax", "layer_norm", "sum_dim"):
            found.append(({"reference": read("extension", name, "ref.py"), "form": "extension",
                           "candidate": read("extension", name, "candidate.py")}, {"pass"}))
    found.append(({"reference": found[0][0]["reference"], "candidate": "I am sorry."},
                  {"format_error", "compile_error"}))
    for job, _ in found:
        job["seed"] = SEED  # the same inputs in every run: a test must not depend on luck
        job.setdefault("timeout_s", 120)  # none of these runs for ever; a busy machine is slow
    return found


class Load:
    def __init__(self, url, jobs, seconds):
        self.url, self.jobs = url, jobs
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()  # guards what follows
        self.answers = collections.Counter()
        self.sent, self.latencies, self.wrong, self.retries = [], [], [], 0

    def client(self, number):
        rng = random.Random(SEED * 1000 + number)
        client = verify_client.Client(self.url, timeout_s=600, patience_s=600)
        count = 0
        while time.monotonic() < self.end:
            job, accept = rng.choice(self.jobs)
            name = f"{number}-{count}"
            count += 1
            begin = time.monotonic()
            with self.lock:
                self.sent.append(name)
            try:
                if rng.random() < 0.5:
                    result = client.verify(**job, id=name)
                else:
                    result = client.result(client.submit(**job, id=name), poll_s=0.1)
            except Exception as lost:  # counted below: an answer is missing
                with self.lock:
                    self.wrong.append(f"{name}: {lost!r}")
                continue
            cls = result.get("verdict", {}).get("class", "error")
            with self.lock:
                self.latencies.append(time.monotonic() - begin)
                self.answers[result["job"]] += 1
                if cls not in accept:
                    text = result.get("verdict", result.get("error"))
                    self.wrong.append(f"{name}: {cls} instead of {sorted(accept)}: "
                                      f"{text.get('summary', text)}")
        client.close()
        with self.lock:
            self.retries += client.retries


def descendants(pid):
    parents, lines = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as file:
                lines[int(name)] = file.read().split(b"\0")[0].decode(errors="replace")
        except OSError:
            continue
    todo, found = [pid], []
    while todo:
        parent = todo.pop()
        children = [p for p, q in parents.items() if q == parent]
        found += [(p, lines.get(p, "")) for p in children]
        todo += children
    return found


def kill_workers(pid, load, every_s, killed):
    rng = random.Random(SEED)
    while time.monotonic() + every_s < load.end:
        time.sleep(every_s)
        kind = rng.choice(WORKERS)
        running = [p for p, line in descendants(pid) if kind in os.path.basename(line)]
        if running:
            try:
                os.kill(rng.choice(running), signal.SIGKILL)
                killed[kind] += 1
            except ProcessLookupError:
                pass


def metric(text, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.split("{")[0].split(" ")[0] == name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kuafu")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--queue", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=3.0)
    parser.add_argument("--forms", default="cuda,musa,extension")
    options = parser.parse_args()
    jobs = candidates(options.forms.split(","))
    with subprocess.Popen(
            [options.kuafu, "verify-server", "--listen=127.0.0.1:0", f"--jobs={options.jobs}",
             f"--queue={options.queue}"], stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline().split("port ")[1].split(",")[0])
            url = f"http://127.0.0.1:{port}"
            # PyTorch is imported, the headers are parsed, and every reference has run before the
            # clock starts, as after the first epoch of a training.
            warm = {(job.get("form", "cuda"), job["reference"]): job for job, _ in jobs}
            client = verify_client.Client(url)
            for number, job in enumerate(warm.values()):
                client.verify(**job, id=f"warm-{number}")
            client.close()
            status = measure(options, url, jobs, server.pid, len(warm))
        finally:
            server.terminate()
            code = server.wait(timeout=120)
    if code != 0:
        print(f"the server ended with status {code}")
    return status or code


def measure(options, url, jobs, pid, warm):
    load = Load(url, jobs, options.seconds)
    killed = collections.Counter()
    begin = time.monotonic()
    threads = [threading.Thread(target=load.client, args=(n,)) for n in range(options.clients)]
    threads.append(threading.Thread(target=kill_workers,
                                    args=(pid, load, options.kill_every, killed)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    connection = verify_client.http.client.HTTPConnection("127.0.0.1", int(url.rsplit(":", 1)[1]))
    connection.request("GET", "/metrics")
    metrics = connection.getresponse().read().decode()
    connection.close()
    ended = metric(metrics, "kuafu_jobs_total")
    accepted = metric(metrics, "kuafu_jobs_submitted_total")
    rate = len(load.latencies) / seconds
    load.latencies.sort()
    p50, p99 = (load.latencies[int(len(load.latencies) * q)] for q in (0.5, 0.99))
    # A client that was sent away waits outside; what a job can meet is the queue and what runs.
    explained = min(options.clients, options.queue + metric(metrics, "kuafu_threads")) / rate
    twice = [name for name, count in load.answers.items() if count != 1]
    print(f"{options.clients} clients, {seconds:.1f} s: {len(load.sent)} jobs sent, "
          f"{sum(load.answers.values())} answered, {len(load.wrong)} wrong, {len(twice)} twice, "
          f"{load.retries} sent away and tried again")
    print(f"the server accepted {accepted:.0f} and ended {ended:.0f} (with the warm-up); retries "
          f"after its own faults: {metric(metrics, 'kuafu_infra_retries_total'):.0f}; killed: "
          f"{dict(killed)}")
    print(f"{rate:.1f} verdicts/s, p50 {p50:.2f} s, p99 {p99:.2f} s = {p99 / explained:.2f} x "
          f"(jobs before it / throughput)")
    for line in load.wrong[:20]:
        print("wrong:", line)
    good = (len(load.sent) == sum(load.answers.values()) == len(load.answers) and not load.wrong
            and accepted == ended == len(load.sent) + warm and len(load.sent) > 0)
    print("load test:", "ok" if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
