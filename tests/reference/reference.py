#!/usr/bin/env python3
"""An encoder written from the papers alone, in JAX and float64, and the vectors that it stores for the C tests.

Not part of the build: the stored .safetensors files beside this script are what the tests read.
Shares no code with Longhand. The gradients come from JAX's automatic differentiation
and are rounded to float32 when stored; logits and losses stay float64.

Source: Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of Transformers", and its
official code: an encoder with layer norm after each residual sum, attention without biases, ReLU feed-forward layer.

Usage: python reference.py [OUTPUT_DIRECTORY]
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)

WIDTH, HEADS, FEEDFORWARD, LAYERS = 16, 2, 32, 2
SYMBOLS, CLASSES = 5, 5          # bucket_sort
VOCABULARY = SYMBOLS + 2         # one row is never used, as in the paper's parameter count
EMPTY = SYMBOLS + 1              # the token at every output place
TABLE_ROWS = MAX_POSITION = 64
SEQUENCES = 3
LENGTHS = (1, 5, 18)             # input tokens n; the encoder sees T = 2n
GRADIENT_LENGTH = 18
SEED = 2023

ENCODINGS = ("none", "sincos", "learned", "rope", "rand_sincos", "rand_learned", "rand_rope",
             "rope_linear", "rope_ntk", "rope_yarn")
SCALING = 4.0                    # of rope_*: to reach four times the tokens of the longest batch
TRAINED = 2 * max(LENGTHS)
ALPHA, BETA = 0.25, 4            # of rope_yarn: of the four pairs one turns fast, two slowly and one in between


def truncated_normal(rng, shape, sd):
    """Normal of standard deviation sd, redrawn outside +-2 sd, not rescaled."""
    values = rng.standard_normal(shape)
    while np.any(outside := np.abs(values) > 2):
        values[outside] = rng.standard_normal(int(outside.sum()))
    return values * sd


def initial_parameters(encoding, rng):
    """Name -> float32 array. Sizes as the paper's, but biases, layer norms and the token table away from their
    start values, where a missing term would not show."""
    draw = lambda *shape, sd: truncated_normal(rng, shape, sd)
    p = {"embed.token.weight": draw(VOCABULARY, WIDTH, sd=0.2)}
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        for matrix in ("query", "key", "value", "output"):
            p[f"{name}attention.{matrix}.weight"] = draw(WIDTH, WIDTH, sd=WIDTH**-0.5)
        for norm in ("norm1", "norm2"):
            p[f"{name}{norm}.scale"] = 1 + draw(WIDTH, sd=0.2)
            p[f"{name}{norm}.offset"] = draw(WIDTH, sd=0.2)
        p[f"{name}feedforward.up.weight"] = draw(WIDTH, FEEDFORWARD, sd=WIDTH**-0.5)
        p[f"{name}feedforward.up.bias"] = draw(FEEDFORWARD, sd=0.2)
        p[f"{name}feedforward.down.weight"] = draw(FEEDFORWARD, WIDTH, sd=FEEDFORWARD**-0.5)
        p[f"{name}feedforward.down.bias"] = draw(WIDTH, sd=0.2)
    p["output.weight"] = draw(WIDTH, CLASSES, sd=WIDTH**-0.5)
    p["output.bias"] = draw(CLASSES, sd=0.2)
    if encoding.endswith("learned"):
        p["embed.position.weight"] = draw(TABLE_ROWS, WIDTH, sd=1.0)
    return {name: value.astype(np.float32) for name, value in p.items()}


def sinusoid(positions):
    """[T][WIDTH]: sines of WIDTH/2 frequencies, then their cosines."""
    frequency = 10000.0 ** (-2 * jnp.arange(WIDTH // 2) / WIDTH)
    angle = positions[:, None] * frequency
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)


def frequencies(encoding, width):
    """Radians per position of every pair, and what a turned vector is multiplied by.
    linear: Chen et al. 2023. ntk: Peng et al. 2024, section 3.1. yarn: there, sections 3.2 and 3.4."""
    exponent = -2 * np.arange(width // 2) / width
    plain = 10000.0**exponent
    if encoding == "rope_linear":
        return plain / SCALING, 1.0
    if encoding == "rope_ntk":
        return (10000.0 * SCALING ** (width / (width - 2))) ** exponent, 1.0
    if encoding == "rope_yarn":
        rotations = TRAINED / (2 * np.pi / plain)
        gamma = np.clip((rotations - ALPHA) / (BETA - ALPHA), 0, 1)
        return (1 - gamma) * plain / SCALING + gamma * plain, 0.1 * np.log(SCALING) + 1
    return plain, 1.0


def rotate(encoding, x, positions):
    """x [B][T][H][D]: the pair (2m, 2m+1), seen as a complex number, is turned by position * frequency m."""
    frequency, length = frequencies(encoding, x.shape[-1])
    turn = length * jnp.exp(1j * positions[:, None] * frequency)[None, :, None, :]
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
    return jnp.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def layer_norm(x, scale, offset):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + offset


def attention(p, encoding, name, h, positions):
    """positions: [T], or None where q and k do not turn."""
    batch, tokens, width = h.shape
    heads = lambda x: x.reshape(batch, tokens, HEADS, width // HEADS)
    q, k, v = (heads(h @ p[f"{name}{m}.weight"]) for m in ("query", "key", "value"))
    if positions is not None:
        q, k = rotate(encoding, q, positions), rotate(encoding, k, positions)
    scores = jnp.einsum("bihd,bjhd->bhij", q, k) / jnp.sqrt(width / HEADS)
    mixed = jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(scores, axis=-1), v)
    return mixed.reshape(batch, tokens, width) @ p[f"{name}output.weight"]


def encoder(p, encoding, tokens, positions):
    """tokens [B][T]; positions: one [T] array per layer (the additive encodings use the first).
    Returns the logits of every position, [B][T][CLASSES]. Dropout off."""
    h = p["embed.token.weight"][tokens] * jnp.sqrt(WIDTH)
    if encoding.endswith("sincos"):
        h = h + sinusoid(positions[0])
    if encoding.endswith("learned"):
        h = h + p["embed.position.weight"][positions[0]]
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        turn = positions[layer] if "rope" in encoding else None
        a = attention(p, encoding, f"{name}attention.", h, turn)
        g = layer_norm(h + a, p[f"{name}norm1.scale"], p[f"{name}norm1.offset"])
        f = jax.nn.relu(g @ p[f"{name}feedforward.up.weight"] + p[f"{name}feedforward.up.bias"])
        f = f @ p[f"{name}feedforward.down.weight"] + p[f"{name}feedforward.down.bias"]
        h = layer_norm(f + g, p[f"{name}norm2.scale"], p[f"{name}norm2.offset"])
    return h @ p["output.weight"] + p["output.bias"]


def loss_and_logits(p, encoding, inputs, target, positions):
    """Cross-entropy in nats, averaged over all output places; logits [B][n][CLASSES]."""
    tokens = jnp.concatenate([inputs, jnp.full(target.shape, EMPTY, inputs.dtype)], axis=1)
    logits = encoder(p, encoding, tokens, positions)[:, -target.shape[1]:]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1)
    return -jnp.mean(picked), logits


def draw_positions(encoding, tokens, rng):
    """The positions themselves; for rand_* one ascending draw without replacement, shared by all layers."""
    if encoding.startswith("rand_"):
        return np.sort(rng.choice(MAX_POSITION, size=tokens, replace=False)).astype(np.int32)
    return np.arange(tokens, dtype=np.int32)


def vectors(encoding):
    rng = np.random.default_rng([SEED, ENCODINGS.index(encoding)])
    stored = initial_parameters(encoding, rng)
    p = {name: jnp.asarray(value, jnp.float64) for name, value in stored.items()}
    out = dict(stored)
    for n in LENGTHS:
        inputs = rng.integers(0, SYMBOLS, size=(SEQUENCES, n), dtype=np.int32)
        target = np.sort(inputs, axis=1)
        positions = draw_positions(encoding, 2 * n, rng)
        evaluate = jax.value_and_grad(loss_and_logits, has_aux=True)
        (loss, logits), gradient = evaluate(p, encoding, inputs, target, [positions] * LAYERS)
        out[f"data.n{n}.input"] = inputs
        out[f"data.n{n}.target"] = target
        out[f"data.n{n}.positions"] = positions[None]
        out[f"result.n{n}.logits"] = np.asarray(logits, np.float64)
        out[f"result.n{n}.loss"] = np.asarray(loss, np.float64).reshape(1)
        if n == GRADIENT_LENGTH:
            out |= {f"gradient.{name}": np.asarray(value, np.float32) for name, value in gradient.items()}
    return out


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for encoding in ENCODINGS:
        path = directory / f"{encoding}.safetensors"
        tensors = {name: np.ascontiguousarray(value) for name, value in vectors(encoding).items()}
        save_file(tensors, path, metadata={"encoding": encoding})
        print(f"{path.name:26} {path.stat().st_size:7} bytes  loss at n = {GRADIENT_LENGTH}: "
              f"{float(tensors[f'result.n{GRADIENT_LENGTH}.loss'][0]):.6f}")


if __name__ == "__main__":
    main()
