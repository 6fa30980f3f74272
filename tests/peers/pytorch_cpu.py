"""The models of peer.py in PyTorch on the processor, for cpu.py; worker.py describes its requests.

Variants: eager, and compile (torch.compile of the loss, or of the forward pass in an evaluation), each with both forms
of attention. LONGHAND_PEER_THREADS is the number of threads, which a process cannot change.
"""

import os
import sys

sys.dont_write_bytecode = True

import worker  # first, since it redirects standard output

import torch
from torch.nn import functional as F

import peer
from pytorch_model import Model, Trainer

THREADS = int(os.environ["LONGHAND_PEER_THREADS"])
if os.environ.get("ATEN_CPU_CAPABILITY") == "avx2":
    import torch._inductor.config
    torch._inductor.config.cpp.simdlen = 256


def compile_function(function):
    return torch.compile(function, fullgraph=True, dynamic=False)


def forward(function, case, tokens):
    with torch.no_grad():
        return function(case.labels, torch.tensor(tokens)).numpy()


def prepare_training(case, weights, batch):
    trainer = Trainer(case, weights, batch, "cpu", compile_function if case.variant == "compile" else None)
    model = Model(case, weights, "cpu").eval()

    def run(steps):
        for _ in range(steps):
            trainer.step()

    return worker.Prepared(run, lambda: float(trainer.loss), lambda tokens: forward(model, case, tokens))


def prepare_evaluation(case, weights, batch):
    model = Model(case, weights, "cpu").eval()
    function = compile_function(model) if case.variant == "compile" else model
    ring = {name: torch.tensor(value).to(torch.int64) for name, value in peer.make_ring(case, batch).items()}
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
