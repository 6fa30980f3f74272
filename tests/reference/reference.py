#!/usr/bin/env python3
"""Writes the .safetensors files of network.py and encoder_decoder.py, which C tests read.

Gradients are computed by JAX's automatic differentiation and stored in float32, logits and losses in float64. README.md
describes the content of a file.

Usage: python reference.py [OUTPUT_DIRECTORY]
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from encoder_decoder import PAIRS, make_pair_metadata, make_pair_tensors
from metadata import sort_metadata
from network import (FEEDFORWARD, HEADS, LAYERS, MAX_POSITION, WIDTH, Model, compute_loss, find_places, make_parameters,
                     make_sequences)

SEQUENCES = 3
LENGTHS = (1, 5, 18)             # numbers of input tokens; gradients are those of the last
SEED = 2023

# Numbers of files, which select their random numbers. One encoder for each encoding:
ENCODINGS = {"none": 0, "sincos": 1, "learned": 2, "rope": 3, "rand_sincos": 4, "rand_learned": 5, "rand_rope": 6,
             "rope_linear": 7, "rope_ntk": 8, "rope_yarn": 9,
             "relative": 7, "rand_relative": 8, "rand_relative_clamped": 9, "rand_relative_difference": 10, "shaw": 11,
             "alibi": 12, "rand_alibi": 13, "geometric": 14, "geometric_raw": 15, "geometric_plain": 16}

# Other networks, with the numbers of their files. STACK: the output has one token more than the input.
STACK = {"inputs": 5, "outputs": 3, "longer": 1}
REVERSE = {"inputs": 2, "outputs": 2}
NETWORKS = {
    "decoder_none": (17, Model("none", "decoder", **REVERSE)),
    "decoder_rope": (18, Model("rope", "decoder", norm="rms", place="pre", activation="swiglu", bias="none", **STACK)),
    "decoder_relative": (19, Model("relative", "decoder", activation="gelu", bias="all", tied=True, **STACK)),
    "decoder_alibi": (20, Model("alibi", "decoder", place="pre", activation="gelu_tanh", **STACK)),
    "decoder_window": (21, Model("none", "decoder", norm="rms", activation="silu", window=4, computation=1, **REVERSE)),
    "encoder_gelu_pre": (22, Model("sincos", place="pre", activation="gelu", bias="all")),
    "encoder_geglu_geometric": (23, Model("geometric", norm="rms", activation="geglu")),
    "lst_probe": (24, Model("none", activation="gelu", last_activation="gelu", bias="all", inputs=6, outputs=4,
                            linear=True, probe=True)),
    "cells": (24, Model("cells", temperature=0.5, bias="all", inputs=6, outputs=4)),
    "tables": (25, Model("tables", causal=True, attention_bias=True, projects=False)),
}

FILES = {name: (number, Model(name)) for name, number in ENCODINGS.items()} | NETWORKS


def draw_positions(encoding, tokens, rng):
    """Returns the positions of all layers: 0, 1, 2, ..., or for rand_* ascending samples without replacement."""
    if encoding.startswith("rand_"):
        return np.sort(rng.choice(MAX_POSITION, size=tokens, replace=False)).astype(np.int32)
    return np.arange(tokens, dtype=np.int32)


def draw_distances(tokens, rng):
    """Returns 0, then tokens - 1 ascending distances from 1 .. MAX_POSITION - 1, sampled without replacement."""
    drawn = np.sort(1 + rng.choice(MAX_POSITION - 1, size=tokens - 1, replace=False))
    return np.concatenate([[0], drawn]).astype(np.int32)


def describe_distances(encoding):
    """Returns the kind of a network's distances."""
    if encoding == "rand_relative_clamped":
        return "drawn, clamped"
    return "drawn" if encoding in ("rand_relative", "rand_alibi") else "of positions"


def compute_distances(encoding, drawn, positions):
    """Returns the distances [T][T] of queries (rows) to keys (columns), of positions if drawn is None."""
    tokens = len(positions)
    offset = np.arange(tokens)[None, :] - np.arange(tokens)[:, None]
    if drawn is None:
        return (positions[None, :] - positions[:, None]).astype(np.int32)
    two_sided = np.sign(offset) * drawn[np.abs(offset)]
    if not encoding.endswith("clamped"):
        return two_sided.astype(np.int32)
    # The released code adds MAX_POSITION to distances, but its table has only rows 0 .. MAX_POSITION - 1, and JAX reads
    # the last row for a greater index.
    return np.minimum(two_sided + MAX_POSITION, MAX_POSITION - 1).astype(np.int32)


def reads_distances(encoding):
    return "relative" in encoding or "alibi" in encoding or encoding in ("shaw", "tables")


def draw_examples(model, n, rng):
    """Returns inputs and targets: those of bucket_sort for an encoder with as many outputs as inputs, else any
    targets."""
    inputs = rng.integers(0, model.inputs - model.probe, size=(SEQUENCES, n), dtype=np.int32)
    if model.probe:
        inputs[np.arange(SEQUENCES), rng.integers(0, n, size=SEQUENCES)] = model.inputs - 1
        return inputs, rng.integers(0, model.outputs, size=(SEQUENCES, 1), dtype=np.int32)
    if model.kind == "encoder" and model.inputs == model.outputs:
        return inputs, np.sort(inputs, axis=1)
    return inputs, rng.integers(0, model.outputs, size=(SEQUENCES, n + model.longer), dtype=np.int32)


def make_tensors(number, model):
    """Returns the content of a file, name -> array."""
    rng, encoding = np.random.default_rng([SEED, number]), model.encoding
    stored = make_parameters(model, rng)
    p = {name: jnp.asarray(value, jnp.float64) for name, value in stored.items()}
    out = dict(stored)
    for n in LENGTHS:
        inputs, target = draw_examples(model, n, rng)
        tokens = make_sequences(model, inputs, target)
        positions = draw_positions(encoding, tokens.shape[1], rng)
        drawn = draw_distances(tokens.shape[1], rng) if describe_distances(encoding) != "of positions" else None
        distances = compute_distances(encoding, drawn, positions)
        evaluate = jax.value_and_grad(compute_loss, has_aux=True)
        (loss, logits), gradient = evaluate(p, model, tokens, target, [positions] * LAYERS, distances)
        out[f"data.n{n}.input"] = inputs
        out[f"data.n{n}.target"] = target
        out[f"data.n{n}.tokens"] = tokens
        out[f"data.n{n}.positions"] = positions[None]
        if model.probe:
            out[f"data.n{n}.place"] = find_places(model, tokens)
        if drawn is not None:
            out[f"data.n{n}.drawn"] = drawn[None]
        if reads_distances(encoding):
            out[f"data.n{n}.distances"] = distances
        out[f"result.n{n}.logits"] = np.asarray(logits, np.float64)
        out[f"result.n{n}.loss"] = np.asarray(loss, np.float64).reshape(1)
        if n == LENGTHS[-1]:
            out |= {f"gradient.{name}": np.asarray(value, np.float32) for name, value in gradient.items()}
    return out


def make_metadata(model):
    facts = {"model": model.kind, "encoding": model.encoding, "layers": LAYERS, "heads": HEADS, "width": WIDTH,
             "feedforward": FEEDFORWARD, "norm": f"{model.norm}, {model.place}", "activation": model.activation,
             "bias": model.bias, "tied": "yes" if model.tied else "no", "positions": MAX_POSITION,
             "distances": describe_distances(model.encoding), "score": "alibi" if "alibi" in model.encoding else "none",
             "lengths": " ".join(map(str, LENGTHS)), "gradient": LENGTHS[-1]}
    return {key: str(value) for key, value in facts.items()}


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    files = {name: lambda file=file: (make_tensors(*file), make_metadata(file[1])) for name, file in FILES.items()}
    files |= {name: lambda file=file: (make_pair_tensors(*file, SEED), make_pair_metadata(file[1]))
              for name, file in PAIRS.items()}
    for name, make in files.items():
        path = directory / f"{name}.safetensors"
        tensors, facts = make()
        tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
        save_file(tensors, path, metadata=facts)
        sort_metadata(path)
        print(f"{path.name:36} {path.stat().st_size:7} bytes  loss at n = {LENGTHS[-1]}: "
              f"{float(tensors[f'result.n{LENGTHS[-1]}.loss'][0]):.6f}")


if __name__ == "__main__":
    main()
