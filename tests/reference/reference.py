#!/usr/bin/env python3
"""An encoder written from the papers alone, in JAX and float64, and the vectors that it stores for the C tests.

Not part of the build: the stored .safetensors files beside this script are what the tests read.
Shares no code with Longhand. The gradients come from JAX's automatic differentiation
and are rounded to float32 when stored; logits and losses stay float64.

Source: Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of Transformers", and its
official code: an encoder with layer norm after each residual sum, attention without biases, ReLU feed-forward layer.
Distances in the logits: Dai et al. 2019, "Transformer-XL"; Shaw et al. 2018, "Self-Attention with Relative Position
Representations" (keys only); Press et al. 2022, "Train Short, Test Long" (ALiBi), to both sides as in Ruoss's code.
Geometric attention with directional encoding: Csordas et al. 2022, "The Neural Data Router".

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

# A file's random numbers come from its number here.
ENCODINGS = {"none": 0, "sincos": 1, "learned": 2, "rope": 3, "rand_sincos": 4, "rand_learned": 5, "rand_rope": 6,
             "rope_linear": 7, "rope_ntk": 8, "rope_yarn": 9,
             "relative": 7, "rand_relative": 8, "rand_relative_clamped": 9, "rand_relative_difference": 10, "shaw": 11,
             "alibi": 12, "rand_alibi": 13, "geometric": 14, "geometric_raw": 15, "geometric_plain": 16}
SCALING = 4.0                    # of rope_*: to reach four times the tokens of the longest batch
TRAINED = 2 * max(LENGTHS)
ALPHA, BETA = 0.25, 4            # of rope_yarn: of the four pairs one turns fast, two slowly and one in between
CLIP = 4                         # of shaw


def truncated_normal(rng, shape, sd):
    """Normal of standard deviation sd, redrawn outside +-2 sd, not rescaled."""
    values = rng.standard_normal(shape)
    while np.any(outside := np.abs(values) > 2):
        values[outside] = rng.standard_normal(int(outside.sum()))
    return values * sd


def geometric_parameters(encoding, draw, name):
    p = {f"{name}geometric.content_bias": draw(HEADS, WIDTH // HEADS, sd=0.4),
         f"{name}geometric.scale": (WIDTH / HEADS)**-0.5 + draw(1, sd=0.1),
         f"{name}geometric.offset": -1 + draw(1, sd=0.4)}
    if encoding != "geometric_plain":
        p |= {f"{name}direction.scale": 1 + draw(1, sd=0.2),
              f"{name}direction.weight": draw(WIDTH, 2 * HEADS, sd=WIDTH**-0.5),
              f"{name}direction.bias": draw(2 * HEADS, sd=0.4)}
    return p


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
    for layer in range(LAYERS):
        name = f"layers.{layer}.attention.relative."
        if "relative" in encoding:
            p[f"{name}weight"] = draw(WIDTH, WIDTH, sd=WIDTH**-0.5)
            p[f"{name}content_bias"] = draw(HEADS, WIDTH // HEADS, sd=0.4)
            p[f"{name}position_bias"] = draw(HEADS, WIDTH // HEADS, sd=0.4)
        if encoding == "shaw":
            p[f"{name}table"] = draw(2 * CLIP + 1, WIDTH // HEADS, sd=0.5)
        if "geometric" in encoding:
            p |= geometric_parameters(encoding, draw, f"layers.{layer}.attention.")
    return {name: value.astype(np.float32) for name, value in p.items()}


def sinusoid(positions):
    """[...][WIDTH]: sines of WIDTH/2 frequencies, then their cosines."""
    frequency = 10000.0 ** (-2 * jnp.arange(WIDTH // 2) / WIDTH)
    angle = positions[..., None] * frequency
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


def pair_vectors(p, name, encoding, distances):
    """[T][T][HEADS][D]: for each query (rows) and key (columns) the vector of their distance."""
    if "relative" in encoding:
        rows = sinusoid(distances) @ p[f"{name}relative.weight"]
        return rows.reshape(*distances.shape, HEADS, WIDTH // HEADS)
    rows = p[f"{name}relative.table"][jnp.clip(distances, -CLIP, CLIP) + CLIP]
    return jnp.broadcast_to(rows[:, :, None], (*distances.shape, HEADS, WIDTH // HEADS))


def alibi(distances):
    """[HEADS][T][T]: slopes 2^(-8/HEADS), its square, ...; half a step less to the left."""
    slope = 2.0 ** (-8 / HEADS * (1 + jnp.arange(HEADS)))
    return slope[:, None, None] * (jnp.where(distances < 0, 0.5, 0.0) - jnp.abs(distances))


def geometric_logits(p, name, h, q, k):
    """[B][HEADS][T][T]: of each query (rows) and key (columns); directions are (right, left), head after head."""
    logits = jnp.einsum("bihd,bjhd->bhij", q + p[f"{name}geometric.content_bias"], k) * p[f"{name}geometric.scale"]
    if f"{name}direction.weight" in p:
        batch, tokens, _ = h.shape
        direction = (h @ p[f"{name}direction.weight"] + p[f"{name}direction.bias"]).reshape(batch, tokens, HEADS, 2)
        right, left = (direction[..., side].transpose(0, 2, 1)[..., None] for side in (0, 1))
        is_right = jnp.arange(tokens)[None, :] > jnp.arange(tokens)[:, None]
        logits += p[f"{name}direction.scale"] * jnp.where(is_right, right, left)
    return logits + p[f"{name}geometric.offset"]


def geometric(encoding, logits):
    """[B][HEADS][T][T]: the chance that a key matches and none nearer does, right before left; in logarithms, by
    running sums over the keys of a query."""
    tokens = logits.shape[-1]
    i, j = np.arange(tokens)[:, None], np.arange(tokens)[None, :]
    distance = np.abs(i - j)
    missed = jnp.cumsum(jnp.where(i == j, 0.0, jax.nn.log_sigmoid(-logits)), axis=-1)
    last = np.minimum(i + distance - (j > i), tokens - 1)
    before = i - distance
    up_to = jnp.take_along_axis(missed, jnp.broadcast_to(last, logits.shape), axis=-1)
    outside = jnp.take_along_axis(missed, jnp.broadcast_to(np.maximum(before, 0), logits.shape), axis=-1)
    log_weight = jax.nn.log_sigmoid(logits) + up_to - jnp.where(before >= 0, outside, 0.0)
    weight = jnp.where(i == j, 0.0, jnp.exp(jnp.where(i == j, 0.0, log_weight)))
    return weight if encoding == "geometric_raw" else weight / jnp.maximum(
        jnp.sum(weight, axis=-1, keepdims=True), 1e-12)


def attention(p, name, encoding, h, positions, distances):
    """positions: [T], or None where q and k do not turn; distances: [T][T]."""
    batch, tokens, width = h.shape
    heads = lambda x: x.reshape(batch, tokens, HEADS, width // HEADS)
    q, k, v = (heads(h @ p[f"{name}{m}.weight"]) for m in ("query", "key", "value"))
    if positions is not None:
        q, k = rotate(encoding, q, positions), rotate(encoding, k, positions)
    scores = jnp.einsum("bihd,bjhd->bhij", q + p.get(f"{name}relative.content_bias", 0), k)
    if "relative" in encoding or encoding == "shaw":
        pairs = pair_vectors(p, name, encoding, distances)
        scores += jnp.einsum("bihd,ijhd->bhij", q + p.get(f"{name}relative.position_bias", 0), pairs)
    scores /= jnp.sqrt(width / HEADS)
    if encoding.endswith("alibi"):
        scores += alibi(distances)
    weights = jax.nn.softmax(scores, axis=-1)
    if "geometric" in encoding:
        weights = geometric(encoding, geometric_logits(p, name, h, q, k))
    mixed = jnp.einsum("bhij,bjhd->bihd", weights, v)
    return mixed.reshape(batch, tokens, width) @ p[f"{name}output.weight"]


def encoder(p, encoding, tokens, positions, distances):
    """tokens [B][T]; positions: one [T] array per layer (the additive encodings use the first); distances [T][T].
    Returns the logits of every position, [B][T][CLASSES]. Dropout off."""
    h = p["embed.token.weight"][tokens] * jnp.sqrt(WIDTH)
    if encoding.endswith("sincos"):
        h = h + sinusoid(positions[0])
    if encoding.endswith("learned"):
        h = h + p["embed.position.weight"][positions[0]]
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        turn = positions[layer] if "rope" in encoding else None
        a = attention(p, f"{name}attention.", encoding, h, turn, distances)
        g = layer_norm(h + a, p[f"{name}norm1.scale"], p[f"{name}norm1.offset"])
        f = jax.nn.relu(g @ p[f"{name}feedforward.up.weight"] + p[f"{name}feedforward.up.bias"])
        f = f @ p[f"{name}feedforward.down.weight"] + p[f"{name}feedforward.down.bias"]
        h = layer_norm(f + g, p[f"{name}norm2.scale"], p[f"{name}norm2.offset"])
    return h @ p["output.weight"] + p["output.bias"]


def loss_and_logits(p, encoding, inputs, target, positions, distances):
    """Cross-entropy in nats, averaged over all output places; logits [B][n][CLASSES]."""
    tokens = jnp.concatenate([inputs, jnp.full(target.shape, EMPTY, inputs.dtype)], axis=1)
    logits = encoder(p, encoding, tokens, positions, distances)[:, -target.shape[1]:]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1)
    return -jnp.mean(picked), logits


def draw_positions(encoding, tokens, rng):
    """The positions themselves; for rand_* one ascending draw without replacement, shared by all layers."""
    if encoding.startswith("rand_"):
        return np.sort(rng.choice(MAX_POSITION, size=tokens, replace=False)).astype(np.int32)
    return np.arange(tokens, dtype=np.int32)


def draw_distances(tokens, rng):
    """p_0 = 0, then tokens - 1 ascending distances from 1 .. MAX_POSITION - 1, drawn without replacement."""
    drawn = np.sort(1 + rng.choice(MAX_POSITION - 1, size=tokens - 1, replace=False))
    return np.concatenate([[0], drawn]).astype(np.int32)


def pair_distances(encoding, drawn, positions):
    """[T][T]: what a query (rows) takes for its distance to a key (columns). Without a draw, of positions."""
    tokens = len(positions)
    offset = np.arange(tokens)[None, :] - np.arange(tokens)[:, None]
    if drawn is None:
        return (positions[None, :] - positions[:, None]).astype(np.int32)
    two_sided = np.sign(offset) * drawn[np.abs(offset)]
    if not encoding.endswith("clamped"):
        return two_sided.astype(np.int32)
    # The released code shifts by the number of rows of a table that has only rows 0 .. MAX_POSITION - 1, and JAX reads
    # the last row where an index is past it.
    return np.minimum(two_sided + MAX_POSITION, MAX_POSITION - 1).astype(np.int32)


def reads_distances(encoding):
    return "relative" in encoding or "alibi" in encoding or encoding == "shaw"


def draws_distances(encoding):
    return encoding in ("rand_relative", "rand_relative_clamped", "rand_alibi")


def vectors(encoding):
    rng = np.random.default_rng([SEED, ENCODINGS[encoding]])
    stored = initial_parameters(encoding, rng)
    p = {name: jnp.asarray(value, jnp.float64) for name, value in stored.items()}
    out = dict(stored)
    for n in LENGTHS:
        inputs = rng.integers(0, SYMBOLS, size=(SEQUENCES, n), dtype=np.int32)
        target = np.sort(inputs, axis=1)
        positions = draw_positions(encoding, 2 * n, rng)
        drawn = draw_distances(2 * n, rng) if draws_distances(encoding) else None
        distances = pair_distances(encoding, drawn, positions)
        evaluate = jax.value_and_grad(loss_and_logits, has_aux=True)
        (loss, logits), gradient = evaluate(p, encoding, inputs, target, [positions] * LAYERS, distances)
        out[f"data.n{n}.input"] = inputs
        out[f"data.n{n}.target"] = target
        out[f"data.n{n}.positions"] = positions[None]
        if drawn is not None:
            out[f"data.n{n}.drawn"] = drawn[None]
        if reads_distances(encoding):
            out[f"data.n{n}.distances"] = distances
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
