"""The models of peer.py in JAX, on any device, and a training step of them.

Forms of attention: plain; with vectors of distances: pairs (vectors of all pairs of tokens are written before the
product) and shift (logits of all 2T - 1 distances, then skewed). Several models side by side are vmap of the loss and
its gradient; random bits of dropout for all of them come from one call (a generator under vmap would run model by
model) of XLA's own generator ("rbg"), 16 bits for each element. Adam and clipping are written here, since JAX has
neither. No attention function of JAX accepts head width 8 and float32.
"""

import jax
import jax.numpy as jnp
from jax import lax

import peer
from peer import DROPOUT, HEADS, LAYERS, RING, WIDTH

HEAD_WIDTH = WIDTH // HEADS
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8


def list_forms(encoding):
    return ["pairs", "shift"] if encoding.endswith("relative") else ["plain"]


def apply_layer_norm(x, scale, offset):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    return centred * lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + peer.EPSILON) * scale + offset


def skew(x):
    """[..., T, 2T - 1], columns by key - query = 1 - T .. T - 1 -> [..., T, T], columns by key."""
    *lead, tokens, columns = x.shape
    row = 2 * tokens - 2
    flat = x.reshape(*lead, tokens * columns)[..., tokens - 1 : tokens - 1 + tokens * row]
    return flat.reshape(*lead, tokens, row)[..., :tokens]


def draw_bits(case, batch, key):
    """Returns 16-bit words [dropout_count][batch][T][WIDTH], with replicas [R][dropout_count]..., and the next key.
    Keys are plain words between steps, since calls with typed keys take JAX's slow path."""
    key, used = jax.random.split(jax.random.wrap_key_data(key, impl="rbg"))
    lead = () if case.replicas == 1 else (case.replicas,)
    words = jax.random.bits(used, (*lead, case.dropout_count, batch, case.tokens, WIDTH // 2), jnp.uint32)
    halves = lax.bitcast_convert_type(words, jnp.uint16)
    return halves.reshape(*halves.shape[:-2], WIDTH), jax.random.key_data(key)


def drop(x, bits):
    """Applies dropout; bits None: an evaluation, without dropout."""
    if bits is None:
        return x
    return jnp.where(bits >= round(65536 * DROPOUT), x / (1 - DROPOUT), 0.0)


def make_distance_vectors(case, p, n, rows):
    """Returns [2T - 1][HEADS][HEAD_WIDTH]; rows: [LAYERS][2T - 1] if distances are sampled."""
    if case.encoding == "relative":
        vectors = jnp.asarray(peer.compute_sinusoid(range(1 - case.tokens, case.tokens)))
    else:
        vectors = jnp.asarray(peer.make_distance_table())[rows[n]]
    return (vectors @ p[f"relative{n}"]).reshape(-1, HEADS, HEAD_WIDTH)


def compute_position_logits(case, p, n, query, rows):
    """query [batch][T][HEADS][HEAD_WIDTH] -> [batch][HEADS][T][T]"""
    vectors = make_distance_vectors(case, p, n, rows)
    if case.form == "shift":
        return skew(jnp.einsum("bihd,chd->bhic", query, vectors))
    wide = jnp.moveaxis(vectors, 0, -1)[:, :, None, :]
    pairs = skew(jnp.broadcast_to(wide, (HEADS, HEAD_WIDTH, case.tokens, wide.shape[-1])))
    return jnp.einsum("bihd,hdij->bhij", query, pairs)


def attention(case, p, n, x, rows):
    split = (x @ p[f"qkv{n}"]).reshape(*x.shape[:-1], 3, HEADS, HEAD_WIDTH)
    query, key, value = split[..., 0, :, :], split[..., 1, :, :], split[..., 2, :, :]
    bias = lambda name: p[f"{name}{n}"].reshape(HEADS, HEAD_WIDTH)
    logits = jnp.einsum("bihd,bjhd->bhij", query + bias("content") if case.is_relative else query, key)
    if case.is_relative:
        logits = logits + compute_position_logits(case, p, n, query + bias("position"), rows)
    if case.model == "decoder":
        logits = jnp.where(jnp.tri(logits.shape[-1], dtype=bool), logits, -jnp.inf)
    weights = jax.nn.softmax(logits * HEAD_WIDTH**-0.5, axis=-1)
    return jnp.einsum("bhij,bjhd->bihd", weights, value).reshape(x.shape) @ p[f"mix{n}"]


def feedforward(case, p, n, x):
    hidden = x @ p[f"up{n}"] + p[f"up_bias{n}"]
    if case.model == "decoder":
        gate, up = jnp.split(hidden, 2, axis=-1)
        hidden = jax.nn.silu(gate) * up
    else:
        hidden = jax.nn.relu(hidden)
    return hidden @ p[f"down{n}"] + p[f"down_bias{n}"]


def model(case, p, labels, tokens, rows=None, bits=None):
    """tokens [batch][T] -> logits [batch][labels][CLASSES]. rows: see make_distance_vectors; bits: those of draw_bits,
    or None in an evaluation."""
    index = iter(range(case.dropout_count))
    dropped = lambda x: drop(x, None if bits is None else bits[next(index)])
    norm = lambda name, n, x: apply_layer_norm(x, p[f"{name}_scale{n}"], p[f"{name}_offset{n}"])

    def add(name, n, x, branch):
        """Adds a branch of x to x, with the norm before the branch or after the sum."""
        if case.has_pre_norm:
            return x + dropped(branch(norm(name, n, x)))
        return norm(name, n, x + dropped(branch(x)))

    x = jax.nn.one_hot(tokens, peer.VOCABULARY[case.model]) @ p["token"] * WIDTH**0.5
    if case.encoding == "sinusoid":
        x = dropped(x + peer.compute_sinusoid(range(case.tokens)))
    for n in range(LAYERS):
        x = add("norm1", n, x, lambda y: attention(case, p, n, y, rows))
        x = add("norm2", n, x, lambda y: feedforward(case, p, n, y))
    last = x[:, -labels:]
    if case.has_pre_norm:
        last = norm("norm", "", last)
    return last @ p["output"] + p["output_bias"]


def compute_cross_entropy(logits, target):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1).mean()


def compute_loss(case, p, batch, bits):
    logits = model(case, p, case.labels, batch["tokens"], batch.get("rows"), bits)
    return compute_cross_entropy(logits, batch["target"])


def compute_clipped_gradient(case, p, batch, bits):
    """Returns the loss of one model, and its gradient, reduced to a norm of at most 1."""
    loss, gradient = jax.value_and_grad(lambda q: compute_loss(case, q, batch, bits))(p)
    squares = sum(jnp.vdot(g, g, precision="highest") for g in gradient.values())
    scale = jnp.minimum(1.0, lax.rsqrt(squares))
    return loss, {name: g * scale for name, g in gradient.items()}


def apply_adam(state, gradient):
    count = state["count"] + 1
    rate = peer.RATE / (1 - BETA1**count)
    correct = 1 / (1 - BETA2**count)
    first = {k: BETA1 * state["m"][k] + (1 - BETA1) * g for k, g in gradient.items()}
    second = {k: BETA2 * state["v"][k] + (1 - BETA2) * g * g for k, g in gradient.items()}
    p = {k: x - rate * first[k] / (jnp.sqrt(second[k] * correct) + ADAM_EPSILON) for k, x in state["p"].items()}
    return state | {"p": p, "m": first, "v": second, "count": count}


def train_step(case, batch_size, state, ring):
    turn = state["turn"]
    batch = {name: lax.dynamic_index_in_dim(value, turn, keepdims=False) for name, value in ring.items()}
    bits, key = draw_bits(case, batch_size, state["key"])
    gradient_of = lambda p, one, random: compute_clipped_gradient(case, p, one, random)
    loss, gradient = (gradient_of if case.replicas == 1 else jax.vmap(gradient_of))(state["p"], batch, bits)
    state = apply_adam(state, gradient)
    return state | {"turn": (turn + 1) % RING, "key": key, "loss": loss.mean()}


def make_initial_state(case, weights):
    p = {name: jnp.asarray(value) for name, value in peer.stack_weights(weights, case.replicas).items()}
    zero = lambda: {name: jnp.zeros_like(value) for name, value in p.items()}
    return {"p": p, "m": zero(), "v": zero(), "count": jnp.float32(0), "turn": jnp.int32(0),
            "key": jax.random.key_data(jax.random.key(0, impl="rbg")), "loss": jnp.float32(0)}
