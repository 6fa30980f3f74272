#!/usr/bin/env python3
"""Writes the vectors of the encoder-decoder of Duan and Shi 2024, "From Interpolation to Extrapolation: Complete Length
Generalization for Arithmetic Transformers": its windows, cyclic positions and biases along lines, and encodings that
they are compared with, in PyTorch and float64. Written from the paper's equations and what its released code does;
shares no code with Longhand, nor with the other makers of networks here. README.md says what is in a file.

Where paper and code part, or neither says: both halves of a window along the anti-diagonal are open, as in the paper,
unless a model says "left only"; cells outside of the matrix are left out, and a row without an open cell is open
everywhere; the decoder's own attention is cut with the causal mask first, whatever its bias. Press et al. 2022: ALiBi
takes slope times i - j; to both sides, as Ruoss et al. 2023. Su et al. 2021: RoPE rotates projected queries and keys.
Shaw et al. 2018: keys only. Two models read other tokens and have features that the
paper lacks; their generated code is compared.

Usage: python arithmetic.py [OUTPUT_DIRECTORY]
"""

import dataclasses
import math
import pathlib
import sys

import numpy as np
import torch
from safetensors.numpy import save_file

from metadata import sort_metadata

SEED = 2024
WIDTH = 16
EPSILON = 1e-5                   # of the norms
MARGIN = 1e-6                    # between the two greatest logits of a decoded token, which would be chance below it
PLUS, TIMES, START, END = 10, 11, 12, 13  # after the digits; 14 is padding, which no sequence has
CLOSED = -math.inf


@dataclasses.dataclass(frozen=True)
class Family:
    """The attentions of one place: the encoder's, the decoder's, or from the decoder to the encoder's output."""
    window: tuple = ()           # keys before and after the query
    diagonal: tuple = ()         # stride, width, whether the right half stays closed
    lines: tuple = ()            # (head, direction, line, value)
    columns: str = "left"        # the side from which lines of direction 0 count
    corner: str = "none"         # heads whose first query sees the last key at 0: "lines", "all"
    alibi: str = "none"          # "causal"; "sides": to both, keys to the left half a step nearer
    rope: bool = False
    shaw: int = 0                # clip
    temperature: float = 1.0


@dataclasses.dataclass(frozen=True)
class Model:
    task: str                    # "addition", "aligned addition", "successor", "multiplication", "sorting", ...
    frames: tuple                # places of a number; those of the last one have gradients
    families: dict
    encoder: int = 0             # layers
    decoder: int = 1
    heads: int = 4
    feedforward: int = 16
    bias: str = "all"            # or "feedforward": none in attention
    channels: str = "none"       # of sinusoids: "interleaved", or "halves"
    period: int = 0              # of positions

    @property
    def tokens(self):
        return 11 if self.task == "sorting" else 15

    @property
    def classes(self):
        return 5 if self.task == "sorting" else 15


UNARY, SELF = Family(diagonal=(1, 1, False)), Family(window=(1, 0))
BINARY = Family(diagonal=(2, 1, False))

# Heads with lines that meet, with a column, and without any. In the decoder's own attention the line of head 2 has keys
# after the queries alone; in cross-attention there are rows without a key.
SELF_LINES = ((0, 1, 0, 0.0), (0, 1, -1, -0.75), (1, 1, -1, 1.25), (1, 0, 0, -0.5), (2, 1, 2, 3.0))
CROSS_LINES = ((0, -1, 1, 2.5), (0, -1, 7, 1.0), (1, -1, 1, 1.5), (1, 1, 4, -0.25), (1, 0, 2, 0.75), (3, 0, 1, 0.5))

MODELS = {
    "abc_a": (1, Model("addition", (3, 4), {}, decoder=2, channels="interleaved")),
    "abc_b": (2, Model("successor", (4, 7), {"decoder": SELF, "cross": UNARY}, channels="halves")),
    "abc_b_left": (3, Model("successor", (4, 6), {"decoder": Family(window=(2, 0)), "cross": Family(
        diagonal=(1, 2, True))}, encoder=1, channels="interleaved")),
    "abc_c": (4, Model("aligned addition", (3, 4), {"decoder": SELF, "cross": BINARY}, channels="interleaved",
                       period=3)),
    # One answer more than the multiplicand has windows: the last row is open everywhere.
    "abc_d": (5, Model("aligned multiplication", (3, 4), {"decoder": SELF, "cross": BINARY})),
    "abc_lines": (6, Model("addition", (3, 4), {"decoder": Family(lines=SELF_LINES), "cross": Family(
        lines=CROSS_LINES, columns="right", corner="lines")}, decoder=2)),
    "abc_lines_sinusoid": (7, Model("multiplication", (4, 5), {"decoder": Family(lines=SELF_LINES[:4]), "cross": Family(
        lines=CROSS_LINES, columns="left", corner="all")}, channels="interleaved")),
    "abc_alibi": (8, Model("parity", (5, 8), {"decoder": Family(alibi="causal"), "cross": Family(alibi="sides")},
                           channels="interleaved")),
    "abc_rope": (9, Model("addition", (3, 4), {at: Family(rope=True) for at in ("encoder", "decoder", "cross")},
                          encoder=1)),
    "abc_shaw": (10, Model("successor", (4, 7), {at: Family(shaw=2) for at in ("encoder", "decoder", "cross")})),
    "masks": (11, Model("sorting", (5, 18), {
        "encoder": Family(rope=True, diagonal=(1, 2, True)),
        "decoder": Family(rope=True, lines=((0, 1, 0, 1.5), (0, 1, -1, 0.25), (0, 0, 0, -0.5), (1, -1, 3, 2.0))),
        "cross": Family(rope=True, corner="lines", columns="right", temperature=2.0,
                        lines=((1, -1, 0, 2.0), (1, -1, 4, 0.5), (1, 1, 1, 0.75)))},
        encoder=1, decoder=2, heads=2, feedforward=32, bias="feedforward", channels="halves", period=3)),
    "lines": (12, Model("sorting", (5, 18), {
        "encoder": Family(shaw=16, columns="right", lines=((0, 0, 0, 1.0), (0, -1, -2, 0.5), (1, 1, 0, 0.0))),
        "decoder": Family(alibi="sides"), "cross": Family(alibi="sides", diagonal=(2, 1, False))},
        encoder=2, heads=2, feedforward=32, bias="feedforward")),
}


# ---- sequences ----

def number(value, width):
    """Digits, the highest first, with leading zeros."""
    digits = [int(c) for c in str(value)]
    assert len(digits) <= width
    return [0] * (width - len(digits)) + digits


def wrapped(characters):
    return [START, *characters, END]


def example(task, width, first, second):
    """Source and target with their ends; targets lowest digit first."""
    aligned = task.startswith("aligned")
    if task.endswith("addition"):
        a, b = number(first, width), number(second, width)
        pairs = [PLUS] + [digit for pair in zip(a, b) for digit in pair]
        return wrapped(pairs if aligned else a + [PLUS] + b), wrapped(number(first + second, width)[::-1])
    if task.endswith("multiplication"):
        a, b = number(first, width), second % 10
        pairs = [TIMES] + [digit for each in a for digit in (each, b)]
        return wrapped(pairs if aligned else a + [TIMES, b]), wrapped(number(first * b, width + 2)[::-1])
    if task == "successor":
        return wrapped(number(first, width)), wrapped(number(first + 1, width)[::-1])
    bits, running, target = [int(c) for c in f"{first % 2**width:0{width}b}"], 0, []
    for bit in bits[::-1]:
        running ^= bit
        target.append(running)
    return wrapped(bits), wrapped(target)


def batch(model, frame, rng):
    """Source [2][S], target and label [2][M]: the target without its end, and without its start."""
    if model.task == "sorting":
        source = rng.integers(0, 5, size=(2, frame), dtype=np.int32)
        label = rng.integers(0, 5, size=(2, {5: 9, 18: 7}[frame]), dtype=np.int32)
        return source, np.concatenate([np.full((2, 1), 10, np.int32), 5 + label[:, :-1]], axis=1), label
    numbers = rng.integers(0, 10 ** (frame - 1), size=4)
    examples = [example(model.task, frame, int(numbers[i]), int(numbers[i + 2])) for i in (0, 1)]
    source, target = (np.array(side, np.int32) for side in zip(*examples))
    return source, target[:, :-1], target[:, 1:]


# ---- initial values ----

def xavier(rows, columns):
    return np.sqrt(6 / (rows + columns))


def matrices(model):
    """Name -> shape and Xavier's bound; queries, keys and values are one tensor for it."""
    out = {"embed.token.weight": ((model.tokens, WIDTH), xavier(model.tokens, WIDTH)),
           "output.weight": ((WIDTH, model.classes), xavier(WIDTH, model.classes))}
    for name, _, _ in attentions(model):
        for part in ("query", "key", "value"):
            out[f"{name}{part}.weight"] = ((WIDTH, WIDTH), xavier(WIDTH, 3 * WIDTH))
        out[f"{name}output.weight"] = ((WIDTH, WIDTH), xavier(WIDTH, WIDTH))
    for name in blocks(model):
        hidden = model.feedforward
        out[f"{name}feedforward.up.weight"] = ((WIDTH, hidden), xavier(WIDTH, hidden))
        out[f"{name}feedforward.down.weight"] = ((hidden, WIDTH), xavier(hidden, WIDTH))
    return out


def blocks(model):
    return [f"{stack}.layers.{layer}." for stack, layers in (("encoder", model.encoder), ("decoder", model.decoder))
            for layer in range(layers)]


def attentions(model):
    """Name, family and layer of each."""
    for layer in range(model.encoder):
        yield f"encoder.layers.{layer}.attention.", "encoder", layer
    for layer in range(model.decoder):
        yield f"decoder.layers.{layer}.attention.", "decoder", layer
        yield f"decoder.layers.{layer}.cross_attention.", "cross", layer


def list_vectors(model):
    """Names of biases and of norms with their sizes."""
    biases, norms = {"output.bias": model.classes}, []
    for name, _, _ in attentions(model):
        biases |= {f"{name}{part}.bias": WIDTH for part in ("query", "key", "value", "output") if model.bias == "all"}
    for name in blocks(model):
        biases |= {f"{name}feedforward.up.bias": model.feedforward, f"{name}feedforward.down.bias": WIDTH}
        norms += [f"{name}norm{i}" for i in ((1, 2, 3) if name.startswith("decoder") else (1, 2))]
    return biases, norms + [f"{stack}.norm" for stack in ("encoder", "decoder") if getattr(model, stack)]


def initial(model, rng):
    """Matrices as Xavier draws them; biases, norms and tables away from where they start, which would hide a missing
    one."""
    p = {name: rng.uniform(-bound, bound, shape) for name, (shape, bound) in matrices(model).items()}
    biases, norms = list_vectors(model)
    p |= {name: 0.2 * rng.standard_normal(size) for name, size in biases.items()}
    for name in norms:
        p |= {f"{name}.scale": 1 + 0.2 * rng.standard_normal(WIDTH), f"{name}.offset": 0.2 * rng.standard_normal(WIDTH)}
    for name, place, _ in attentions(model):
        clip = model.families.get(place, Family()).shaw
        if clip:
            p[f"{name}relative.table"] = rng.standard_normal((2 * clip + 1, WIDTH // model.heads))
    return {name: value.astype(np.float32) for name, value in p.items()}


# ---- biases ----

def find_line(direction, i, j, keys, columns):
    """The line of a cell, in the paper's indices from 1 on."""
    if direction == 1:
        return j - i
    if direction == -1:
        return (keys + 1) - (i + j)
    return j - 1 if columns == "left" else keys - j


def along_lines(family, head, queries, keys):
    """The greatest value of the lines through each cell."""
    own = [line for line in family.lines if line[0] == head]
    bias = np.full((queries, keys), CLOSED)
    for _, direction, line, value in own:
        for i in range(1, queries + 1):
            for j in range(1, keys + 1):
                if find_line(direction, i, j, keys, family.columns) == line:
                    bias[i - 1, j - 1] = max(bias[i - 1, j - 1], value)
    if family.corner == "all" or (family.corner == "lines" and own):
        bias[0, keys - 1] = 0
    return bias


def make_bias(family, heads, causal, queries, keys):
    """[heads][queries][keys], 0 or a line's value where a cell is open."""
    i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
    bias = np.zeros((heads, queries, keys))
    if family.window:
        before, behind = family.window
        bias = np.where((j >= i - before) & (j <= i + behind), bias, CLOSED)
    if family.diagonal:
        stride, width, left_only = family.diagonal
        # Unary: row i is centred on column S - 1 - i; binary: two columns from S - 2 - 2 i on.
        first, last = keys - stride * (i + 1) - width, keys - 1 - stride * i + (0 if left_only else width)
        bias = np.where((j >= first) & (j <= last), bias, CLOSED)
    if family.lines:
        bias = bias + np.stack([along_lines(family, head, queries, keys) for head in range(heads)])
    past = np.broadcast_to(j <= i, bias.shape) if causal else np.ones_like(bias, bool)
    bias = np.where(past, bias, CLOSED)
    closed = np.isneginf(bias).all(axis=-1, keepdims=True)
    return np.where(closed & past, 0.0, bias)


def penalty(family, heads, queries, keys):
    """ALiBi: [heads][queries][keys]."""
    slope = 2.0 ** (-8 / heads * np.arange(1, heads + 1))[:, None, None]
    distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    half = 0.5 * (distance < 0) if family.alibi == "sides" else 0.0
    return torch.from_numpy(slope * (half - np.abs(distance)))


# ---- the network ----

def linear(p, name, x):
    y = x @ p[f"{name}.weight"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def norm(p, name, x):
    return torch.nn.functional.layer_norm(x, (WIDTH,), p[f"{name}.scale"], p[f"{name}.offset"], EPSILON)


def get_positions(model, tokens):
    index = torch.arange(tokens, dtype=torch.float64)
    return index % model.period if model.period else index


def turned(x, positions):
    """x [B][T][heads][D]: channels 2m and 2m + 1, as a complex number, rotate by position 10000^(-2m / D)."""
    half = x.shape[-1] // 2
    angle = positions[:, None] * 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], half, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)[None, :, None]).reshape(x.shape)


def attend(p, name, model, place, x, memory, seen):
    family, heads = model.families.get(place, Family()), model.heads
    split = lambda y: y.reshape(*y.shape[:2], heads, WIDTH // heads)
    q, k, v = (split(linear(p, name + part, of)) for part, of in (("query", x), ("key", memory), ("value", memory)))
    queries, keys = x.shape[1], memory.shape[1]
    if family.rope:
        q, k = turned(q, get_positions(model, queries)), turned(k, get_positions(model, keys))
    logits = torch.einsum("bihc,bjhc->bhij", q, k)
    if family.shaw:
        distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
        rows = p[f"{name}relative.table"][np.clip(distance, -family.shaw, family.shaw) + family.shaw]
        logits = logits + torch.einsum("bihc,ijc->bhij", q, rows)
    logits = logits / math.sqrt(WIDTH // heads)
    if family.alibi != "none":
        logits = logits + penalty(family, heads, queries, keys)
    logits = logits + torch.from_numpy(make_bias(family, heads, place == "decoder", queries, keys))
    weights = torch.softmax(logits / family.temperature, dim=-1)
    seen[place] = weights
    return linear(p, f"{name}output", torch.einsum("bhij,bjhc->bihc", weights, v).reshape(x.shape))


def feedforward(p, name, x):
    return linear(p, f"{name}down", torch.relu(linear(p, f"{name}up", x)))


def sinusoid(model, tokens):
    k = torch.arange(WIDTH // 2, dtype=torch.float64)
    angle = get_positions(model, tokens)[:, None] * 10000.0 ** (-2 * k / WIDTH)
    sides = [torch.sin(angle), torch.cos(angle)]
    interleaved = model.channels == "interleaved"
    return torch.stack(sides, dim=-1).reshape(tokens, WIDTH) if interleaved else torch.cat(sides, dim=-1)


def embed(p, model, tokens):
    x = p["embed.token.weight"][tokens] * math.sqrt(WIDTH)
    return x if model.channels == "none" else x + sinusoid(model, tokens.shape[1])


def forward(p, model, source, target):
    """Logits [2][M][classes], and by place the attention of the last layer."""
    seen, memory = {}, embed(p, model, source)
    for layer in range(model.encoder):
        at = f"encoder.layers.{layer}."
        memory = norm(p, f"{at}norm1", memory + attend(p, f"{at}attention.", model, "encoder", memory, memory, seen))
        memory = norm(p, f"{at}norm2", memory + feedforward(p, f"{at}feedforward.", memory))
    if model.encoder:
        memory = norm(p, "encoder.norm", memory)
    x = embed(p, model, target)
    for layer in range(model.decoder):
        at = f"decoder.layers.{layer}."
        x = norm(p, f"{at}norm1", x + attend(p, f"{at}attention.", model, "decoder", x, x, seen))
        x = norm(p, f"{at}norm2", x + attend(p, f"{at}cross_attention.", model, "cross", x, memory, seen))
        x = norm(p, f"{at}norm3", x + feedforward(p, f"{at}feedforward.", x))
    return linear(p, "output", norm(p, "decoder.norm", x)), seen


def greedy(p, model, source, target):
    """[2][M]: the model's continuation from the start token; -1 after a sequence's end."""
    sorting = model.task == "sorting"
    given, out = target.clone(), np.full(target.shape, -1, np.int32)
    ended = np.zeros(len(target), bool)
    for t in range(target.shape[1]):
        with torch.no_grad():
            logits = forward(p, model, source, given)[0][:, t].numpy()
        best = np.sort(logits, axis=-1)
        assert (best[:, -1] - best[:, -2] > MARGIN)[~ended].all(), best
        choice = logits.argmax(axis=-1)
        out[:, t] = np.where(ended, -1, choice)
        ended |= (choice == END) & (not sorting)
        if t + 1 < target.shape[1]:
            given[:, t + 1] = torch.from_numpy(choice + (5 if sorting else 0))
    return out


# ---- files ----

def vectors(number_of_file, model):
    rng = np.random.default_rng([SEED, number_of_file])
    stored = initial(model, rng)
    p = {name: torch.from_numpy(value).double().requires_grad_() for name, value in stored.items()}
    out = dict(stored)
    for frame in model.frames:
        arrays = batch(model, frame, rng)
        source, target, label = (torch.from_numpy(array).long() for array in arrays)
        n = source.shape[1]
        logits, seen = forward(p, model, source, target)
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, model.classes), label.reshape(-1))
        out |= {f"data.n{n}.{name}": array for name, array in zip(("source", "target", "label"), arrays)}
        out |= {f"result.n{n}.logits": logits, f"result.n{n}.loss": loss.reshape(1),
                f"result.n{n}.decoder": seen["decoder"], f"result.n{n}.cross": seen["cross"]}
        out[f"result.n{n}.greedy"] = greedy(p, model, source, target)
    loss.backward()
    out |= {f"gradient.{name}": value.grad.float() for name, value in p.items()}
    return {name: np.ascontiguousarray(value.detach().numpy() if torch.is_tensor(value) else value)
            for name, value in out.items()}


def metadata(model, tensors):
    lengths = [name.split(".")[1][1:] for name in tensors if name.endswith(".source")]
    facts = {"model": "arithmetic", "task": model.task, "layers": f"{model.encoder}, {model.decoder}",
             "heads": model.heads, "width": WIDTH, "feedforward": model.feedforward, "bias": model.bias,
             "channels": model.channels, "period": model.period, "lengths": " ".join(lengths), "gradient": lengths[-1]}
    for place, family in model.families.items():
        facts[place] = ", ".join(f"{key} {value}" for key, value in dataclasses.asdict(family).items())
    if model.bias == "all":
        facts["xavier"] = " ".join(f"{name} {bound:.9g}" for name, (_, bound) in sorted(matrices(model).items()))
    return {key: str(value) for key, value in facts.items()}


def main():
    torch.set_num_threads(1)  # so that sums have one order
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, (number_of_file, model) in MODELS.items():
        path = directory / f"{name}.safetensors"
        tensors = vectors(number_of_file, model)
        save_file(tensors, path, metadata=metadata(model, tensors))
        sort_metadata(path)
        print(f"{path.name:32} {path.stat().st_size:7} bytes  decoded:",
              *(tensors[key].tolist() for key in tensors if key.endswith("greedy")))


if __name__ == "__main__":
    main()
