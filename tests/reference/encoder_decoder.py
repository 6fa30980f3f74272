"""Small encoder-decoders in JAX and float64, made of the parts in network.py. They share no code with Longhand.

Sources: Vaswani et al. 2017, "Attention Is All You Need": two stacks; a block of the decoder has attention to itself,
attention to the encoder's output and a feed-forward layer. Duan and Shi 2024, "From Interpolation to Extrapolation":
one table of tokens for both stacks, norms after the last block of each, windows; a query without a key in its window
sees all keys. Ruoss et al. 2023: sampled positions, here for each of the two sequences.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from network import (FEEDFORWARD, HEADS, MAX_POSITION, WIDTH, Model, apply_feedforward, apply_linear, apply_norm,
                     compute_alibi, compute_sinusoid, make_feedforward_parameters, make_norm_parameters, rotate,
                     sample_normal)

SEQUENCES = 2
SIZES = {5: 9, 18: 7}            # number of source tokens: number of target tokens
GRADIENT_LENGTH = 18             # number of source tokens of the batch whose gradients are stored
SYMBOLS = 5                      # input symbols, as many output symbols; their tokens come before the separator
TABLE_ROWS = 40


@dataclasses.dataclass(frozen=True)
class Attention:
    """Properties of the attentions in one place of the model."""
    rope: bool = False
    relative: str = "none"       # vectors of distances: "transformer_xl", "shaw"
    clip: int = 16               # of shaw: farther distances have the vector of this one
    alibi: bool = False
    window: tuple = ()           # numbers of keys before and after a query that it sees
    causal: bool = False
    distances: str = "of indices"  # or "of positions", "drawn"


@dataclasses.dataclass(frozen=True)
class Pair:
    """An encoder-decoder."""
    attentions: dict             # by place: encoder, decoder, cross
    layers: dict                 # number of blocks of each stack
    additive: str = "none"       # "learned", "sincos"
    place: str = "post"
    bias: str = "feedforward"
    tied: bool = False
    drawn: bool = False          # positions are sampled

    @property
    def model(self):
        return Model("none", place=self.place, bias=self.bias)


PAIRS = {
    "encoder_decoder": (24, Pair(
        {"encoder": Attention(rope=True, window=(3, 3)), "decoder": Attention(rope=True, alibi=True, causal=True),
         "cross": Attention(rope=True, alibi=True, relative="shaw", window=(2, 1))},
        {"encoder": 2, "decoder": 2}, additive="learned")),
    "identity_encoder": (25, Pair(
        {"decoder": Attention(relative="transformer_xl", causal=True),
         "cross": Attention(relative="transformer_xl", alibi=True)},
        {"encoder": 0, "decoder": 2}, place="pre", bias="all", tied=True)),
    "drawn_layers": (26, Pair(
        {"encoder": Attention(rope=True, relative="transformer_xl", distances="drawn"),
         "decoder": Attention(rope=True, relative="shaw", clip=4, causal=True, distances="of positions"),
         "cross": Attention(rope=True, relative="transformer_xl", alibi=True, distances="of positions")},
        {"encoder": 2, "decoder": 2}, additive="sincos", drawn=True)),
}


# ---- parameters ----

def make_attention_parameters(pair, draw, name, place):
    p, attention = {}, pair.attentions[place]
    for matrix in ("query", "key", "value", "output"):
        p[f"{name}{matrix}.weight"] = draw(WIDTH, WIDTH, sd=WIDTH**-0.5)
        if pair.bias == "all":
            p[f"{name}{matrix}.bias"] = draw(WIDTH, sd=0.2)
    if attention.relative == "transformer_xl":
        p[f"{name}relative.weight"] = draw(WIDTH, WIDTH, sd=WIDTH**-0.5)
        for bias in ("content_bias", "position_bias"):
            p[f"{name}relative.{bias}"] = draw(HEADS, WIDTH // HEADS, sd=0.4)
    if attention.relative == "shaw":
        p[f"{name}relative.table"] = draw(2 * attention.clip + 1, WIDTH // HEADS, sd=0.5)
    return p


def make_pair_parameters(pair, rng):
    """Returns name -> float32 array, with values as in network.make_parameters."""
    draw = lambda *shape, sd: sample_normal(rng, shape, sd)
    p = {"embed.token.weight": draw(2 * SYMBOLS + 1, WIDTH, sd=0.2)}
    if pair.additive == "learned":
        p["embed.position.weight"] = draw(TABLE_ROWS, WIDTH, sd=1.0)
    for stack, layers in pair.layers.items():
        for layer in range(layers):
            name = f"{stack}.layers.{layer}."
            p |= make_attention_parameters(pair, draw, f"{name}attention.", stack)
            if stack == "decoder":
                p |= make_attention_parameters(pair, draw, f"{name}cross_attention.", "cross")
            for number in (1, 2, 3) if stack == "decoder" else (1, 2):
                p |= make_norm_parameters(pair.model, draw, f"{name}norm{number}")
            p |= make_feedforward_parameters(pair.model, draw, f"{name}feedforward.")
        if layers:
            p |= make_norm_parameters(pair.model, draw, f"{stack}.norm")
    if not pair.tied:
        p["output.weight"] = draw(WIDTH, SYMBOLS, sd=WIDTH**-0.5)
        p["output.bias"] = draw(SYMBOLS, sd=0.2)
    return {name: value.astype(np.float32) for name, value in p.items()}


# ---- the network ----

def make_mask(attention, queries, keys):
    """Returns [T][S]: whether a query (rows) sees a key (columns). A window without keys hides none."""
    offset = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    visible = np.ones((queries, keys), bool)
    if attention.window:
        visible = (offset >= -attention.window[0]) & (offset <= attention.window[1])
        visible |= ~visible.any(axis=1, keepdims=True)
    return visible & (offset <= 0) if attention.causal else visible


def make_pair_vectors(p, name, attention, distances):
    """Returns the vectors [T][S][HEADS][D] of distances."""
    if attention.relative == "transformer_xl":
        rows = compute_sinusoid(distances) @ p[f"{name}relative.weight"]
        return rows.reshape(*distances.shape, HEADS, WIDTH // HEADS)
    clip = attention.clip
    rows = p[f"{name}relative.table"][jnp.clip(distances, -clip, clip) + clip]
    return jnp.broadcast_to(rows[:, :, None], (*distances.shape, HEADS, WIDTH // HEADS))


def attend(p, name, attention, h, memory, place):
    """h: input of the queries; memory: input of the keys and values; place: positions of the queries [T] and of the
    keys [S], and distances [T][S]."""
    heads = lambda x: x.reshape(*x.shape[:2], HEADS, WIDTH // HEADS)
    q = heads(apply_linear(p, f"{name}query", h))
    k, v = (heads(apply_linear(p, f"{name}{m}", memory)) for m in ("key", "value"))
    queries, keys, distances = place
    if attention.rope:
        q, k = rotate("rope", q, queries), rotate("rope", k, keys)
    scores = jnp.einsum("bihd,bjhd->bhij", q + p.get(f"{name}relative.content_bias", 0), k)
    if attention.relative != "none":
        pairs = make_pair_vectors(p, name, attention, distances)
        scores += jnp.einsum("bihd,ijhd->bhij", q + p.get(f"{name}relative.position_bias", 0), pairs)
    scores /= jnp.sqrt(WIDTH / HEADS)
    if attention.alibi:
        scores += compute_alibi(distances)
    mask = make_mask(attention, h.shape[1], memory.shape[1])
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return apply_linear(p, f"{name}output", jnp.einsum("bhij,bjhd->bihd", weights, v).reshape(h.shape))


def embed(p, pair, tokens, positions):
    h = p["embed.token.weight"][tokens] * jnp.sqrt(WIDTH)
    if pair.additive == "learned":
        return h + p["embed.position.weight"][positions]
    return h + compute_sinusoid(positions) if pair.additive == "sincos" else h


def run_stack(p, pair, stack, h, memory, places):
    """Runs the blocks of a stack: their branches one after the other, each with its norm. memory: the output of the
    encoder, or None in the encoder."""
    for layer in range(pair.layers[stack]):
        name = f"{stack}.layers.{layer}."
        branches = [lambda x: attend(p, f"{name}attention.", pair.attentions[stack], x, x, places[stack])]
        if memory is not None:
            branches.append(lambda x: attend(p, f"{name}cross_attention.", pair.attentions["cross"], x, memory,
                                             places["cross"]))
        branches.append(lambda x: apply_feedforward(p, f"{name}feedforward.", pair.model, x))
        for number, branch in enumerate(branches, 1):
            if pair.place == "pre":
                h = h + branch(apply_norm(p, f"{name}norm{number}", h))
            else:
                h = apply_norm(p, f"{name}norm{number}", h + branch(h))
    return apply_norm(p, f"{stack}.norm", h) if pair.layers[stack] else h


def compute_pair_loss(p, pair, source, target, label, places):
    """Returns the mean loss in nats, and the logits [sequences][labels][SYMBOLS]."""
    memory = run_stack(p, pair, "encoder", embed(p, pair, source, places["cross"][1]), None, places)
    h = run_stack(p, pair, "decoder", embed(p, pair, target, places["cross"][0]), memory, places)
    if pair.tied:
        logits = h @ p["embed.token.weight"][SYMBOLS:2 * SYMBOLS].T
    else:
        logits = apply_linear(p, "output", h)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), label[..., None], axis=-1)
    return -jnp.mean(picked), logits


# ---- batches ----

def draw_place(rng, tokens, drawn):
    """Returns the positions of a stream, and the distances of tokens that are 0, 1, 2, ... apart."""
    if not drawn:
        return np.arange(tokens, dtype=np.int32), np.arange(tokens, dtype=np.int32)
    positions = np.sort(rng.choice(MAX_POSITION, size=tokens, replace=False))
    distances = np.concatenate([[0], np.sort(1 + rng.choice(MAX_POSITION - 1, size=tokens - 1, replace=False))])
    return positions.astype(np.int32), distances.astype(np.int32)


def list_places(pair, source, target):
    """Returns by place the positions of queries and of keys, and their distances. source, target: from draw_place."""
    sides = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    places = {}
    for name in ("encoder", "decoder", "cross"):
        (queries, apart), (keys, _) = sides[name]
        offset = np.arange(len(keys))[None, :] - np.arange(len(queries))[:, None]
        how = pair.attentions[name].distances if name in pair.attentions else "of indices"
        distances = {"of indices": lambda: offset, "of positions": lambda: keys[None, :] - queries[:, None],
                     "drawn": lambda: np.sign(offset) * apart[np.abs(offset)]}[how]()
        places[name] = queries, keys, distances.astype(np.int32)
    return places


def make_pair_tensors(number, pair, seed):
    """Returns the content of a file, name -> array."""
    rng = np.random.default_rng([seed, number])
    stored = make_pair_parameters(pair, rng)
    p = {name: jnp.asarray(value, jnp.float64) for name, value in stored.items()}
    out = dict(stored)
    for n, m in SIZES.items():
        source = rng.integers(0, SYMBOLS, size=(SEQUENCES, n), dtype=np.int32)
        label = rng.integers(0, SYMBOLS, size=(SEQUENCES, m), dtype=np.int32)
        separator = np.full((SEQUENCES, 1), 2 * SYMBOLS, np.int32)
        target = np.concatenate([separator, SYMBOLS + label[:, :-1]], axis=1)
        drawn = [draw_place(rng, tokens, pair.drawn) for tokens in (n, m)]
        places = list_places(pair, *drawn)
        evaluate = jax.value_and_grad(compute_pair_loss, has_aux=True)
        (loss, logits), gradient = evaluate(p, pair, source, target, label, places)
        out |= {f"data.n{n}.source": source, f"data.n{n}.target": target, f"data.n{n}.label": label}
        for stream, (positions, distances) in zip(("source", "target"), drawn):
            out[f"data.n{n}.{stream}.positions"] = positions
            out[f"data.n{n}.{stream}.distances"] = distances
        for name in pair.attentions:
            out[f"data.n{n}.{name}.pairs"] = places[name][2]
        out[f"result.n{n}.logits"] = np.asarray(logits, np.float64)
        out[f"result.n{n}.loss"] = np.asarray(loss, np.float64).reshape(1)
        if n == GRADIENT_LENGTH:
            out |= {f"gradient.{name}": np.asarray(value, np.float32) for name, value in gradient.items()}
    return out


def make_pair_metadata(pair):
    facts = {"model": "encoder_decoder", "layers": f"{pair.layers['encoder']}, {pair.layers['decoder']}",
             "heads": HEADS, "width": WIDTH, "feedforward": FEEDFORWARD, "additive": pair.additive,
             "norm": f"layer, {pair.place}", "bias": pair.bias, "tied": "yes" if pair.tied else "no",
             "positions": "drawn" if pair.drawn else "indices", "lengths": " ".join(map(str, SIZES)),
             "gradient": GRADIENT_LENGTH}
    for name, attention in pair.attentions.items():
        facts[name] = ", ".join(f"{key} {value}" for key, value in dataclasses.asdict(attention).items())
    return {key: str(value) for key, value in facts.items()}
