"""A process that times one framework on the processor. It answers each request of cpu.py, a line of JSON, by one line:

    {"do": "prepare", "key": K, "case": {...}, "mode": "train", "batch": 128, "weights": FILE, "reference": FOLDER}
        builds and compiles, compares logits at the case's number of tokens -> {"compile_seconds", "logit_error"}
    {"do": "time", "key": K, "seconds": 0.5}
        makes whole steps for about this time -> {"steps", "seconds", "processor_seconds" (of all threads), "loss"}
    {"do": "forget"}
        drops all prepared cases -> {}
After a failure the answer is {"error": why}, and the process continues.
"""

import os

# Answers go to the original standard output, and output of frameworks to standard error. Frameworks also print while
# they are imported, so this module is imported before them.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import dataclasses
import json
import math
import sys
import time

import peer
from peer import np


@dataclasses.dataclass
class Prepared:
    """A case that is ready to be timed. run(n) makes n steps, and loss() returns the loss of the last one.
    logits(tokens [batch][T]) returns [batch][labels][CLASSES], in an evaluation by the program that is timed. rate:
    steps per second of the last timing."""

    run: object
    loss: object
    logits: object
    rate: float = 1.0


def check_logits(prepared, request, case):
    """Returns the largest error over the references of this length, each repeated to fill a batch."""
    references = peer.read_references(request["reference"], case.model, case.model)
    errors = []
    for tokens, _, expected in (reference for reference in references if reference[0].shape[1] == case.tokens):
        times = -(-request["batch"] // len(tokens))
        fill_batch = lambda x: np.tile(x, (times, *[1] * (x.ndim - 1)))[: request["batch"]]
        errors.append(peer.measure_logit_error(prepared.logits(fill_batch(tokens)), fill_batch(expected)))
    if not errors:
        raise ValueError(f"no reference logits of {case.tokens} tokens")
    if max(errors) > peer.TOLERANCE["float32"]:
        raise ValueError(f"logits differ by {max(errors):.1e}, expected at most {peer.TOLERANCE['float32']:g}")
    return max(errors)


class Worker:
    def __init__(self, prepare):
        """prepare(case, mode, weights, batch) returns a Prepared, which may compile in its first step."""
        self.prepare_case, self.known, self.weights = prepare, {}, {}

    def prepare(self, request):
        case, path = peer.Case(**request["case"]), request["weights"]
        if path not in self.weights:
            self.weights[path] = peer.load_weights(path)
        start = time.perf_counter()
        prepared = self.prepare_case(case, request["mode"], self.weights[path], request["batch"])
        prepared.run(1)
        seconds = time.perf_counter() - start
        error = check_logits(prepared, request, case)
        start = time.perf_counter()
        prepared.run(1)
        prepared.rate = 1 / max(time.perf_counter() - start, 1e-9)
        self.known[request["key"]] = prepared
        return {"compile_seconds": seconds, "logit_error": error}

    def time(self, request):
        prepared = self.known.get(request["key"])
        if prepared is None:
            raise ValueError("the case is not prepared: this process was started again")
        steps = max(1, round(prepared.rate * request["seconds"]))
        start, processor_start = time.perf_counter(), time.process_time()
        prepared.run(steps)
        seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor_start
        prepared.rate = steps / seconds
        loss = prepared.loss()
        if not math.isfinite(loss):
            raise ValueError(f"the loss is {loss}")
        return {"steps": steps, "seconds": seconds, "processor_seconds": processor_seconds, "loss": loss}

    def forget(self, _):
        self.known.clear()
        return {}


def serve(prepare, version):
    worker = Worker(prepare)
    print(json.dumps({"version": version}), file=ANSWERS, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request["do"])(request)
        except Exception as error:
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        print(json.dumps(answer), file=ANSWERS, flush=True)
