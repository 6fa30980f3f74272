#!/usr/bin/env python3
"""Writes a file for each cell: recurrent models in JAX and float64, which share no code with Longhand.

Source: Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy", and its code. A sequence is the input and an
empty token for each output; logits are linear in the rectified states at the empty tokens. Files have the content that
README.md describes, but gradients in float64, and no layers; tests expect the two heads of the metadata in every file.

Usage: python recurrent.py [OUTPUT_DIRECTORY]
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from metadata import sort_metadata

jax.config.update("jax_enable_x64", True)

WIDTH, SYMBOLS = 16, 5           # tokens: symbols and the empty token; answers: symbols
SEQUENCES = 3
LENGTHS = (1, 5, 18)             # numbers of input tokens; gradients are those of the last
SEED = 2023
CELLS = {"rnn": 1, "lstm": 2, "stack_rnn": 3, "tape_rnn": 4}  # numbers of the files, which select their random numbers
MEMORY = {"stack_rnn": 5, "tape_rnn": 7}  # cells of the memory, of CELL_WIDTH numbers
CELL_WIDTH = 8


def make_parameters(cell, rng):
    """Returns name -> float32 array, in Longhand's layout: the LSTM's one matrix for [x, h] is in two parts, and its
    columns are those of the gates i, g, f, o."""
    draw = lambda *shape, sd: (rng.standard_normal(shape) * sd).astype(np.float32)
    sums = 4 * WIDTH if cell == "lstm" else WIDTH
    p = {"input.weight": draw(SYMBOLS + 1, sums, sd=0.6), "input.bias": draw(sums, sd=0.3),
         "recurrent.weight": draw(WIDTH, sums, sd=WIDTH**-0.5)}
    if cell == "rnn":
        p["recurrent.bias"] = draw(sums, sd=0.3)
    if cell in MEMORY:
        p |= {"recurrent.weight": draw(WIDTH, sums, sd=0.6 * WIDTH**-0.5), "recurrent.bias": draw(sums, sd=0.3),
              "read.weight": draw(CELL_WIDTH, sums, sd=0.4)}
        sizes = {"push": (WIDTH, CELL_WIDTH), "actions": (WIDTH, 3)} if cell == "stack_rnn" else {
            "write_1": (WIDTH, 64), "actions": (WIDTH, 5), "write_2": (64, 64), "write_3": (64, CELL_WIDTH)}
        for name, (rows, columns) in sizes.items():
            sd = (1.6 if name == "actions" else 2 if name == "push" else 0.9) / rows**0.5
            p |= {f"{name}.weight": draw(rows, columns, sd=sd), f"{name}.bias": draw(columns, sd=0.3)}
    return p | {"output.weight": draw(WIDTH, SYMBOLS, sd=0.5), "output.bias": draw(SYMBOLS, sd=0.2)}


def step_rnn(p, state, x):
    h = jax.nn.relu(x @ p["input.weight"] + p["input.bias"] + state @ p["recurrent.weight"] + p["recurrent.bias"])
    return h, h


def step_lstm(p, state, x):
    h, c = state
    joint = jnp.concatenate([p["input.weight"], p["recurrent.weight"]])
    i, g, f, o = jnp.split(jnp.concatenate([x, h], axis=-1) @ joint + p["input.bias"], 4, axis=-1)
    c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def step_stack(p, state, x):
    h, stack = state                     # stack [B][cells][CELL_WIDTH], the first cell on top
    joint = jnp.concatenate([p["input.weight"], p["read.weight"]])
    h = jax.nn.relu(jnp.concatenate([x, stack[:, 0]], axis=-1) @ joint + p["input.bias"] + h @ p["recurrent.weight"]
                    + p["recurrent.bias"])
    value = h @ p["push.weight"] + p["push.bias"]
    action = jax.nn.softmax(h @ p["actions.weight"] + p["actions.bias"])
    pushed = jnp.concatenate([value[:, None], stack[:, :-1]], axis=1)
    popped = jnp.concatenate([stack[:, 1:], jnp.zeros_like(stack[:, :1])], axis=1)
    stack = jnp.einsum("ab,abcd->bcd", action.T, jnp.stack([pushed, popped, stack]))
    return (h, stack), h


def step_tape(jump):
    def step(p, state, x):
        h, tape = state                  # tape [B][cells][CELL_WIDTH], circular
        joint = jnp.concatenate([p["input.weight"], p["read.weight"]])
        h = jax.nn.relu(jnp.concatenate([x, tape[:, 0]], axis=-1) @ joint + p["input.bias"]
                        + h @ p["recurrent.weight"] + p["recurrent.bias"])
        value = jax.nn.relu(h @ p["write_1.weight"] + p["write_1.bias"])
        value = jax.nn.relu(value @ p["write_2.weight"] + p["write_2.bias"])
        tape = tape.at[:, 0].set(value @ p["write_3.weight"] + p["write_3.bias"])
        action = jax.nn.softmax(h @ p["actions.weight"] + p["actions.bias"])
        moved = jnp.stack([jnp.roll(tape, shift, axis=1) for shift in (0, -1, 1, -jump, jump)])
        return (h, jnp.einsum("ba,abcd->bcd", action, moved)), h
    return step


def compute_loss(p, cell, tokens, target):
    """Returns the mean loss in nats, and logits [B][outputs][SYMBOLS]."""
    x = jnp.moveaxis(jax.nn.one_hot(tokens, SYMBOLS + 1, dtype=jnp.float64), 0, 1)
    zero = jnp.zeros((len(tokens), WIDTH))
    memory = jnp.zeros((len(tokens), MEMORY.get(cell, 1), CELL_WIDTH))
    steps = {"rnn": (step_rnn, zero), "lstm": (step_lstm, (zero, zero)), "stack_rnn": (step_stack, (zero, memory)),
             "tape_rnn": (step_tape(tokens.shape[1] - target.shape[1]), (zero, memory))}
    step, state = steps[cell]
    _, states = jax.lax.scan(lambda carry, token: step(p, carry, token), state, x)
    read = jnp.moveaxis(states, 0, 1)[:, -target.shape[1]:]
    logits = jax.nn.relu(read) @ p["output.weight"] + p["output.bias"]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1)
    return -jnp.mean(picked), logits


def make_tensors(cell):
    rng = np.random.default_rng([SEED, CELLS[cell]])
    stored = make_parameters(cell, rng)
    p = {name: jnp.asarray(value, jnp.float64) for name, value in stored.items()}
    out = dict(stored)
    for n in LENGTHS:
        inputs = rng.integers(0, SYMBOLS, size=(SEQUENCES, n), dtype=np.int32)
        target = np.sort(inputs, axis=1)
        tokens = np.concatenate([inputs, np.full_like(target, SYMBOLS)], axis=1)
        evaluate = jax.value_and_grad(compute_loss, has_aux=True)
        (loss, logits), gradient = evaluate(p, cell, tokens, target)
        out |= {f"data.n{n}.input": inputs, f"data.n{n}.target": target, f"data.n{n}.tokens": tokens,
                f"data.n{n}.positions": np.arange(tokens.shape[1], dtype=np.int32)[None],
                f"result.n{n}.logits": np.asarray(logits), f"result.n{n}.loss": np.asarray(loss).reshape(1)}
        if n == LENGTHS[-1]:
            out |= {f"gradient.{name}": np.asarray(value) for name, value in gradient.items()}
    return out


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for cell in CELLS:
        path = directory / f"{cell}.safetensors"
        facts = {"model": "recurrent", "cell": cell, "width": WIDTH, "heads": 2, "positions": 64,
                 "distances": "of positions", "score": "none", "lengths": " ".join(map(str, LENGTHS)),
                 "gradient": LENGTHS[-1]}
        tensors = {name: np.ascontiguousarray(value) for name, value in make_tensors(cell).items()}
        save_file(tensors, path, metadata={key: str(value) for key, value in facts.items()})
        sort_metadata(path)
        loss = float(tensors[f"result.n{LENGTHS[-1]}.loss"][0])
        print(f"{path.name:36} {path.stat().st_size:7} bytes  loss at n = {LENGTHS[-1]}: {loss:.6f}")


if __name__ == "__main__":
    main()
