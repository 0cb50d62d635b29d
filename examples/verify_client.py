#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client of `kuafu verify-server` with nothing but Python's standard library, and the reward
functions that TRL, verl and OpenRLHF call.

    client = Client("http://127.0.0.1:8077", key=None)
    verdict = client.verify(reference, candidate, form="cuda")["verdict"]
    verdict["class"], verdict["reward"]

    verify_client.py --url=http://127.0.0.1:8077 ref.py kernel.cu     prints the verdict

Copy it; it is meant to be changed. The server is docs/verify-server.md.
"""
import argparse
import http.client
import json
import os
import random
import sys
import threading
import time
import urllib.parse
import uuid

FORMS = {".cu": "cuda", ".mu": "musa", ".py": "extension"}


class ServerError(Exception):
    """The server said no: `status` is the HTTP status, `code` the server's own word for it."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code = status, code


class Client:
    """Safe to use from several threads: each has a connection of its own."""

    def __init__(self, url=None, key=None, timeout_s=900, patience_s=1800):
        """`timeout_s` bounds one request, `patience_s` one job with all its retries."""
        url = url or os.environ.get("KUAFU_VERIFY_URL", "http://127.0.0.1:8077")
        parts = urllib.parse.urlsplit(url)
        self.https, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.key = key or os.environ.get("KUAFU_VERIFY_KEY")
        self.timeout_s, self.patience_s = timeout_s, patience_s
        self.local = threading.local()
        self.retries = 0  # of full queues and lost connections

    def close(self):
        """Ends this thread's connection; the next request opens another."""
        connection = getattr(self.local, "connection", None)
        if connection is not None:
            connection.close()
            self.local.connection = None

    def request(self, method, path, body=None):
        """(status, headers, document) of one answer; a connection that was closed meanwhile is
        opened again, once."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.key:
            headers["Authorization"] = "Bearer " + self.key
        data = None if body is None else json.dumps(body).encode()
        for kept in (True, False):
            connection = getattr(self.local, "connection", None)
            if connection is None:
                kept = False
                make = http.client.HTTPSConnection if self.https else http.client.HTTPConnection
                connection = self.local.connection = make(self.host, self.port,
                                                          timeout=self.timeout_s)
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.close()
                if not kept:
                    raise
        if answer.will_close:
            self.close()
        return answer.status, answer.headers, json.loads(text) if text else {}

    def ask(self, method, path, body=None, allowed=(200, 202)):
        """The document. A full queue, a server that is starting again and a lost connection are
        tried again until patience ends; jobs have ids, so that none is judged twice for it."""
        deadline = time.monotonic() + self.patience_s
        while True:
            wait_s, problem = 0.5, None
            try:
                status, headers, document = self.request(method, path, body)
                if status in allowed:
                    return document
                error = document.get("error", {})
                problem = ServerError(status, error.get("code", ""), error.get("message", ""))
                if status not in (429, 503):
                    raise problem
                wait_s = float(headers.get("Retry-After", 1))
            except (OSError, http.client.HTTPException) as lost:
                problem = lost
            if time.monotonic() + wait_s > deadline:
                raise problem
            self.retries += 1
            time.sleep(wait_s * random.uniform(0.5, 1.0))

    def verify(self, reference, candidate, **fields):
        """Waits: {"job", "status": "done", "verdict" or "error"}."""
        job = self.job(reference, candidate, **fields)
        document = self.ask("POST", "/v1/verify", job, allowed=(200, 202, 422))
        return document if document["status"] == "done" else self.result(document["job"])

    def submit(self, reference, candidate, **fields):
        """Does not wait: the id of the job."""
        job = self.job(reference, candidate, **fields) | {"wait": False}
        return self.ask("POST", "/v1/verify", job, allowed=(200, 202, 422))["job"]

    def result(self, job, poll_s=0.2):
        """Waits for a job that was submitted."""
        deadline = time.monotonic() + self.patience_s
        while True:
            document = self.ask("GET", "/v1/jobs/" + job)
            if document["status"] in ("done", "cancelled"):
                return document
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job} is still {document['status']}")
            time.sleep(poll_s)

    def batch(self, jobs, poll_s=0.2, chunk=32, **fields):
        """Waits for many: results in the order of `jobs`, each a dict with "reference", "candidate"
        and what Client.job takes. In parts, because a part finds room in the server's queue whole
        or not at all."""
        jobs = [self.job(**(fields | job)) for job in jobs]
        paths, results = [], []
        for at in range(0, len(jobs), chunk):
            body = {"id": "b-" + uuid.uuid4().hex, "jobs": jobs[at:at + chunk]}
            paths.append("/v1/batches/" + self.ask("POST", "/v1/batches", body)["batch"])
        deadline = time.monotonic() + self.patience_s
        for path in paths:
            while self.ask("GET", path + "?verdicts=0")["status"] != "done":
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} is not done")
                time.sleep(poll_s)
            results += self.ask("GET", path)["jobs"]
        return results

    def cancel(self, job):
        """True when it was still queued."""
        try:
            return self.ask("DELETE", "/v1/jobs/" + job)["status"] == "cancelled"
        except ServerError as error:
            if error.status == 409:
                return False
            raise

    @staticmethod
    def job(reference, candidate, **fields):
        """The fields of a request: reference, candidate, form, target, plan, policy, sanitize, seed,
        timeout_s, task, id; an id is made when there is none."""
        # Half of a surrogate pair, which a model may emit, has no place in UTF-8.
        clean = candidate.encode("utf-8", "replace").decode()
        return {"id": uuid.uuid4().hex, "reference": reference, "candidate": clean} | fields


def reward_of(result):
    """A number, or None for what must not be scored: a fault of the verifier or an unusable
    reference."""
    reward = result.get("verdict", {}).get("reward", {})
    return None if reward.get("value") is None else float(reward["value"])


def text_of(completion):
    """Of a completion in TRL's standard or conversational format."""
    return completion if isinstance(completion, str) else completion[-1]["content"]


_shared = {}


def shared_client():
    """One a process: connections do not survive a fork."""
    return _shared.setdefault(os.getpid(), Client())


def rewards(candidates, references, form="cuda", **fields):
    """One reward for each pair, None where there is none. All at once, so that the server's queue
    and not this loop decides what runs when."""
    jobs = [{"reference": reference, "candidate": candidate}
            for candidate, reference in zip(candidates, references)]
    return [reward_of(result) for result in shared_client().batch(jobs, form=form, **fields)]


def reward_func(prompts, completions, reference, form=None, **kwargs):
    """TRL: GRPOTrainer(reward_funcs=reward_func); the data set has a column "reference" with the
    text of the PyTorch file, and may have a column "form". None means: leave this sample out."""
    del prompts, kwargs
    forms = form or ["cuda"] * len(completions)
    jobs = [{"reference": r, "candidate": text_of(c), "form": f}
            for c, r, f in zip(completions, reference, forms)]
    return [reward_of(result) for result in shared_client().batch(jobs)]


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    """verl: custom_reward_function.path=verify_client.py; ground_truth is the text of the PyTorch
    file. verl needs a number for every sample: what is not scored gets 0, and says so."""
    del data_source, kwargs
    form = (extra_info or {}).get("form", "cuda")
    result = shared_client().verify(ground_truth, solution_str, form=form)
    reward = reward_of(result)
    return {"score": 0.0 if reward is None else reward, "scored": reward is not None,
            "class": result.get("verdict", {}).get("class", "error")}


def openrlhf_reward_func(queries, prompts, labels, **kwargs):
    """OpenRLHF: a file with `from verify_client import openrlhf_reward_func as reward_func`; labels
    are texts of PyTorch files. A query is the prompt and the response."""
    del kwargs
    import torch  # OpenRLHF expects tensors
    responses = [query[len(prompt):] if query.startswith(prompt) else query
                 for query, prompt in zip(queries, prompts)]
    values = rewards(responses, labels)
    numbers = torch.tensor([0.0 if value is None else value for value in values])
    passed = torch.tensor([float(value is not None and value >= 1) for value in values])
    unscored = torch.tensor([float(value is None) for value in values])
    return {"rewards": numbers, "scores": passed, "extra_logs": {"unscored": unscored}}


def main():
    parser = argparse.ArgumentParser(description="judge one candidate on a verify-server")
    parser.add_argument("--url", default=None)
    parser.add_argument("--target", default=None)
    parser.add_argument("reference")
    parser.add_argument("candidate", help="ends in .cu, .mu or .py")
    options = parser.parse_args()
    with open(options.reference, encoding="utf-8") as file:
        reference = file.read()
    with open(options.candidate, encoding="utf-8") as file:
        candidate = file.read()
    form = FORMS.get(os.path.splitext(options.candidate)[1], "cuda")
    result = Client(options.url).verify(reference, candidate, form=form, target=options.target)
    print(json.dumps(result, indent=2))
    return 0 if result.get("verdict", {}).get("class") == "pass" else 1


if __name__ == "__main__":
    sys.exit(main())
