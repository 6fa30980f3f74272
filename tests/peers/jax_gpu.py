"""The base model's training step in JAX on a GPU: a peer to compare `trainer bench --device cuda` with.

    python jax_gpu.py --reference build/device/peers --out build/peers/jax.jsonl

Variants:
  step   one jit-compiled call per step, with donated state
  scan   lax.scan over 64 steps in one call, or over 16 with many models
  loop   as scan, with the whole loop as one CUDA graph (command buffers over WHILE), if this XLA supports that
Forms of attention (jax_model.py) are compared in `scan`; the other variants use the faster one. Several programs are
compiled at the same time before they are timed, those of one model before those of many; compile_seconds is the time of
one program while others are compiled, too. A program that takes longer than --case-limit is left out, and the next
process compiles the others again.
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
from gpu_bench import Bench
from jax_model import list_forms, make_initial_state, model, train_step
from peer import LAYERS, np

VARIANTS = ["scan", "step", "loop"]
WHOLE_LOOP = {"xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,"
                                               "CONDITIONAL,WHILE"}
AT_ONCE = 6  # number of programs that are checked or compiled at the same time


def make_steps(case, batch_size, state, ring):
    step = lambda carry, _: (train_step(case, batch_size, carry, ring), None)
    return lax.scan(step, state, None, length=count_steps(case))[0]


def count_steps(case):
    """The number of steps of a call."""
    return 1 if case.variant == "step" else 64 if case.replicas == 1 else 16


def set_precision(case):
    """Sets the precision of products in a context. JAX's default on a GPU is tf32."""
    return jax.default_matmul_precision("default" if case.precision == "tf32" else "highest")


def compile_case(case, weights, batch_size):
    start = time.monotonic()
    body = train_step if case.variant == "step" else make_steps
    function = jax.jit(lambda state, ring: body(case, batch_size, state, ring), donate_argnums=0)
    shapes = jax.eval_shape(lambda: (make_initial_state(case, weights),
                                     {k: jnp.asarray(v) for k, v in peer.make_ring(case, batch_size).items()}))
    with set_precision(case):
        lowered = function.lower(*shapes)
    program = lowered.compile(compiler_options=WHOLE_LOOP if case.variant == "loop" else None)
    return program, time.monotonic() - start


def run_case(bench, case, weights, program, compile_seconds):
    steps = count_steps(case)
    ring = {name: jax.device_put(value) for name, value in peer.make_ring(case, bench.options.batch).items()}
    state = make_initial_state(case, weights)

    def time_steps(n):
        nonlocal state
        calls = -(-n // steps)
        start = time.perf_counter()
        for _ in range(calls):
            state = program(state, ring)
        jax.block_until_ready(state)
        return time.perf_counter() - start, calls * steps

    for _ in range(3):
        time_steps(1)
    rates = bench.measure_windows(time_steps)
    bench.add(case, rates, compile_seconds, float(state["loss"]), steps_per_call=steps)


def make_logits(case, weights):
    """Returns a function for Bench.check(), which returns the logits of the first and of the last replica."""
    def logits(tokens, drawn, labels):
        sized = peer.dataclasses.replace(case, tokens=tokens.shape[1], labels=labels)
        p = {name: jnp.asarray(value) for name, value in peer.stack_weights(weights, case.replicas).items()}
        rows = None if drawn is None else jnp.asarray(np.tile(peer.find_distance_rows(drawn), (LAYERS, 1)))
        one = lambda q: model(sized, q, labels, jnp.asarray(tokens), rows)
        with set_precision(case):
            actual = np.asarray(jax.jit(one if case.replicas == 1 else jax.vmap(one))(p))
        return [actual] if case.replicas == 1 else [actual[0], actual[-1]]
    return logits


def check_case(bench, case, weights):
    """Whether the model has the trainer's logits, in float32 and in the case's precision."""
    precisions = [peer.dataclasses.replace(case, precision=p) for p in dict.fromkeys(["float32", case.precision])]
    return all([bench.check(one, make_logits(one, weights)) for one in precisions])


def choose_cases(bench, variant, precision):
    """Cases with all forms of attention in `scan`, with the faster one in other variants."""
    for case in bench.list_cases(variant, precision, list_forms if variant == "scan" else lambda encoding: [""]):
        form = case.form or bench.find_fastest_form(case, list_forms(case.encoding), "scan")
        yield peer.dataclasses.replace(case, form=form)


def run_some(bench, cases, weights):
    """Compiles a few cases at the same time, and then times them one after the other."""
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
    futures = [pool.submit(compile_case, case, weights[case.encoding], bench.options.batch) for case in cases]
    finished, _ = concurrent.futures.wait(futures, timeout=bench.options.case_limit)
    if len(finished) < len(cases):
        bench.leave_out([case for case, future in zip(cases, futures) if future not in finished])
    for case, future in zip(cases, futures):
        with bench.report_failures(case):
            run_case(bench, case, weights[case.encoding], *future.result())
    pool.shutdown()


def select_right_cases(bench, cases, weights):
    """Returns the cases that have the trainer's logits; those with the same computation are checked once."""
    def check(case):
        with bench.report_failures(case):
            return check_case(bench, case, weights[case.encoding])

    first = {bench.get_computation(case): case for case in reversed(cases)}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        is_right = dict(zip(first, pool.map(check, first.values())))
    return [case for case in cases if is_right[bench.get_computation(case)]]


def run_round(bench, variant, precision, weights):
    cases = [case for case in choose_cases(bench, variant, precision) if bench.is_due(case)]
    for replicas in bench.options.replicas:
        right = select_right_cases(bench, [case for case in cases if case.replicas == replicas], weights)
        for first in range(0, 0 if bench.options.check_only else len(right), AT_ONCE):
            run_some(bench, [case for case in right[first : first + AT_ONCE] if bench.is_due(case)], weights)


def main():
    bench = Bench("jax", jax.__version__, __doc__, VARIANTS, last_variant="loop",
                  use_device=lambda: jnp.ones(8).sum().item())
    if bench.options.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    device = jax.devices()[0]
    if bench.options.device == "gpu" and device.platform != "gpu":
        raise SystemExit("jax_gpu.py: JAX finds no GPU")
    bench.begin(device.device_kind if device.platform == "gpu" else "cpu")
    weights = {e: peer.load_weights(f"{bench.options.reference}/{e}.safetensors") for e in bench.options.encodings}
    for variant, precision in bench.list_rounds():
        run_round(bench, variant, precision, weights)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
