#!/usr/bin/env python3
"""Writes the files of the encoder-decoder of Duan and Shi 2024, "From Interpolation to Extrapolation: Complete Length
Generalization for Arithmetic Transformers", in PyTorch and float64: its windows, cyclic positions, biases along lines,
and encodings that the paper compares them with. Written from the paper's equations and the behaviour of its released
code; shares no code with Longhand or with network.py. README.md describes the content of a file.

Choices where paper and code differ, or leave one open: both halves of a window along the anti-diagonal are open, as in
the paper, unless a model has only the left half; cells outside of the matrix do not count, and a row without an open
cell is open everywhere; in the decoder's attention to itself, only cells that the causal mask allows count.
ALiBi subtracts slope times |i - j| (Press et al. 2022; Ruoss et al. 2023 for both sides). RoPE rotates
projected queries and keys (Su et al. 2021). Vectors of distances are added to keys only (Shaw et al. 2018). The models
`masks` and `lines` read other tokens and have features that the paper lacks; their generated code is compared, too.

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
MARGIN = 1e-6                    # least difference of the two greatest logits of a decoded token
PLUS, TIMES, START, END = 10, 11, 12, 13  # after the digits; 14 is padding, which no sequence has
CLOSED = -math.inf


@dataclasses.dataclass(frozen=True)
class Family:
    """The attentions of one place: the encoder's, the decoder's, or from the decoder to the encoder's output."""
    window: tuple = ()           # numbers of keys before and after the query
    diagonal: tuple = ()         # stride, width, whether only the left half is open
    lines: tuple = ()            # (head, direction, line, value)
    columns: str = "left"        # the side from which lines of direction 0 count
    corner: str = "none"         # heads whose first query sees the last key at 0: "lines", "all"
    alibi: str = "none"          # "causal"; "sides": to both sides, keys on the left are half a step nearer
    rope: bool = False
    shaw: int = 0                # clip
    temperature: float = 1.0


@dataclasses.dataclass(frozen=True)
class Model:
    task: str                    # "addition", "aligned addition", "successor", "multiplication", "sorting", ...
    frames: tuple                # numbers of digits; gradients are those of the last batch
    families: dict               # by place: encoder, decoder, cross
    encoder: int = 0             # number of layers
    decoder: int = 1
    heads: int = 4
    feedforward: int = 16
    bias: str = "all"            # or "feedforward": attention has none
    channels: str = "none"       # order of sinusoids: "interleaved", or "halves"
    period: int = 0              # positions are taken modulo this; 0: unchanged

    @property
    def tokens(self):
        return 11 if self.task == "sorting" else 15

    @property
    def classes(self):
        return 5 if self.task == "sorting" else 15


UNARY, SELF = Family(diagonal=(1, 1, False)), Family(window=(1, 0))
BINARY = Family(diagonal=(2, 1, False))

# (head, direction, line, value): heads with lines that cross, with a column, and without lines. In the decoder's
# attention to itself, the line of head 2 has only keys after the queries; in cross-attention some rows have no key.
SELF_LINES = ((0, 1, 0, 0.0), (0, 1, -1, -0.75), (1, 1, -1, 1.25), (1, 0, 0, -0.5), (2, 1, 2, 3.0))
CROSS_LINES = ((0, -1, 1, 2.5), (0, -1, 7, 1.0), (1, -1, 1, 1.5), (1, 1, 4, -0.25), (1, 0, 2, 0.75), (3, 0, 1, 0.5))

MODELS = {
    "abc_a": (1, Model("addition", (3, 4), {}, decoder=2, channels="interleaved")),
    "abc_b": (2, Model("successor", (4, 7), {"decoder": SELF, "cross": UNARY}, channels="halves")),
    "abc_b_left": (3, Model("successor", (4, 6), {"decoder": Family(window=(2, 0)), "cross": Family(
        diagonal=(1, 2, True))}, encoder=1, channels="interleaved")),
    "abc_c": (4, Model("aligned addition", (3, 4), {"decoder": SELF, "cross": BINARY}, channels="interleaved",
                       period=3)),
    # There is one answer more than windows, so the last row is open everywhere.
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

def list_digits(value, width):
    """Returns `width` digits, the highest first, with leading zeros."""
    digits = [int(c) for c in str(value)]
    assert len(digits) <= width
    return [0] * (width - len(digits)) + digits


def add_ends(characters):
    return [START, *characters, END]


def make_example(task, width, first, second):
    """Returns source and target with start and end; targets have the lowest digit first."""
    is_aligned = task.startswith("aligned")
    if task.endswith("addition"):
        a, b = list_digits(first, width), list_digits(second, width)
        pairs = [PLUS] + [digit for pair in zip(a, b) for digit in pair]
        return add_ends(pairs if is_aligned else a + [PLUS] + b), add_ends(list_digits(first + second, width)[::-1])
    if task.endswith("multiplication"):
        a, b = list_digits(first, width), second % 10
        pairs = [TIMES] + [digit for each in a for digit in (each, b)]
        return add_ends(pairs if is_aligned else a + [TIMES, b]), add_ends(list_digits(first * b, width + 2)[::-1])
    if task == "successor":
        return add_ends(list_digits(first, width)), add_ends(list_digits(first + 1, width)[::-1])
    bits, running, target = [int(c) for c in f"{first % 2**width:0{width}b}"], 0, []
    for bit in bits[::-1]:
        running ^= bit
        target.append(running)
    return add_ends(bits), add_ends(target)


def make_batch(model, frame, rng):
    """Returns source [2][S], and target and label [2][M]: the target without its end, and without its start; for
    `sorting` any symbols."""
    if model.task == "sorting":
        source = rng.integers(0, 5, size=(2, frame), dtype=np.int32)
        label = rng.integers(0, 5, size=(2, {5: 9, 18: 7}[frame]), dtype=np.int32)
        return source, np.concatenate([np.full((2, 1), 10, np.int32), 5 + label[:, :-1]], axis=1), label
    numbers = rng.integers(0, 10 ** (frame - 1), size=4)
    examples = [make_example(model.task, frame, int(numbers[i]), int(numbers[i + 2])) for i in (0, 1)]
    source, target = (np.array(side, np.int32) for side in zip(*examples))
    return source, target[:, :-1], target[:, 1:]


# ---- initial values ----

def compute_bound(rows, columns):
    """Returns the bound of Xavier's uniform distribution."""
    return np.sqrt(6 / (rows + columns))


def list_matrices(model):
    """Returns name -> (shape, Xavier's bound), which is that of one tensor for queries, keys and values together."""
    out = {"embed.token.weight": ((model.tokens, WIDTH), compute_bound(model.tokens, WIDTH)),
           "output.weight": ((WIDTH, model.classes), compute_bound(WIDTH, model.classes))}
    for name, _, _ in list_attentions(model):
        for part in ("query", "key", "value"):
            out[f"{name}{part}.weight"] = ((WIDTH, WIDTH), compute_bound(WIDTH, 3 * WIDTH))
        out[f"{name}output.weight"] = ((WIDTH, WIDTH), compute_bound(WIDTH, WIDTH))
    for name in list_blocks(model):
        hidden = model.feedforward
        out[f"{name}feedforward.up.weight"] = ((WIDTH, hidden), compute_bound(WIDTH, hidden))
        out[f"{name}feedforward.down.weight"] = ((hidden, WIDTH), compute_bound(hidden, WIDTH))
    return out


def list_blocks(model):
    return [f"{stack}.layers.{layer}." for stack, layers in (("encoder", model.encoder), ("decoder", model.decoder))
            for layer in range(layers)]


def list_attentions(model):
    """Yields name, place and layer of each attention."""
    for layer in range(model.encoder):
        yield f"encoder.layers.{layer}.attention.", "encoder", layer
    for layer in range(model.decoder):
        yield f"decoder.layers.{layer}.attention.", "decoder", layer
        yield f"decoder.layers.{layer}.cross_attention.", "cross", layer


def list_vectors(model):
    """Returns the sizes of biases by name, and the names of norms."""
    biases, norms = {"output.bias": model.classes}, []
    for name, _, _ in list_attentions(model):
        biases |= {f"{name}{part}.bias": WIDTH for part in ("query", "key", "value", "output") if model.bias == "all"}
    for name in list_blocks(model):
        biases |= {f"{name}feedforward.up.bias": model.feedforward, f"{name}feedforward.down.bias": WIDTH}
        norms += [f"{name}norm{i}" for i in ((1, 2, 3) if name.startswith("decoder") else (1, 2))]
    return biases, norms + [f"{stack}.norm" for stack in ("encoder", "decoder") if getattr(model, stack)]


def make_parameters(model, rng):
    """Samples matrices by Xavier's method. Biases, norms and tables differ from their initial values, with which a
    missing one would not show."""
    p = {name: rng.uniform(-bound, bound, shape) for name, (shape, bound) in list_matrices(model).items()}
    biases, norms = list_vectors(model)
    p |= {name: 0.2 * rng.standard_normal(size) for name, size in biases.items()}
    for name in norms:
        p |= {f"{name}.scale": 1 + 0.2 * rng.standard_normal(WIDTH), f"{name}.offset": 0.2 * rng.standard_normal(WIDTH)}
    for name, place, _ in list_attentions(model):
        clip = model.families.get(place, Family()).shaw
        if clip:
            p[f"{name}relative.table"] = rng.standard_normal((2 * clip + 1, WIDTH // model.heads))
    return {name: value.astype(np.float32) for name, value in p.items()}


# ---- biases ----

def find_line(direction, i, j, keys, columns):
    """Returns the line of a cell; i and j count from 1, as in the paper."""
    if direction == 1:
        return j - i
    if direction == -1:
        return (keys + 1) - (i + j)
    return j - 1 if columns == "left" else keys - j


def make_line_bias(family, head, queries, keys):
    """Returns [queries][keys]: the greatest value of the lines through a cell."""
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
    """Returns [heads][queries][keys]: 0 or a line's value if a cell is open, else CLOSED."""
    i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
    bias = np.zeros((heads, queries, keys))
    if family.window:
        before, after = family.window
        bias = np.where((j >= i - before) & (j <= i + after), bias, CLOSED)
    if family.diagonal:
        stride, width, left_only = family.diagonal
        # Stride 1: row i is centred on column S - 1 - i; stride 2: on columns S - 2 - 2 i and S - 1 - 2 i.
        first, last = keys - stride * (i + 1) - width, keys - 1 - stride * i + (0 if left_only else width)
        bias = np.where((j >= first) & (j <= last), bias, CLOSED)
    if family.lines:
        bias = bias + np.stack([make_line_bias(family, head, queries, keys) for head in range(heads)])
    allowed = np.broadcast_to(j <= i, bias.shape) if causal else np.ones_like(bias, bool)
    bias = np.where(allowed, bias, CLOSED)
    closed = np.isneginf(bias).all(axis=-1, keepdims=True)
    return np.where(closed & allowed, 0.0, bias)


def compute_alibi(family, heads, queries, keys):
    """Returns [heads][queries][keys]."""
    slope = 2.0 ** (-8 / heads * np.arange(1, heads + 1))[:, None, None]
    distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    half = 0.5 * (distance < 0) if family.alibi == "sides" else 0.0
    return torch.from_numpy(slope * (half - np.abs(distance)))


# ---- the network ----

def apply_linear(p, name, x):
    y = x @ p[f"{name}.weight"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def apply_norm(p, name, x):
    return torch.nn.functional.layer_norm(x, (WIDTH,), p[f"{name}.scale"], p[f"{name}.offset"], EPSILON)


def get_positions(model, tokens):
    index = torch.arange(tokens, dtype=torch.float64)
    return index % model.period if model.period else index


def rotate(x, positions):
    """Rotates x [B][T][heads][D]: channels 2m and 2m + 1, as a complex number, by position * 10000^(-2m / D)."""
    half = x.shape[-1] // 2
    angle = positions[:, None] * 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], half, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)[None, :, None]).reshape(x.shape)


def attend(p, name, model, place, x, memory, seen):
    """Stores the attention weights in seen[place]."""
    family, heads = model.families.get(place, Family()), model.heads
    split = lambda y: y.reshape(*y.shape[:2], heads, WIDTH // heads)
    q, k, v = (split(apply_linear(p, name + part, source)) for part, source in (("query", x), ("key", memory),
                                                                              ("value", memory)))
    queries, keys = x.shape[1], memory.shape[1]
    if family.rope:
        q, k = rotate(q, get_positions(model, queries)), rotate(k, get_positions(model, keys))
    logits = torch.einsum("bihc,bjhc->bhij", q, k)
    if family.shaw:
        distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
        rows = p[f"{name}relative.table"][np.clip(distance, -family.shaw, family.shaw) + family.shaw]
        logits = logits + torch.einsum("bihc,ijc->bhij", q, rows)
    logits = logits / math.sqrt(WIDTH // heads)
    if family.alibi != "none":
        logits = logits + compute_alibi(family, heads, queries, keys)
    logits = logits + torch.from_numpy(make_bias(family, heads, place == "decoder", queries, keys))
    weights = torch.softmax(logits / family.temperature, dim=-1)
    seen[place] = weights
    return apply_linear(p, f"{name}output", torch.einsum("bhij,bjhc->bihc", weights, v).reshape(x.shape))


def apply_feedforward(p, name, x):
    return apply_linear(p, f"{name}down", torch.relu(apply_linear(p, f"{name}up", x)))


def compute_sinusoid(model, tokens):
    k = torch.arange(WIDTH // 2, dtype=torch.float64)
    angle = get_positions(model, tokens)[:, None] * 10000.0 ** (-2 * k / WIDTH)
    sides = [torch.sin(angle), torch.cos(angle)]
    interleaved = model.channels == "interleaved"
    return torch.stack(sides, dim=-1).reshape(tokens, WIDTH) if interleaved else torch.cat(sides, dim=-1)


def embed(p, model, tokens):
    x = p["embed.token.weight"][tokens] * math.sqrt(WIDTH)
    return x if model.channels == "none" else x + compute_sinusoid(model, tokens.shape[1])


def compute_logits(p, model, source, target):
    """Returns logits [2][M][classes], and by place the attention weights of the last layer."""
    seen, memory = {}, embed(p, model, source)
    for layer in range(model.encoder):
        at = f"encoder.layers.{layer}."
        attended = attend(p, f"{at}attention.", model, "encoder", memory, memory, seen)
        memory = apply_norm(p, f"{at}norm1", memory + attended)
        memory = apply_norm(p, f"{at}norm2", memory + apply_feedforward(p, f"{at}feedforward.", memory))
    if model.encoder:
        memory = apply_norm(p, "encoder.norm", memory)
    x = embed(p, model, target)
    for layer in range(model.decoder):
        at = f"decoder.layers.{layer}."
        x = apply_norm(p, f"{at}norm1", x + attend(p, f"{at}attention.", model, "decoder", x, x, seen))
        x = apply_norm(p, f"{at}norm2", x + attend(p, f"{at}cross_attention.", model, "cross", x, memory, seen))
        x = apply_norm(p, f"{at}norm3", x + apply_feedforward(p, f"{at}feedforward.", x))
    return apply_linear(p, "output", apply_norm(p, "decoder.norm", x)), seen


def decode(p, model, source, target):
    """Returns [2][M]: the answers that follow the start token, decoded greedily; -1 after the end of a sequence."""
    sorts = model.task == "sorting"
    given, out = target.clone(), np.full(target.shape, -1, np.int32)
    ended = np.zeros(len(target), bool)
    for t in range(target.shape[1]):
        with torch.no_grad():
            logits = compute_logits(p, model, source, given)[0][:, t].numpy()
        best = np.sort(logits, axis=-1)
        assert (best[:, -1] - best[:, -2] > MARGIN)[~ended].all(), best
        choice = logits.argmax(axis=-1)
        out[:, t] = np.where(ended, -1, choice)
        ended |= (choice == END) & (not sorts)
        if t + 1 < target.shape[1]:
            given[:, t + 1] = torch.from_numpy(choice + (5 if sorts else 0))
    return out


# ---- files ----

def make_tensors(number, model):
    """Returns the content of a file, name -> array. number: that of the file, which selects its random numbers."""
    rng = np.random.default_rng([SEED, number])
    stored = make_parameters(model, rng)
    p = {name: torch.from_numpy(value).double().requires_grad_() for name, value in stored.items()}
    out = dict(stored)
    for frame in model.frames:
        arrays = make_batch(model, frame, rng)
        source, target, label = (torch.from_numpy(array).long() for array in arrays)
        n = source.shape[1]
        logits, seen = compute_logits(p, model, source, target)
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, model.classes), label.reshape(-1))
        out |= {f"data.n{n}.{name}": array for name, array in zip(("source", "target", "label"), arrays)}
        out |= {f"result.n{n}.logits": logits, f"result.n{n}.loss": loss.reshape(1),
                f"result.n{n}.decoder": seen["decoder"], f"result.n{n}.cross": seen["cross"]}
        out[f"result.n{n}.greedy"] = decode(p, model, source, target)
    loss.backward()
    out |= {f"gradient.{name}": value.grad.float() for name, value in p.items()}
    return {name: np.ascontiguousarray(value.detach().numpy() if torch.is_tensor(value) else value)
            for name, value in out.items()}


def make_metadata(model, tensors):
    lengths = [name.split(".")[1][1:] for name in tensors if name.endswith(".source")]
    facts = {"model": "arithmetic", "task": model.task, "layers": f"{model.encoder}, {model.decoder}",
             "heads": model.heads, "width": WIDTH, "feedforward": model.feedforward, "bias": model.bias,
             "channels": model.channels, "period": model.period, "lengths": " ".join(lengths), "gradient": lengths[-1]}
    for place, family in model.families.items():
        facts[place] = ", ".join(f"{key} {value}" for key, value in dataclasses.asdict(family).items())
    if model.bias == "all":
        facts["xavier"] = " ".join(f"{name} {bound:.9g}" for name, (_, bound) in sorted(list_matrices(model).items()))
    return {key: str(value) for key, value in facts.items()}


def main():
    torch.set_num_threads(1)  # so that sums have one order
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, (number, model) in MODELS.items():
        path = directory / f"{name}.safetensors"
        tensors = make_tensors(number, model)
        save_file(tensors, path, metadata=make_metadata(model, tensors))
        sort_metadata(path)
        print(f"{path.name:32} {path.stat().st_size:7} bytes  decoded:",
              *(tensors[key].tolist() for key in tensors if key.endswith("greedy")))


if __name__ == "__main__":
    main()
