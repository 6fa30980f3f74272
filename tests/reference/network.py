"""Small transformers in JAX and float64, written from papers and their official code; they share no code with Longhand.

Sources: Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of Transformers", and its
official code: an encoder with layer norm after each residual sum, attention without biases, ReLU feed-forward layer.
Distances in the logits: Dai et al. 2019, "Transformer-XL"; Shaw et al. 2018, "Self-Attention with Relative Position
Representations" (keys only); Press et al. 2022, "Train Short, Test Long" (ALiBi), to both sides as in Ruoss's code.
Geometric attention with directional encoding: Csordas et al. 2022, "The Neural Data Router".
Norms before the branches and after the last block: Xiong et al. 2020, "On Layer Normalization in the Transformer
Architecture". Root mean square norm: Zhang and Sennrich 2019. GELU and its approximation: Hendrycks and Gimpel 2016.
SiLU: Elfwing et al. 2018. SwiGLU and GEGLU: Shazeer 2020, "GLU Variants Improve Transformer", equation 6. Tied logits:
Press and Wolf 2017, "Using the Output Embedding to Improve Language Models". The Latin Square Task's encoder, and its
encodings before every block, on a grid, with vectors of distances to the left, at a temperature: Ito et al. 2024, "The
Importance of Positional Encoding Initialization in Transformers for Relational Reasoning", and its code.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

WIDTH, HEADS, FEEDFORWARD, LAYERS = 16, 2, 32, 2
TABLE_ROWS = MAX_POSITION = 64
SCALING = 4.0                    # of rope_*: factor of the number of positions
TRAINED = 36                     # of rope_yarn: positions before scaling, the tokens of the longest batch
ALPHA, BETA = 0.25, 4            # of rope_yarn: of the four pairs one rotates fast, two slowly and one in between
CLIP = 4                         # of shaw and tables: farther distances have the vector of this one
GRID = 4                         # of cells: tokens of a row
EPSILON = 1e-5                   # of the norms


@dataclasses.dataclass(frozen=True)
class Model:
    """A model and the sequences that it reads; by default Ruoss et al.'s encoder on bucket_sort."""
    encoding: str
    kind: str = "encoder"        # or "decoder": causal
    norm: str = "layer"          # or "rms"
    place: str = "post"          # norms after the sums; "pre": before the branches
    activation: str = "relu"     # gelu, gelu_tanh, silu, swiglu, geglu
    bias: str = "feedforward"    # "all": of attention's four products, too; "none"
    tied: bool = False           # the weights of the logits are rows of the token table, those of output symbols
    window: int = 0              # of a decoder: keys before the query that it sees; 0: all
    inputs: int = 5              # symbols
    outputs: int = 5
    longer: int = 0              # number of output tokens of a sequence minus that of its input tokens
    computation: int = 0         # number of computation tokens for each input token, after the input
    causal: bool = False         # of an encoder: a query sees itself and the keys before it
    attention_bias: bool = False # attention's products have biases, whatever `bias` is
    projects: bool = True        # attention's output goes through a product
    temperature: float = 1.0     # of the softmax
    linear: bool = False         # one-hot tokens through a linear map; the first symbol has no row
    last_activation: str = ""    # an activation after the second feed-forward layer
    probe: bool = False          # one answer, read at the token with the last input symbol; no empty tokens

    @property
    def special(self):
        """The first token that is no symbol: the computation token, which an encoder has even if it reads none."""
        return self.inputs + (self.outputs if self.kind == "decoder" else 0)

    @property
    def last(self):
        """The last token: the empty token of an encoder, the separator of a decoder."""
        return self.special + (1 if self.kind == "encoder" or self.computation else 0)


def make_sequences(model, inputs, target):
    """Returns [B][T]. An encoder reads the input and an empty token for every output, at which it answers. A decoder
    reads the input, a separator and the target without its last token; from the separator on, it answers with the next
    token of the target."""
    batch, n = inputs.shape
    repeat = lambda token, count: np.full((batch, count), token, inputs.dtype)
    parts = [inputs] + ([repeat(model.special, model.computation * n)] if model.computation else [])
    if model.kind == "encoder":
        parts.append(repeat(model.last, 0 if model.probe else target.shape[1]))
    else:
        parts += [repeat(model.last, 1), model.inputs + target[:, :-1]]
    return np.concatenate(parts, axis=1)


def find_places(model, tokens):
    """Returns [B][1]: the index of the probe, the token with the last input symbol."""
    return np.argmax(tokens == model.inputs - 1, axis=1)[:, None].astype(np.int32)


# ---- parameters ----

def sample_normal(rng, shape, sd):
    """Samples a normal distribution of standard deviation sd, truncated at 2 sd and not rescaled."""
    values = rng.standard_normal(shape)
    while np.any(outside := np.abs(values) > 2):
        values[outside] = rng.standard_normal(int(outside.sum()))
    return values * sd


def make_norm_parameters(model, draw, name):
    p = {f"{name}.scale": 1 + draw(WIDTH, sd=0.2)}
    if model.norm == "layer":
        p[f"{name}.offset"] = draw(WIDTH, sd=0.2)
    return p


def make_feedforward_parameters(model, draw, name):
    p = {}
    for part in (("gate", "up") if model.activation in GATES else ("up",)):
        p[f"{name}{part}.weight"] = draw(WIDTH, FEEDFORWARD, sd=WIDTH**-0.5)
        if model.bias != "none":
            p[f"{name}{part}.bias"] = draw(FEEDFORWARD, sd=0.2)
    p[f"{name}down.weight"] = draw(FEEDFORWARD, WIDTH, sd=FEEDFORWARD**-0.5)
    if model.bias != "none":
        p[f"{name}down.bias"] = draw(WIDTH, sd=0.2)
    return p


def make_geometric_parameters(encoding, draw, name):
    p = {f"{name}geometric.content_bias": draw(HEADS, WIDTH // HEADS, sd=0.4),
         f"{name}geometric.scale": (WIDTH / HEADS)**-0.5 + draw(1, sd=0.1),
         f"{name}geometric.offset": -1 + draw(1, sd=0.4)}
    if encoding != "geometric_plain":
        p |= {f"{name}direction.scale": 1 + draw(1, sd=0.2),
              f"{name}direction.weight": draw(WIDTH, 2 * HEADS, sd=WIDTH**-0.5),
              f"{name}direction.bias": draw(2 * HEADS, sd=0.4)}
    return p


def make_encoding_parameters(encoding, draw):
    p = {}
    if encoding.endswith("learned"):
        p["embed.position.weight"] = draw(TABLE_ROWS, WIDTH, sd=1.0)
    for layer in range(LAYERS if encoding == "tables" else 0):
        p[f"layers.{layer}.position.weight"] = draw(TABLE_ROWS, WIDTH, sd=0.5)
    for layer in range(LAYERS):
        name = f"layers.{layer}.attention."
        if "relative" in encoding:
            p[f"{name}relative.weight"] = draw(WIDTH, WIDTH, sd=WIDTH**-0.5)
            p[f"{name}relative.content_bias"] = draw(HEADS, WIDTH // HEADS, sd=0.4)
            p[f"{name}relative.position_bias"] = draw(HEADS, WIDTH // HEADS, sd=0.4)
        if encoding == "shaw":
            p[f"{name}relative.table"] = draw(2 * CLIP + 1, WIDTH // HEADS, sd=0.5)
        if encoding == "tables":  # distances -CLIP .. 0 have rows
            p[f"{name}relative.table"] = draw(CLIP + 1, WIDTH // HEADS, sd=0.5)
        if "geometric" in encoding:
            p |= make_geometric_parameters(encoding, draw, name)
    return p


def make_parameters(model, rng):
    """Returns name -> float32 array. Standard deviations are the paper's, but biases, norms and the token table differ
    from their initial values, with which a missing term would not show."""
    draw = lambda *shape, sd: sample_normal(rng, shape, sd)
    if model.linear:
        p = {"embed.token.weight": draw(model.inputs - 1, WIDTH, sd=0.5), "embed.token.bias": draw(WIDTH, sd=0.5)}
    else:
        p = {"embed.token.weight": draw(model.last + 1, WIDTH, sd=0.2)}
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        for matrix in ("query", "key", "value", "output") if model.projects else ("query", "key", "value"):
            p[f"{name}attention.{matrix}.weight"] = draw(WIDTH, WIDTH, sd=WIDTH**-0.5)
            if model.bias == "all" or model.attention_bias:
                p[f"{name}attention.{matrix}.bias"] = draw(WIDTH, sd=0.2)
        p |= make_norm_parameters(model, draw, f"{name}norm1") | make_norm_parameters(model, draw, f"{name}norm2")
        p |= make_feedforward_parameters(model, draw, f"{name}feedforward.")
    if model.place == "pre":
        p |= make_norm_parameters(model, draw, "norm")
    if not model.tied:
        p["output.weight"] = draw(WIDTH, model.outputs, sd=WIDTH**-0.5)
        p["output.bias"] = draw(model.outputs, sd=0.2)
    p |= make_encoding_parameters(model.encoding, draw)
    return {name: value.astype(np.float32) for name, value in p.items()}


# ---- positions ----

def compute_sinusoid(positions):
    """[...] -> [...][WIDTH]: sines of WIDTH/2 frequencies, then their cosines."""
    frequency = 10000.0 ** (-2 * jnp.arange(WIDTH // 2) / WIDTH)
    angle = positions[..., None] * frequency
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)


def compute_interleaved(numbers, channels):
    """[...] -> [...][channels]: the sine of frequency k in channel 2k, its cosine in channel 2k + 1 (Vaswani et al.
    2017)."""
    angle = numbers[..., None] / 10000.0 ** (2 * (jnp.arange(channels) // 2) / channels)
    return jnp.where(jnp.arange(channels) % 2 == 0, jnp.sin(angle), jnp.cos(angle))


def compute_cells(tokens):
    """Returns [tokens][WIDTH]: the first half of the channels encodes the column of a token in the grid, the second
    half its row."""
    t = jnp.arange(tokens)
    return jnp.concatenate([compute_interleaved(t % GRID, WIDTH // 2), compute_interleaved(t // GRID, WIDTH // 2)],
                           axis=-1)


def compute_frequencies(encoding, width):
    """Returns the radians per position of every pair, and the factor of a rotated vector.
    linear: Chen et al. 2023. ntk: Peng et al. 2024, section 3.1. yarn: Peng et al. 2024, sections 3.2 and 3.4."""
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
    """Rotates x [B][T][H][D]: the pair (2m, 2m+1), as a complex number, rotates by position * frequency m."""
    frequency, factor = compute_frequencies(encoding, x.shape[-1])
    rotation = factor * jnp.exp(1j * positions[:, None] * frequency)[None, :, None, :]
    rotated = (x[..., 0::2] + 1j * x[..., 1::2]) * rotation
    return jnp.stack([rotated.real, rotated.imag], axis=-1).reshape(x.shape)


def make_pair_vectors(p, name, encoding, distances):
    """Returns [T][T][HEADS][D]: the vector of the distance of each query (rows) and key (columns)."""
    if "relative" in encoding:
        rows = compute_sinusoid(distances) @ p[f"{name}relative.weight"]
        return rows.reshape(*distances.shape, HEADS, WIDTH // HEADS)
    farthest = 0 if encoding == "tables" else CLIP  # keys after the query are masked
    rows = p[f"{name}relative.table"][jnp.clip(distances, -CLIP, farthest) + CLIP]
    return jnp.broadcast_to(rows[:, :, None], (*distances.shape, HEADS, WIDTH // HEADS))


def compute_alibi(distances):
    """Returns [HEADS][T][T], with slopes 2^(-8/HEADS), its square, ...; keys on the left are half a step nearer."""
    slope = 2.0 ** (-8 / HEADS * (1 + jnp.arange(HEADS)))
    return slope[:, None, None] * (jnp.where(distances < 0, 0.5, 0.0) - jnp.abs(distances))


# ---- attention ----

def compute_geometric_logits(p, name, h, q, k):
    """Returns [B][HEADS][T][T] for queries (rows) and keys (columns); a direction has (right, left) of each head."""
    logits = jnp.einsum("bihd,bjhd->bhij", q + p[f"{name}geometric.content_bias"], k) * p[f"{name}geometric.scale"]
    if f"{name}direction.weight" in p:
        batch, tokens, _ = h.shape
        direction = (h @ p[f"{name}direction.weight"] + p[f"{name}direction.bias"]).reshape(batch, tokens, HEADS, 2)
        right, left = (direction[..., side].transpose(0, 2, 1)[..., None] for side in (0, 1))
        is_right = jnp.arange(tokens)[None, :] > jnp.arange(tokens)[:, None]
        logits += p[f"{name}direction.scale"] * jnp.where(is_right, right, left)
    return logits + p[f"{name}geometric.offset"]


def compute_geometric_weights(encoding, logits):
    """Returns [B][HEADS][T][T]: the probability that a key matches and no nearer one does; of two equally far keys the
    right one counts as nearer. Except for geometric_raw, a query's weights are divided by their sum. Computed in
    logarithms, by running sums over the keys of a query."""
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


def make_mask(model, tokens):
    """Returns [T][T]: whether a query (rows) sees a key (columns)."""
    i, j = np.arange(tokens)[:, None], np.arange(tokens)[None, :]
    if model.kind == "encoder" and not model.causal:
        return np.ones((tokens, tokens), bool)
    return (j <= i) & (i - j <= (model.window or tokens))


def apply_linear(p, name, x):
    y = x @ p[f"{name}.weight"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def attend(p, name, model, h, positions, distances):
    """positions: [T], or None if q and k do not rotate; distances: [T][T]."""
    encoding, (batch, tokens, width) = model.encoding, h.shape
    heads = lambda x: x.reshape(batch, tokens, HEADS, width // HEADS)
    q, k, v = (heads(apply_linear(p, f"{name}{m}", h)) for m in ("query", "key", "value"))
    if positions is not None:
        q, k = rotate(encoding, q, positions), rotate(encoding, k, positions)
    scores = jnp.einsum("bihd,bjhd->bhij", q + p.get(f"{name}relative.content_bias", 0), k)
    if "relative" in encoding or encoding in ("shaw", "tables"):
        pairs = make_pair_vectors(p, name, encoding, distances)
        scores += jnp.einsum("bihd,ijhd->bhij", q + p.get(f"{name}relative.position_bias", 0), pairs)
    scores /= jnp.sqrt(width / HEADS)
    if encoding.endswith("alibi"):
        scores += compute_alibi(distances)
    weights = jax.nn.softmax(jnp.where(make_mask(model, tokens), scores / model.temperature, -jnp.inf), axis=-1)
    if "geometric" in encoding:
        weights = compute_geometric_weights(encoding, compute_geometric_logits(p, name, h, q, k))
    mixed = jnp.einsum("bhij,bjhd->bihd", weights, v)
    mixed = mixed.reshape(batch, tokens, width)
    return apply_linear(p, f"{name}output", mixed) if model.projects else mixed


# ---- blocks ----

def apply_norm(p, name, x):
    if f"{name}.offset" not in p:
        return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + EPSILON) * p[f"{name}.scale"]
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + EPSILON) * p[f"{name}.scale"] + p[f"{name}.offset"]


def compute_gelu(x):
    return x * (1 + jax.scipy.special.erf(x / jnp.sqrt(2))) / 2


def compute_gelu_tanh(x):
    return x * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3))) / 2


def compute_silu(x):
    return x / (1 + jnp.exp(-x))


ACTIVATIONS = {"relu": jax.nn.relu, "gelu": compute_gelu, "gelu_tanh": compute_gelu_tanh, "silu": compute_silu}
GATES = {"swiglu": compute_silu, "geglu": compute_gelu}


def apply_feedforward(p, name, model, x):
    up = apply_linear(p, f"{name}up", x)
    if model.activation in GATES:
        hidden = GATES[model.activation](apply_linear(p, f"{name}gate", x)) * up
    else:
        hidden = ACTIVATIONS[model.activation](up)
    y = apply_linear(p, f"{name}down", hidden)
    return ACTIVATIONS[model.last_activation](y) if model.last_activation else y


def embed(p, model, tokens):
    """[B][T] -> [B][T][WIDTH]"""
    if not model.linear:
        return p["embed.token.weight"][tokens] * jnp.sqrt(WIDTH)
    one_hot = jax.nn.one_hot(tokens, model.inputs, dtype=jnp.float64)[..., 1:]
    return apply_linear(p, "embed.token", one_hot)


def compute_logits(p, model, tokens, positions, distances):
    """Returns the logits [B][T][outputs] of all tokens [B][T], without dropout. positions: an array [T] for each layer,
    of which encodings that are added to the embedding use the first; distances: [T][T]."""
    h = embed(p, model, tokens)
    if model.encoding.endswith("sincos"):
        h = h + compute_sinusoid(positions[0])
    if model.encoding.endswith("learned"):
        h = h + p["embed.position.weight"][positions[0]]
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        rotated_by = positions[layer] if "rope" in model.encoding else None
        attention = lambda x: attend(p, f"{name}attention.", model, x, rotated_by, distances)
        feedforward = lambda x: apply_feedforward(p, f"{name}feedforward.", model, x)
        if model.encoding == "cells":
            h = h + compute_cells(h.shape[1])
        if model.encoding == "tables":
            h = h + p[f"{name}position.weight"][positions[layer]]
        if model.place == "pre":
            h = h + attention(apply_norm(p, f"{name}norm1", h))
            h = h + feedforward(apply_norm(p, f"{name}norm2", h))
        else:
            g = apply_norm(p, f"{name}norm1", h + attention(h))
            h = apply_norm(p, f"{name}norm2", feedforward(g) + g)
    if model.place == "pre":
        h = apply_norm(p, "norm", h)
    if model.tied:
        return h @ p["embed.token.weight"][model.inputs:model.inputs + model.outputs].T
    return apply_linear(p, "output", h)


def compute_loss(p, model, tokens, target, positions, distances):
    """Returns the cross-entropy in nats, averaged over all answers, and their logits [B][labels][outputs]. Answers are
    at the last tokens, or at the place of the probe."""
    logits = compute_logits(p, model, tokens, positions, distances)
    if model.probe:
        logits = jnp.take_along_axis(logits, jnp.asarray(find_places(model, tokens))[..., None], axis=1)
    else:
        logits = logits[:, -target.shape[1]:]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1)
    return -jnp.mean(picked), logits
