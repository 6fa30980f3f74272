"""Small transformers written from the papers alone, in JAX and float64. Shares no code with Longhand.

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
SCALING = 4.0                    # of rope_*: to reach four times the tokens of the longest batch
TRAINED = 36
ALPHA, BETA = 0.25, 4            # of rope_yarn: of the four pairs one rotates fast, two slowly and one in between
CLIP = 4                         # of shaw
GRID = 4                         # of cells: tokens of a row
EPSILON = 1e-5                   # of the norms


@dataclasses.dataclass(frozen=True)
class Model:
    """A model and the sequences that it reads; by default Ruoss et al.'s encoder, reading bucket_sort."""
    encoding: str
    kind: str = "encoder"        # or "decoder": causal
    norm: str = "layer"          # or "rms"
    place: str = "post"          # norms after the sums; "pre": before the branches
    activation: str = "relu"     # gelu, gelu_tanh, silu, swiglu, geglu
    bias: str = "feedforward"    # "all": of attention's four products, too; "none"
    tied: bool = False           # the logits' weights are the output symbols' rows of the token table
    window: int = 0              # of a decoder: keys before the query that it sees; 0: all
    inputs: int = 5              # symbols
    outputs: int = 5
    longer: int = 0              # output symbols more than input symbols, in a sequence
    computation: int = 0         # tokens without content, for each input token, after the input
    causal: bool = False         # of an encoder: a query sees itself and what is before it
    attention_bias: bool = False # biases of attention's products, whatever `bias` says
    projects: bool = True        # attention's output goes through a product
    temperature: float = 1.0     # of the softmax
    linear: bool = False         # one-hot tokens through a linear map; the first symbol is blank, the zero vector
    behind: str = ""             # an activation after the second feed-forward layer
    probe: bool = False          # one answer, read where the last symbol stands; no empty tokens

    @property
    def special(self):
        """The first token that is no symbol: the computation token, which an encoder has even where none is read."""
        return self.inputs + (self.outputs if self.kind == "decoder" else 0)

    @property
    def last(self):
        """The last token: empty for an encoder, the separator of a decoder."""
        return self.special + (1 if self.kind == "encoder" or self.computation else 0)


def sequences(model, inputs, target):
    """[B][T]. An encoder reads the input and an empty token for every output, at which it answers. A decoder reads the
    input, a separator and the target without its last token; from the separator on it is asked for the next of it."""
    batch, n = inputs.shape
    many = lambda token, count: np.full((batch, count), token, inputs.dtype)
    behind = [many(model.special, model.computation * n)] if model.computation else []
    if model.kind == "encoder":
        behind.append(many(model.last, 0 if model.probe else target.shape[1]))
    else:
        behind += [many(model.last, 1), model.inputs + target[:, :-1]]
    return np.concatenate([inputs, *behind], axis=1)


def probes(model, tokens):
    """[B][1]: where the last symbol stands."""
    return np.argmax(tokens == model.inputs - 1, axis=1)[:, None].astype(np.int32)


# ---- parameters ----

def truncated_normal(rng, shape, sd):
    """Normal of standard deviation sd, redrawn outside +-2 sd, not rescaled."""
    values = rng.standard_normal(shape)
    while np.any(outside := np.abs(values) > 2):
        values[outside] = rng.standard_normal(int(outside.sum()))
    return values * sd


def norm_parameters(model, draw, name):
    p = {f"{name}.scale": 1 + draw(WIDTH, sd=0.2)}
    if model.norm == "layer":
        p[f"{name}.offset"] = draw(WIDTH, sd=0.2)
    return p


def feedforward_parameters(model, draw, name):
    p = {}
    for part in (("gate", "up") if model.activation in GATES else ("up",)):
        p[f"{name}{part}.weight"] = draw(WIDTH, FEEDFORWARD, sd=WIDTH**-0.5)
        if model.bias != "none":
            p[f"{name}{part}.bias"] = draw(FEEDFORWARD, sd=0.2)
    p[f"{name}down.weight"] = draw(FEEDFORWARD, WIDTH, sd=FEEDFORWARD**-0.5)
    if model.bias != "none":
        p[f"{name}down.bias"] = draw(WIDTH, sd=0.2)
    return p


def geometric_parameters(encoding, draw, name):
    p = {f"{name}geometric.content_bias": draw(HEADS, WIDTH // HEADS, sd=0.4),
         f"{name}geometric.scale": (WIDTH / HEADS)**-0.5 + draw(1, sd=0.1),
         f"{name}geometric.offset": -1 + draw(1, sd=0.4)}
    if encoding != "geometric_plain":
        p |= {f"{name}direction.scale": 1 + draw(1, sd=0.2),
              f"{name}direction.weight": draw(WIDTH, 2 * HEADS, sd=WIDTH**-0.5),
              f"{name}direction.bias": draw(2 * HEADS, sd=0.4)}
    return p


def encoding_parameters(encoding, draw):
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
        if encoding == "tables":  # of distances -CLIP .. 0
            p[f"{name}relative.table"] = draw(CLIP + 1, WIDTH // HEADS, sd=0.5)
        if "geometric" in encoding:
            p |= geometric_parameters(encoding, draw, name)
    return p


def initial_parameters(model, rng):
    """Name -> float32 array. Sizes as the paper's, but biases, norms and the token table away from their start values,
    where a missing term would not show."""
    draw = lambda *shape, sd: truncated_normal(rng, shape, sd)
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
        p |= norm_parameters(model, draw, f"{name}norm1") | norm_parameters(model, draw, f"{name}norm2")
        p |= feedforward_parameters(model, draw, f"{name}feedforward.")
    if model.place == "pre":
        p |= norm_parameters(model, draw, "norm")
    if not model.tied:
        p["output.weight"] = draw(WIDTH, model.outputs, sd=WIDTH**-0.5)
        p["output.bias"] = draw(model.outputs, sd=0.2)
    p |= encoding_parameters(model.encoding, draw)
    return {name: value.astype(np.float32) for name, value in p.items()}


# ---- positions ----

def sinusoid(positions):
    """[...][WIDTH]: sines of WIDTH/2 frequencies, then their cosines."""
    frequency = 10000.0 ** (-2 * jnp.arange(WIDTH // 2) / WIDTH)
    angle = positions[..., None] * frequency
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)


def waves(numbers, channels):
    """[...][channels]: Vaswani et al. 2017: the sine in channel 2k and the cosine in channel 2k + 1 of frequency k."""
    angle = numbers[..., None] / 10000.0 ** (2 * (jnp.arange(channels) // 2) / channels)
    return jnp.where(jnp.arange(channels) % 2 == 0, jnp.sin(angle), jnp.cos(angle))


def cells(tokens):
    """[tokens][WIDTH]: of every token of a grid its column in the first half of the channels, its row in the second."""
    t = jnp.arange(tokens)
    return jnp.concatenate([waves(t % GRID, WIDTH // 2), waves(t // GRID, WIDTH // 2)], axis=-1)


def frequencies(encoding, width):
    """Radians per position of every pair, and the factor of a rotated vector.
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
    """x [B][T][H][D]: the pair (2m, 2m+1), seen as a complex number, is rotated by position * frequency m."""
    frequency, length = frequencies(encoding, x.shape[-1])
    turn = length * jnp.exp(1j * positions[:, None] * frequency)[None, :, None, :]
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
    return jnp.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def pair_vectors(p, name, encoding, distances):
    """[T][T][HEADS][D]: for each query (rows) and key (columns) the vector of their distance."""
    if "relative" in encoding:
        rows = sinusoid(distances) @ p[f"{name}relative.weight"]
        return rows.reshape(*distances.shape, HEADS, WIDTH // HEADS)
    farthest = 0 if encoding == "tables" else CLIP  # keys after the query are masked
    rows = p[f"{name}relative.table"][jnp.clip(distances, -CLIP, farthest) + CLIP]
    return jnp.broadcast_to(rows[:, :, None], (*distances.shape, HEADS, WIDTH // HEADS))


def alibi(distances):
    """[HEADS][T][T]: slopes 2^(-8/HEADS), its square, ...; half a step less to the left."""
    slope = 2.0 ** (-8 / HEADS * (1 + jnp.arange(HEADS)))
    return slope[:, None, None] * (jnp.where(distances < 0, 0.5, 0.0) - jnp.abs(distances))


# ---- attention ----

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


def seen(model, tokens):
    """[T][T]: whether a query (rows) sees a key (columns)."""
    i, j = np.arange(tokens)[:, None], np.arange(tokens)[None, :]
    if model.kind == "encoder" and not model.causal:
        return np.ones((tokens, tokens), bool)
    return (j <= i) & (i - j <= (model.window or tokens))


def linear(p, name, x):
    y = x @ p[f"{name}.weight"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def attention(p, name, model, h, positions, distances):
    """positions: [T], or None where q and k do not rotate; distances: [T][T]."""
    encoding, (batch, tokens, width) = model.encoding, h.shape
    heads = lambda x: x.reshape(batch, tokens, HEADS, width // HEADS)
    q, k, v = (heads(linear(p, f"{name}{m}", h)) for m in ("query", "key", "value"))
    if positions is not None:
        q, k = rotate(encoding, q, positions), rotate(encoding, k, positions)
    scores = jnp.einsum("bihd,bjhd->bhij", q + p.get(f"{name}relative.content_bias", 0), k)
    if "relative" in encoding or encoding in ("shaw", "tables"):
        pairs = pair_vectors(p, name, encoding, distances)
        scores += jnp.einsum("bihd,ijhd->bhij", q + p.get(f"{name}relative.position_bias", 0), pairs)
    scores /= jnp.sqrt(width / HEADS)
    if encoding.endswith("alibi"):
        scores += alibi(distances)
    weights = jax.nn.softmax(jnp.where(seen(model, tokens), scores / model.temperature, -jnp.inf), axis=-1)
    if "geometric" in encoding:
        weights = geometric(encoding, geometric_logits(p, name, h, q, k))
    mixed = jnp.einsum("bhij,bjhd->bihd", weights, v)
    mixed = mixed.reshape(batch, tokens, width)
    return linear(p, f"{name}output", mixed) if model.projects else mixed


# ---- blocks ----

def norm(p, name, x):
    if f"{name}.offset" not in p:
        return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + EPSILON) * p[f"{name}.scale"]
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + EPSILON) * p[f"{name}.scale"] + p[f"{name}.offset"]


def gelu(x):
    return x * (1 + jax.scipy.special.erf(x / jnp.sqrt(2))) / 2


def gelu_tanh(x):
    return x * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3))) / 2


def silu(x):
    return x / (1 + jnp.exp(-x))


ACTIVATIONS = {"relu": jax.nn.relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}
GATES = {"swiglu": silu, "geglu": gelu}


def feedforward(p, name, model, x):
    up = linear(p, f"{name}up", x)
    if model.activation in GATES:
        hidden = GATES[model.activation](linear(p, f"{name}gate", x)) * up
    else:
        hidden = ACTIVATIONS[model.activation](up)
    y = linear(p, f"{name}down", hidden)
    return ACTIVATIONS[model.behind](y) if model.behind else y


def embed(p, model, tokens):
    """[B][T][WIDTH]"""
    if not model.linear:
        return p["embed.token.weight"][tokens] * jnp.sqrt(WIDTH)
    one_hot = jax.nn.one_hot(tokens, model.inputs, dtype=jnp.float64)[..., 1:]
    return linear(p, "embed.token", one_hot)


def network(p, model, tokens, positions, distances):
    """tokens [B][T]; positions: one [T] array per layer (the additive encodings use the first); distances [T][T].
    Returns the logits of every position, [B][T][outputs]. Dropout off."""
    h = embed(p, model, tokens)
    if model.encoding.endswith("sincos"):
        h = h + sinusoid(positions[0])
    if model.encoding.endswith("learned"):
        h = h + p["embed.position.weight"][positions[0]]
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        turn = positions[layer] if "rope" in model.encoding else None
        attend = lambda x: attention(p, f"{name}attention.", model, x, turn, distances)
        forward = lambda x: feedforward(p, f"{name}feedforward.", model, x)
        if model.encoding == "cells":
            h = h + cells(h.shape[1])
        if model.encoding == "tables":
            h = h + p[f"{name}position.weight"][positions[layer]]
        if model.place == "pre":
            h = h + attend(norm(p, f"{name}norm1", h))
            h = h + forward(norm(p, f"{name}norm2", h))
        else:
            g = norm(p, f"{name}norm1", h + attend(h))
            h = norm(p, f"{name}norm2", forward(g) + g)
    if model.place == "pre":
        h = norm(p, "norm", h)
    if model.tied:
        return h @ p["embed.token.weight"][model.inputs:model.inputs + model.outputs].T
    return linear(p, "output", h)


def loss_and_logits(p, model, tokens, target, positions, distances):
    """Cross-entropy in nats, averaged over all output places, the last ones, or the probe's; logits there,
    [B][labels][outputs]."""
    logits = network(p, model, tokens, positions, distances)
    if model.probe:
        logits = jnp.take_along_axis(logits, jnp.asarray(probes(model, tokens))[..., None], axis=1)
    else:
        logits = logits[:, -target.shape[1]:]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1)
    return -jnp.mean(picked), logits
