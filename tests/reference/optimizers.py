"""Writes tests/reference/optimizers.safetensors: updates and learning rates as PyTorch makes them, in float64.

kernels/ref is compared with them (tests/unit/test_ref_updates.c), and runtime/engine/schedule.c
(tests/unit/test_schedule.c). Made with Python 3.11.7, torch 2.5.1, numpy 2.4.6, safetensors 0.8.0 on x86-64:

    python3 -m venv /tmp/torch
    /tmp/torch/bin/pip install torch==2.5.1 numpy==2.4.6 safetensors==0.8.0
    /tmp/torch/bin/python tests/reference/optimizers.py

    gradient              F64 [50][8]  of each step, some of them large, the last element's always 0
    parameter             F64 [8]      before the first step
    <optimizer>.1, .50    F64 [8]      parameters after 1 and after 50 steps of adam, adamw, sgd, momentum at RATE
    momentum_cosine.50    F64 [8]      momentum with the rates of cosine
    rate.<schedule>       F64 [50]     of each step, in a run of 50 whose rate is RATE: linear, cosine (both to a tenth),
                                       warm_linear, warm_cosine (the same after ten steps of warm-up), warm_constant
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


def linear(optimizer, steps):
    return torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, FINAL, total_iters=steps)


def cosine(optimizer, steps):
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, eta_min=FINAL * RATE)


def constant(optimizer, steps):
    return torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0, total_iters=steps)


def warm(then):
    def schedule(optimizer, steps):
        rise = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / WARM, 1.0, total_iters=WARM - 1)
        return torch.optim.lr_scheduler.SequentialLR(optimizer, [rise, then(optimizer, steps - WARM)], [WARM])
    return schedule


SCHEDULES = {"linear": linear, "cosine": cosine, "warm_linear": warm(linear), "warm_cosine": warm(cosine),
             "warm_constant": warm(constant)}


def train(start, gradients, make, schedule=None):
    """Parameters after each step, and the rate of each."""
    parameter = torch.nn.Parameter(start.clone())
    optimizer = make([parameter])
    scheduler = schedule(optimizer, STEPS) if schedule else None
    behind, rates = [], []
    for gradient in gradients:
        rates.append(optimizer.param_groups[0]["lr"])
        parameter.grad = gradient.clone()
        optimizer.step()
        if scheduler:
            scheduler.step()
        behind.append(parameter.detach().clone())
    return behind, torch.tensor(rates, dtype=torch.float64)


def main():
    generator = torch.Generator().manual_seed(17)
    gradients = torch.randn(STEPS, SIZE, dtype=torch.float64, generator=generator)
    gradients *= torch.tensor([10.0 ** (i % 3 - 1) for i in range(STEPS)], dtype=torch.float64)[:, None]
    gradients[:, -1] = 0
    start = torch.linspace(-1, 1, SIZE, dtype=torch.float64) * math.sqrt(2)
    out = {"gradient": gradients, "parameter": start}
    for name, make in OPTIMIZERS.items():
        behind, _ = train(start, gradients, make)
        out[name + ".1"], out[f"{name}.{STEPS}"] = behind[0], behind[-1]
    for name, schedule in SCHEDULES.items():
        behind, rates = train(start, gradients, OPTIMIZERS["momentum"], schedule)
        out["rate." + name] = rates
        if name == "cosine":
            out[f"momentum_cosine.{STEPS}"] = behind[-1]
    save_file(out, os.path.join(os.path.dirname(__file__), "optimizers.safetensors"))


if __name__ == "__main__":
    main()
