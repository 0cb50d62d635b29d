#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`kuafu verify-server` as its clients see it: a real server, the example client, raw sockets.

  verify_server_test.py KUAFU
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples"))
import verify_client  # noqa: E402  (found through the path above)

KUAFU = sys.argv.pop(1)
KEY = "a-key-for-this-test-0123456789"


def text_of(name):
    with open(os.path.join(ROOT, "examples", name), encoding="utf-8") as file:
        return file.read()


REFERENCE, RIGHT = text_of("softmax/ref.py"), text_of("softmax/softmax.cu")
RACE, MUSA = text_of("softmax/softmax_race.cu"), text_of("softmax/softmax.mu")
EXTENSION = ("import torch\nclass ModelNew(torch.nn.Module):\n"
             "    def forward(self, x):\n        return torch.softmax(x, 1)\n")


class PatientClient(verify_client.Client):
    """The time limit of a candidate is for one that never ends; other tests run beside this one."""

    @staticmethod
    def job(reference, candidate, **fields):
        return verify_client.Client.job(reference, candidate, **({"timeout_s": 120} | fields))


class Server:
    """A server process on a port of its own choice."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [KUAFU, "verify-server", "--listen=127.0.0.1:0", *options], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if "port" not in line:
            raise RuntimeError(line + self.process.stderr.read())
        self.port = int(line.split("port ")[1].split(",")[0])
        self.url = f"http://127.0.0.1:{self.port}"
        self.clients = []

    def client(self, key=None):
        self.clients.append(PatientClient(self.url, key, timeout_s=400, patience_s=400))
        return self.clients[-1]

    def end(self, how=signal.SIGTERM):
        """The exit status."""
        for client in self.clients:
            client.close()
        self.process.send_signal(how)
        try:
            _, self.errors = self.process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode


def descendants(pid):
    """(pid, command line) of everything that `pid` has started."""
    parents, lines = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as file:
                lines[int(name)] = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        children = [p for p, q in parents.items() if q == parent]
        found += [(p, lines.get(p, "")) for p in children]
        todo += children
    return found


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--jobs=2", "--compile-workers=2", "--queue=64")
        cls.client = cls.server.client()
        cls.client.verify(REFERENCE, RIGHT)  # warm

    @classmethod
    def tearDownClass(cls):
        status = cls.server.end()
        assert status == 0, (status, cls.server.errors)

    def status(self, method, path, body=None, headers=None):
        """Of one raw request, with whatever headers."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as raw:
            data = b"" if body is None else body
            lines = [f"{method} {path} HTTP/1.1", f"Content-Length: {len(data)}",
                     "Connection: close"]
            fields = {"Host": "localhost:1", "Content-Type": "application/json"} | (headers or {})
            lines += [f"{k}: {v}" for k, v in fields.items()]
            raw.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
            answer = b""
            while block := raw.recv(65536):
                answer += block
        head, _, content = answer.partition(b"\r\n\r\n")
        document = json.loads(content)
        status = int(head.split()[1])
        if status >= 400:
            self.assertEqual(sorted(document["error"]), ["code", "message"])
        return status

    def test_a_right_a_wrong_and_a_musa_candidate(self):
        right = self.client.verify(REFERENCE, RIGHT, task="softmax")
        self.assertEqual(right["verdict"]["class"], "pass", right)
        self.assertEqual(right["verdict"]["task"], "softmax")
        race = self.client.verify(REFERENCE, RACE, id="race-1")
        self.assertEqual((race["job"], race["verdict"]["class"]), ("race-1", "race"))
        self.assertEqual(self.client.result("race-1")["verdict"], race["verdict"])
        musa = self.client.verify(REFERENCE, MUSA, form="musa")
        self.assertEqual(musa["verdict"]["class"], "pass", musa)
        self.assertEqual(musa["verdict"]["target"], "sim:mtt-s4000")
        fallback = self.client.verify(REFERENCE, EXTENSION, form="extension")
        self.assertNotEqual(fallback["verdict"]["class"], "pass", fallback)

    def test_text_of_any_kind_is_judged_or_refused(self):
        fenced = "Here it is:\n```cuda\n" + RIGHT + "\n```\nIt is fast."
        self.assertEqual(self.client.verify(REFERENCE, fenced)["verdict"]["class"], "pass")
        for text, cls in (("", "format_error"), ("I cannot do that.", None),
                          ("\ud800 \x00", None), ("x" * (5 << 20), "compile_error")):
            verdict = self.client.verify(REFERENCE, text)["verdict"]
            self.assertNotEqual(verdict["class"], "pass")
            self.assertNotEqual(verdict["class"], "infra")
            if cls:
                self.assertEqual(verdict["class"], cls)
        broken = self.client.verify("this is no python (", RIGHT)
        self.assertEqual(broken["error"]["code"], "invalid_input", broken)

    def test_the_same_id_is_judged_once(self):
        first = self.client.submit(REFERENCE, RIGHT, id="once")
        self.assertEqual(self.client.submit(REFERENCE, RIGHT, id="once"), first)
        with self.assertRaises(verify_client.ServerError) as refused:
            self.client.submit(REFERENCE, RACE, id="once")
        self.assertEqual(refused.exception.status, 409)
        self.assertEqual(self.client.result("once")["verdict"]["class"], "pass")

    def test_a_batch_comes_back_in_its_order(self):
        jobs = [{"reference": REFERENCE, "candidate": c} for c in (RIGHT, RACE, "nonsense", RIGHT)]
        classes = [r["verdict"]["class"] for r in self.client.batch(jobs, chunk=3)]
        self.assertEqual(classes[:2] + classes[3:], ["pass", "race", "pass"])
        self.assertIn(classes[2], ("compile_error", "format_error"))

    def test_a_queued_job_can_be_cancelled_and_a_finished_one_not(self):
        jobs = [self.client.submit(REFERENCE, RIGHT + f"// {i}\n") for i in range(12)]
        cancelled = self.client.cancel(jobs[-1])
        results = [self.client.result(job) for job in jobs]
        self.assertEqual(results[-1]["status"], "cancelled" if cancelled else "done")
        self.assertFalse(self.client.cancel(jobs[0]))

    def test_reward_functions_of_trainers(self):
        verify_client._shared[os.getpid()] = self.client
        completions = [[{"role": "assistant", "content": f"```cuda\n{RIGHT}\n```"}],
                       [{"role": "assistant", "content": RACE}]]
        rewards = verify_client.reward_func(prompts=["p", "p"], completions=completions,
                                            reference=[REFERENCE, REFERENCE], completions_ids=[])
        verdict = self.client.verify(REFERENCE, RIGHT)["verdict"]
        if verdict["reward"]["value"] is not None:
            self.assertGreaterEqual(rewards[0], 1)
            self.assertEqual(rewards[1], -1)
        score = verify_client.compute_score("kernels", RACE, REFERENCE, extra_info={"form": "cuda"})
        self.assertEqual(score["class"], "race")
        unusable = verify_client.compute_score("kernels", RACE, "no python (")
        self.assertEqual((unusable["score"], unusable["scored"]), (0.0, False))
        # What OpenRLHF calls, without its torch.
        self.assertEqual(verify_client.rewards([RACE], [REFERENCE]), rewards[1:])

    def test_requests_that_are_none(self):
        good = json.dumps({"reference": REFERENCE, "candidate": RIGHT}).encode()
        for method, path, body, headers, status in (
                ("GET", "/", None, {}, 404), ("GET", "/v1/nothing", None, {}, 404),
                ("GET", "/v1/verify", None, {}, 405), ("PUT", "/v1/jobs/x", b"", {}, 405),
                ("GET", "/v1/jobs/never", None, {}, 404),
                ("GET", "/v1/jobs/%2e%2e%2fetc", None, {}, 404),
                ("GET", "/v1/batches/never", None, {}, 404),
                ("DELETE", "/v1/jobs/never", None, {}, 404),
                ("POST", "/v1/verify", b"", {}, 400), ("POST", "/v1/verify", b"[1", {}, 400),
                ("POST", "/v1/verify", b"[" * 100000, {}, 400),
                ("POST", "/v1/verify", b"\xff\xfe", {}, 400),
                ("POST", "/v1/verify", b"{}", {}, 400),
                ("POST", "/v1/verify", good[:-1] + b', "wait": "yes"}', {}, 400),
                ("POST", "/v1/verify", good[:-1] + b', "more": 1}', {}, 400),
                ("POST", "/v1/batches", b'{"jobs": []}', {}, 400),
                ("POST", "/v1/batches", b'{"jobs": [{}]}', {}, 400),
                ("POST", "/v1/verify", good, {"Content-Type": "text/plain"}, 415),
                ("POST", "/v1/verify", good, {"Host": "evil.example"}, 403),
                ("GET", "/health", None, {"Host": "evil.example:8077"}, 403)):
            self.assertEqual(self.status(method, path, body, headers), status, (method, path))
        many = {"jobs": [{"reference": "r", "candidate": "c"}] * 65}
        self.assertEqual(self.status("POST", "/v1/batches", json.dumps(many).encode()), 400)

    def test_health_and_metrics(self):
        self.assertEqual(self.client.ask("GET", "/health")["status"], "ready")
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as raw:
            raw.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            text = b""
            while block := raw.recv(65536):
                text += block
        self.assertIn(b'kuafu_jobs_total{class="pass"}', text)
        self.assertIn(b"kuafu_http_requests_total", text)

    def test_a_killed_worker_costs_a_retry_at_most(self):
        """Each kind of process is killed while jobs are on their way; every job still passes."""
        for name, form, candidate, wanted in (
                ("kuafu-compiler", "cuda", RIGHT, "pass"), ("kuafu-runner", "cuda", RIGHT, "pass"),
                ("python", "cuda", RIGHT, "pass"), ("python", "extension", EXTENSION, None)):
            expected = wanted or self.client.verify(REFERENCE, candidate, form=form)["verdict"][
                "class"]
            killed = 0
            for attempt in range(4):
                # New seeds, so that the reference is run again too.
                jobs = [self.client.submit(REFERENCE, candidate, form=form, sanitize=False,
                                           seed=1 + (attempt * 4 + i) * 7 + len(name) * 1000)
                        for i in range(4)]
                end, before = time.monotonic() + 2, killed
                while time.monotonic() < end and killed == before:
                    for pid, line in descendants(self.server.process.pid):
                        if name in line.split(" ")[0]:
                            try:
                                os.kill(pid, signal.SIGKILL)
                                killed += 1
                            except ProcessLookupError:
                                continue
                            break
                    time.sleep(0.01)
                for job in jobs:
                    result = self.client.result(job)
                    self.assertEqual(result.get("verdict", {}).get("class"), expected,
                                     (name, result))
            self.assertGreater(killed, 0, name)


class Life(unittest.TestCase):
    def test_a_key_is_needed_where_others_can_connect(self):
        run = subprocess.run([KUAFU, "verify-server", "--listen=0.0.0.0:0"], capture_output=True,
                             text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 2, run)
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            keys.write(f"# of the trainer\n{KEY}\n")
            keys.flush()
            server = Server(f"--api-key-file={keys.name}")
        try:
            for key, status in ((None, 401), (KEY[:-1], 401), (KEY + "0", 401)):
                with self.assertRaises(verify_client.ServerError) as refused:
                    server.client(key).ask("GET", "/v1/jobs/x")
                self.assertEqual(refused.exception.status, status)
            self.assertEqual(server.client().ask("GET", "/health")["status"], "ready")
            self.assertEqual(server.client(KEY).verify(REFERENCE, RIGHT)["verdict"]["class"],
                             "pass")
        finally:
            self.assertEqual(server.end(), 0)

    def test_a_full_queue_says_when_to_come_back(self):
        server = Server("--jobs=1", "--compile-workers=1", "--queue=1")
        try:
            client = server.client()
            seen = set()
            accepted = []
            for i in range(40):
                body = client.job(REFERENCE, RIGHT + f"// {i}\n", wait=False)
                status, headers, document = client.request("POST", "/v1/verify", body)
                seen.add(status)
                if status == 429:
                    self.assertGreaterEqual(int(headers["Retry-After"]), 1)
                    self.assertEqual(document["error"]["code"], "exhausted")
                else:
                    accepted.append(document["job"])
            self.assertEqual(seen, {202, 429})
            for job in accepted:
                self.assertEqual(client.result(job)["verdict"]["class"], "pass")
        finally:
            self.assertEqual(server.end(), 0)

    def test_a_restart_after_kill_goes_on_with_the_queue(self):
        with tempfile.TemporaryDirectory() as store:
            server = Server("--jobs=1", "--compile-workers=1", f"--store={store}")
            client = server.client()
            done = client.verify(REFERENCE, RIGHT, id="done")
            jobs = [client.submit(REFERENCE, RIGHT + f"// {i}\n", id=f"q-{i}") for i in range(8)]
            server.end(signal.SIGKILL)
            server = Server(f"--store={store}")
            try:
                client = server.client()
                self.assertEqual(client.result("done")["verdict"], done["verdict"])
                for job in jobs:
                    self.assertEqual(client.result(job)["verdict"]["class"], "pass")
            finally:
                self.assertEqual(server.end(), 0)

    def test_a_signal_ends_it_after_the_running_jobs(self):
        server = Server("--jobs=1", "--compile-workers=1")
        client = server.client()
        client.verify(REFERENCE, RIGHT)
        jobs = [client.submit(REFERENCE, RIGHT + f"// {i}\n") for i in range(6)]
        self.assertEqual(len(jobs), 6)
        workers = [pid for pid, _ in descendants(server.process.pid)]
        self.assertGreater(len(workers), 2)
        self.assertEqual(server.end(), 0)
        end = time.monotonic() + 10
        while any(os.path.exists(f"/proc/{pid}") for pid in workers):
            self.assertLess(time.monotonic(), end, "workers outlive the server")
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main(verbosity=2)
