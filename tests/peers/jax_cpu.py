"""The models of peer.py in JAX on the processor, for cpu.py; worker.py describes its requests. A step is one jitted
call with donated state. XLA takes the number of threads from NPROC."""

import functools
import sys

sys.dont_write_bytecode = True

import worker  # first, since it redirects standard output

import jax
import jax.numpy as jnp

import peer
from jax_model import compute_cross_entropy, make_initial_state, model, train_step
from peer import np


def make_device_ring(case, batch):
    return {name: jnp.asarray(value) for name, value in peer.make_ring(case, batch).items()}


def prepare_training(case, weights, batch):
    step = jax.jit(functools.partial(train_step, case, batch), donate_argnums=0)
    check = jax.jit(functools.partial(model, case), static_argnums=1)
    parameters = {name: jnp.asarray(value) for name, value in weights.items()}
    ring, latest = make_device_ring(case, batch), {"state": make_initial_state(case, weights)}

    def run(steps):
        for _ in range(steps):
            latest["state"] = step(latest["state"], ring)
        jax.block_until_ready(latest["state"])

    return worker.Prepared(run, lambda: float(latest["state"]["loss"]),
                           lambda tokens: np.asarray(check(parameters, case.labels, jnp.asarray(tokens))))


def prepare_evaluation(case, weights, batch):
    @jax.jit
    def evaluate(p, tokens, target):
        logits = model(case, p, case.labels, tokens)
        return logits, compute_cross_entropy(logits, target)

    parameters = {name: jnp.asarray(value) for name, value in weights.items()}
    ring, latest = make_device_ring(case, batch), {"turn": 0}
    batches = [(ring["tokens"][turn], ring["target"][turn]) for turn in range(peer.RING)]

    def run(steps):
        for _ in range(steps):
            latest["turn"] = (latest["turn"] + 1) % peer.RING
            latest["loss"] = evaluate(parameters, *batches[latest["turn"]])[1]
        jax.block_until_ready(latest["loss"])

    def logits(tokens):
        return np.asarray(evaluate(parameters, jnp.asarray(tokens, jnp.int32), batches[0][1])[0])

    return worker.Prepared(run, lambda: float(latest["loss"]), logits)


def prepare(case, mode, weights, batch):
    return (prepare_training if mode == "train" else prepare_evaluation)(case, weights, batch)


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    worker.serve(prepare, f"JAX {jax.__version__}")
