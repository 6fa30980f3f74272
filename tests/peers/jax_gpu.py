"""The base model's training step in JAX on a GPU: a peer to compare `trainer bench --device cuda` with.

    python jax_gpu.py --reference build/device/peers --out build/peers/jax.jsonl

variants
  step   one jit-compiled call per step, its state donated
  scan   lax.scan over 64 steps in one call, with many models over 16
  loop   the same, the whole loop as one CUDA graph (command buffers over WHILE), where this XLA takes that
Several models side by side are vmap of the loss and its gradient; dropout's bits for all of them are drawn in one go
(a generator under vmap would be drawn from model by model). Random bits: XLA's own generator ("rbg"), 16 per element.
Adam and the clipping are written here, ten lines. No attention function of JAX takes head width 8 and float32.

forms of attention: plain; with vectors of distances: pairs (a vector for every pair of tokens, laid out before the
product) and shift (logits of all 2T - 1 distances, then skewed). Forms are compared in `scan`; the faster one is used.
Programs are compiled several at a time before anything is timed; compile_seconds is each one's own while others ran.
"""

import concurrent.futures
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
sys.dont_write_bytecode = True

import jax
import jax.numpy as jnp
from jax import lax

import peer
from peer import DROPOUT, HEADS, LAYERS, RING, WIDTH, np

VARIANTS = ["scan", "step", "loop"]
HEAD_WIDTH = WIDTH // HEADS
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8
WHOLE_LOOP = {"xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,"
                                               "CONDITIONAL,WHILE"}
AT_ONCE = 6  # programs checked or compiled side by side


def forms(encoding):
    return ["pairs", "shift"] if encoding.endswith("relative") else ["plain"]


def layer_norm(x, scale, offset):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    return centred * lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + peer.EPSILON) * scale + offset


def skew(x):
    """[..., T, 2T - 1], columns by key - query = 1 - T .. T - 1 -> [..., T, T], columns by key."""
    *lead, tokens, columns = x.shape
    row = 2 * tokens - 2
    flat = x.reshape(*lead, tokens * columns)[..., tokens - 1 : tokens - 1 + tokens * row]
    return flat.reshape(*lead, tokens, row)[..., :tokens]


def dropout_places(encoding):
    return 2 * LAYERS + (encoding == "sinusoid")


def draw_bits(case, batch, key):
    """[places][batch][T][WIDTH] 16-bit words, with replicas [R][places]...; and the next key. Keys are plain words
    between steps: calls with typed keys take JAX's slow path."""
    key, used = jax.random.split(jax.random.wrap_key_data(key, impl="rbg"))
    lead = () if case.replicas == 1 else (case.replicas,)
    words = jax.random.bits(used, (*lead, dropout_places(case.encoding), batch, case.tokens, WIDTH // 2), jnp.uint32)
    halves = lax.bitcast_convert_type(words, jnp.uint16)
    return halves.reshape(*halves.shape[:-2], WIDTH), jax.random.key_data(key)


def drop(x, bits):
    """bits None: evaluation."""
    if bits is None:
        return x
    return jnp.where(bits >= round(65536 * DROPOUT), x / (1 - DROPOUT), 0.0)


def distance_vectors(case, p, n, rows):
    """[2T - 1][HEADS][HEAD_WIDTH]; rows [LAYERS][2T - 1] where distances are drawn."""
    if case.encoding == "relative":
        vectors = jnp.asarray(peer.sinusoid(range(1 - case.tokens, case.tokens)))
    else:
        vectors = jnp.asarray(peer.distance_table())[rows[n]]
    return (vectors @ p[f"relative{n}"]).reshape(-1, HEADS, HEAD_WIDTH)


def position_logits(case, p, n, query, rows):
    """query [batch][T][HEADS][HEAD_WIDTH] -> [batch][HEADS][T][T]"""
    vectors = distance_vectors(case, p, n, rows)
    if case.form == "shift":
        return skew(jnp.einsum("bihd,chd->bhic", query, vectors))
    wide = jnp.moveaxis(vectors, 0, -1)[:, :, None, :]
    pairs = skew(jnp.broadcast_to(wide, (HEADS, HEAD_WIDTH, case.tokens, wide.shape[-1])))
    return jnp.einsum("bihd,hdij->bhij", query, pairs)


def attention(case, p, n, x, rows):
    split = (x @ p[f"qkv{n}"]).reshape(*x.shape[:-1], 3, HEADS, HEAD_WIDTH)
    query, key, value = split[..., 0, :, :], split[..., 1, :, :], split[..., 2, :, :]
    bias = lambda name: p[f"{name}{n}"].reshape(HEADS, HEAD_WIDTH)
    logits = jnp.einsum("bihd,bjhd->bhij", query + bias("content") if case.relative else query, key)
    if case.relative:
        logits = logits + position_logits(case, p, n, query + bias("position"), rows)
    weights = jax.nn.softmax(logits * HEAD_WIDTH**-0.5, axis=-1)
    return jnp.einsum("bhij,bjhd->bihd", weights, value).reshape(x.shape) @ p[f"mix{n}"]


def encoder(case, p, labels, tokens, rows=None, bits=None):
    """tokens [batch][T] -> [batch][labels][CLASSES]"""
    place = iter(range(dropout_places(case.encoding)))
    dropped = lambda x: drop(x, None if bits is None else bits[next(place)])
    x = jax.nn.one_hot(tokens, peer.VOCABULARY) @ p["token"] * WIDTH**0.5
    if case.encoding == "sinusoid":
        x = dropped(x + peer.sinusoid(range(case.tokens)))
    for n in range(LAYERS):
        mixed = dropped(attention(case, p, n, x, rows))
        x = layer_norm(x + mixed, p[f"norm1_scale{n}"], p[f"norm1_offset{n}"])
        hidden = jax.nn.relu(x @ p[f"up{n}"] + p[f"up_bias{n}"])
        x = layer_norm(x + dropped(hidden @ p[f"down{n}"] + p[f"down_bias{n}"]), p[f"norm2_scale{n}"],
                       p[f"norm2_offset{n}"])
    return x[:, -labels:] @ p["output"] + p["output_bias"]


def loss_of(case, p, batch, bits):
    logits = encoder(case, p, case.labels, batch["tokens"], batch.get("rows"), bits)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["target"][..., None], axis=-1)
    return -picked.mean()


def clipped_gradient(case, p, batch, bits):
    """One model's loss, and its gradient to a norm of at most 1."""
    loss, gradient = jax.value_and_grad(lambda q: loss_of(case, q, batch, bits))(p)
    squares = sum(jnp.vdot(g, g, precision="highest") for g in gradient.values())
    scale = jnp.minimum(1.0, lax.rsqrt(squares))
    return loss, {name: g * scale for name, g in gradient.items()}


def adam(state, gradient):
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
    gradient_of = lambda p, one, random: clipped_gradient(case, p, one, random)
    loss, gradient = (gradient_of if case.replicas == 1 else jax.vmap(gradient_of))(state["p"], batch, bits)
    state = adam(state, gradient)
    return state | {"turn": (turn + 1) % RING, "key": key, "loss": loss.mean()}


def many_steps(case, batch_size, state, ring):
    step = lambda carry, _: (train_step(case, batch_size, carry, ring), None)
    return lax.scan(step, state, None, length=steps_per_call(case))[0]


def initial_state(case, weights):
    p = {name: jnp.asarray(value) for name, value in peer.stack(weights, case.replicas).items()}
    zero = lambda: {name: jnp.zeros_like(value) for name, value in p.items()}
    return {"p": p, "m": zero(), "v": zero(), "count": jnp.float32(0), "turn": jnp.int32(0),
            "key": jax.random.key_data(jax.random.key(0, impl="rbg")), "loss": jnp.float32(0)}


def steps_per_call(case):
    return 1 if case.variant == "step" else 64 if case.replicas == 1 else 16


def matmul_precision(case):
    """JAX's own default on a GPU is tf32."""
    return jax.default_matmul_precision("default" if case.precision == "tf32" else "highest")


def compile_case(case, weights, batch_size):
    start = time.monotonic()
    body = train_step if case.variant == "step" else many_steps
    function = jax.jit(lambda state, ring: body(case, batch_size, state, ring), donate_argnums=0)
    shapes = jax.eval_shape(lambda: (initial_state(case, weights),
                                     {k: jnp.asarray(v) for k, v in peer.ring(case, batch_size).items()}))
    with matmul_precision(case):
        lowered = function.lower(*shapes)
    program = lowered.compile(compiler_options=WHOLE_LOOP if case.variant == "loop" else None)
    return program, time.monotonic() - start


def run_case(bench, case, weights, program, compile_seconds):
    steps = steps_per_call(case)
    ring = {name: jax.device_put(value) for name, value in peer.ring(case, bench.options.batch).items()}
    state = initial_state(case, weights)

    def timed(n):
        nonlocal state
        calls = -(-n // steps)
        start = time.perf_counter()
        for _ in range(calls):
            state = program(state, ring)
        jax.block_until_ready(state)
        return time.perf_counter() - start, calls * steps

    for _ in range(3):
        timed(1)
    rates = bench.windows(timed)
    bench.add(case, rates, compile_seconds, float(state["loss"]), steps_per_call=steps)


def logits_of(case, weights):
    """For Bench.check(): the first and the last replica's logits."""
    def logits(tokens, drawn, labels):
        sized = peer.dataclasses.replace(case, tokens=tokens.shape[1], labels=labels)
        p = {name: jnp.asarray(value) for name, value in peer.stack(weights, case.replicas).items()}
        rows = None if drawn is None else jnp.asarray(np.tile(peer.distance_rows(drawn), (LAYERS, 1)))
        one = lambda q: encoder(sized, q, labels, jnp.asarray(tokens), rows)
        with matmul_precision(case):
            got = np.asarray(jax.jit(one if case.replicas == 1 else jax.vmap(one))(p))
        return [got] if case.replicas == 1 else [got[0], got[-1]]
    return logits


def check_case(bench, case, weights):
    """Whether the model gives the trainer's logits, in float32 and in the case's precision."""
    wanted = [peer.dataclasses.replace(case, precision=p) for p in dict.fromkeys(["float32", case.precision])]
    return all([bench.check(one, logits_of(one, weights)) for one in wanted])


def chosen_cases(bench, variant, precision):
    """In `scan` all forms of attention, elsewhere the faster one."""
    for case in bench.cases(variant, precision, forms if variant == "scan" else lambda encoding: [""]):
        form = case.form or bench.fastest_form(case, forms(case.encoding), "scan")
        yield peer.dataclasses.replace(case, form=form)


def run_some(bench, cases, weights):
    """A few cases, compiled side by side, then timed one after the other."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        made = [pool.submit(compile_case, case, weights[case.encoding], bench.options.batch) for case in cases]
    for case, program in zip(cases, made):
        with bench.guarded(case):
            run_case(bench, case, weights[case.encoding], *program.result())


def checked(bench, cases, weights):
    """Those that give the trainer's logits; what is computed in the same way is checked once."""
    def check(case):
        with bench.guarded(case):
            return check_case(bench, case, weights[case.encoding])

    first = {bench.computed_as(case): case for case in reversed(cases)}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        good = dict(zip(first, pool.map(check, first.values())))
    return [case for case in cases if good[bench.computed_as(case)]]


def run_round(bench, variant, precision, weights):
    cases = [case for case in chosen_cases(bench, variant, precision) if bench.wanted(case)]
    cases = checked(bench, cases, weights)
    for first in range(0, 0 if bench.options.check_only else len(cases), AT_ONCE):
        run_some(bench, [case for case in cases[first : first + AT_ONCE] if bench.wanted(case)], weights)


def main():
    bench = peer.Bench("jax", jax.__version__, __doc__, VARIANTS, last="loop",
                       usable=lambda: jnp.ones(8).sum().item())
    if bench.options.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    device = jax.devices()[0]
    if bench.options.device == "gpu" and device.platform != "gpu":
        raise SystemExit("jax_gpu.py: JAX finds no GPU")
    bench.begin(device.device_kind if device.platform == "gpu" else "cpu")
    weights = {e: peer.load_weights(f"{bench.options.reference}/{e}.safetensors") for e in bench.options.encodings}
    for variant, precision in bench.rounds():
        run_round(bench, variant, precision, weights)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
