"""The models of peer.py in PyTorch on the processor: a worker of cpu.py, which says how (worker.py).

variants: eager, and compile (torch.compile of the loss, or of the forward pass in an evaluation). Both forms of
attention. Threads: LONGHAND_PEER_THREADS, which a process keeps.
"""

import os
import sys

sys.dont_write_bytecode = True

import worker  # first: it moves standard output away

import torch
from torch.nn import functional as F

import peer
from pytorch_model import Model, Trainer

THREADS = int(os.environ["LONGHAND_PEER_THREADS"])
if os.environ.get("ATEN_CPU_CAPABILITY") == "avx2":
    import torch._inductor.config
    torch._inductor.config.cpp.simdlen = 256


def compiled(function):
    return torch.compile(function, fullgraph=True, dynamic=False)


def forward(function, case, tokens):
    with torch.no_grad():
        return function(case.labels, torch.tensor(tokens)).numpy()


def prepare_training(case, weights, batch):
    trainer = Trainer(case, weights, batch, "cpu", compiled if case.variant == "compile" else None)
    model = Model(case, weights, "cpu").eval()

    def run(steps):
        for _ in range(steps):
            trainer.step()

    return worker.Prepared(run, lambda: float(trainer.loss), lambda tokens: forward(model, case, tokens))


def prepare_evaluation(case, weights, batch):
    model = Model(case, weights, "cpu").eval()
    function = compiled(model) if case.variant == "compile" else model
    ring = {name: torch.tensor(value).to(torch.int64) for name, value in peer.ring(case, batch).items()}
    last = {"turn": 0}

    def run(steps):
        with torch.no_grad():
            for _ in range(steps):
                last["turn"] = (last["turn"] + 1) % peer.RING
                logits = function(case.labels, ring["tokens"][last["turn"]])
                last["loss"] = F.cross_entropy(logits.flatten(0, -2), ring["target"][last["turn"]].flatten())

    return worker.Prepared(run, lambda: float(last["loss"]), lambda tokens: forward(function, case, tokens))


def prepare(case, mode, weights, batch):
    if case.variant == "compile":
        torch.compiler.reset()
    torch.manual_seed(0)
    return (prepare_training if mode == "train" else prepare_evaluation)(case, weights, batch)


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    worker.serve(prepare, f"PyTorch {torch.__version__}")
