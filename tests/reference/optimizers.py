"""Writes tests/reference/optimizers.safetensors: updates and learning rates by PyTorch, in float64.

tests/unit/test_ref_updates.c compares kernels/ref with them, and tests/unit/test_schedule.c
runtime/engine/schedule.c. The file was written with Python 3.11.7, torch 2.5.1, numpy 2.4.6, safetensors 0.8.0 on
x86-64:

    python3 -m venv /tmp/torch
    /tmp/torch/bin/pip install torch==2.5.1 numpy==2.4.6 safetensors==0.8.0
    /tmp/torch/bin/python tests/reference/optimizers.py

    gradient              F64 [50][8]  gradients of each step, some of them large; those of the last element are 0
    parameter             F64 [8]      parameters before the first step
    <optimizer>.1, .50    F64 [8]      parameters after 1 and after 50 steps of adam, adamw, sgd, momentum at RATE
    momentum_cosine.50    F64 [8]      parameters after 50 steps of momentum with the rates of cosine
    rate.<schedule>       F64 [50]     learning rate of each step, in a run of 50 at RATE: linear, cosine (both to a
                                       tenth), warm_linear, warm_cosine (after ten steps of warm-up), warm_constant
"""
import math
import os

import torch
from safetensors.torch import save_file

STEPS, SIZE, RATE, WARM, FINAL = 50, 8, 1e-2, 10, 0.1

OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=RATE, betas=(0.9, 0.999), eps=1e-8),
    "adamw": lambda p: torch.optim.AdamW(p, lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1),
    "sgd": lambda p: torch.optim.SGD(p, lr=RATE),
    "momentum": lambda p: torch.optim.SGD(p, lr=RATE, momentum=0.9),
}


def make_linear(optimizer, steps):
    return torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, FINAL, total_iters=steps)


def make_cosine(optimizer, steps):
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, eta_min=FINAL * RATE)


def make_constant(optimizer, steps):
    return torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0, total_iters=steps)


def warm_up(make):
    """Returns the function that makes a schedule with warm-up."""
    def make_warm(optimizer, steps):
        rise = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / WARM, 1.0, total_iters=WARM - 1)
        return torch.optim.lr_scheduler.SequentialLR(optimizer, [rise, make(optimizer, steps - WARM)], [WARM])
    return make_warm


SCHEDULES = {"linear": make_linear, "cosine": make_cosine, "warm_linear": warm_up(make_linear),
             "warm_cosine": warm_up(make_cosine), "warm_constant": warm_up(make_constant)}


def train(start, gradients, make_optimizer, make_schedule=None):
    """Returns the parameters after each step, and the learning rate of each step."""
    parameter = torch.nn.Parameter(start.clone())
    optimizer = make_optimizer([parameter])
    scheduler = make_schedule(optimizer, STEPS) if make_schedule else None
    parameters, rates = [], []
    for gradient in gradients:
        rates.append(optimizer.param_groups[0]["lr"])
        parameter.grad = gradient.clone()
        optimizer.step()
        if scheduler:
            scheduler.step()
        parameters.append(parameter.detach().clone())
    return parameters, torch.tensor(rates, dtype=torch.float64)


def main():
    generator = torch.Generator().manual_seed(17)
    gradients = torch.randn(STEPS, SIZE, dtype=torch.float64, generator=generator)
    gradients *= torch.tensor([10.0 ** (i % 3 - 1) for i in range(STEPS)], dtype=torch.float64)[:, None]
    gradients[:, -1] = 0
    start = torch.linspace(-1, 1, SIZE, dtype=torch.float64) * math.sqrt(2)
    out = {"gradient": gradients, "parameter": start}
    for name, make_optimizer in OPTIMIZERS.items():
        parameters, _ = train(start, gradients, make_optimizer)
        out[name + ".1"], out[f"{name}.{STEPS}"] = parameters[0], parameters[-1]
    for name, make_schedule in SCHEDULES.items():
        parameters, rates = train(start, gradients, OPTIMIZERS["momentum"], make_schedule)
        out["rate." + name] = rates
        if name == "cosine":
            out[f"momentum_cosine.{STEPS}"] = parameters[-1]
    save_file(out, os.path.join(os.path.dirname(__file__), "optimizers.safetensors"))


if __name__ == "__main__":
    main()
