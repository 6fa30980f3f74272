"""Parts that peers share on any device: shapes, weights of a trainer, logits to compare with, batches.

A peer is a model written for another framework as well as users of the framework can: the model of
spec/models/ruoss_encoder.lua with its encodings, or a causal decoder of the same size with sinusoids, norms before
branches and SwiGLU. It starts from a trainer's checkpoint, and must have that trainer's logits before it is timed.
Batches are made beforehand and are on the device, so no peer waits for data. A step consists of dropout, both passes,
clipping to a global norm of 1, and Adam.
"""

import dataclasses
import json
import math
import pathlib

import numpy as np

LAYERS, HEADS, WIDTH, FEEDFORWARD = 5, 8, 64, 256
DROPOUT, EPSILON, RATE = 0.1, 1e-5, 3e-4
CLASSES = 2                           # answers are bits
VOCABULARY = {"encoder": 4, "decoder": 5}
# The token at which an answer is read; tokens between the bits and this one are not used.
ANSWER_TOKEN = {"encoder": 3, "decoder": 4}
MAX_POSITION = 2048                   # above all sampled distances
ENCODINGS = ("sinusoid", "rand_relative", "none", "relative")
PRECISIONS = ("tf32", "float32")
RING = 32                             # number of batches on the device, which are used in turn

# Bounds of ||logits - t|| / ||t||, where t are the trainer's logits in float32. float32: sums of at most 256 terms
# through five normalised layers, below 1e-6 on a CPU; without one small bias vector it is 6e-5. tf32: operands have
# 11 bits, with errors of up to 2^-12 of their size; products in float32 of operands that were rounded to 11 bits gave
# 2e-4 to 7e-4. The same code is always checked in float32 first.
TOLERANCE = {"float32": 1e-5, "tf32": 5e-3}


@dataclasses.dataclass(frozen=True)
class Case:
    """One timing. tokens, labels: of a sequence; replicas: models side by side; form: the form of attention's code, ""
    if there is only one."""

    encoding: str
    tokens: int
    labels: int
    precision: str
    replicas: int
    variant: str
    form: str = ""
    model: str = "encoder"

    @property
    def is_relative(self):
        return self.encoding.endswith("relative")

    @property
    def has_pre_norm(self):
        return self.model == "decoder"

    @property
    def dropout_count(self):
        return 2 * LAYERS + (self.encoding == "sinusoid")


def compute_sinusoid(positions):
    """[...] -> [..., WIDTH] float32: sines of WIDTH / 2 frequencies, then their cosines; computed in float64."""
    angle = np.asarray(positions, np.float64)[..., None] / 10000.0 ** (np.arange(0, WIDTH, 2) / WIDTH)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1).astype(np.float32)


def make_distance_table():
    """Returns a table whose row MAX_POSITION - 1 + d is the sinusoid of the signed distance d."""
    return compute_sinusoid(np.arange(1 - MAX_POSITION, MAX_POSITION))


def find_distance_rows(drawn):
    """Sampled distances [..., T], the first 0 -> rows of make_distance_table() for key - query = 1 - T .. T - 1."""
    return np.concatenate([-drawn[..., :0:-1], drawn], axis=-1) + MAX_POSITION - 1


def load_tensors(path):
    """Reads a safetensors file of float32 tensors: name -> array, without the optimiser's state."""
    data = pathlib.Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:end]).items():
        if name == "__metadata__" or name.startswith("optimizer."):
            continue
        if entry["dtype"] != "F32":
            raise SystemExit(f"{path}: {name} is {entry['dtype']}, expected F32")
        first, last = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[end + first : end + last], np.float32).reshape(entry["shape"])
    return tensors


def load_weights(path):
    """Reads a checkpoint: short name without dots -> array. Matrices of query, key and value are side by side in one
    array, and so are those of gate and up."""
    t = load_tensors(path)
    w = {"token": t["embed.token.weight"], "output": t["output.weight"], "output_bias": t["output.bias"]}
    if "norm.scale" in t:
        w["norm_scale"], w["norm_offset"] = t["norm.scale"], t["norm.offset"]
    for n in range(LAYERS):
        a, f = f"layers.{n}.attention.", f"layers.{n}.feedforward."
        w[f"qkv{n}"] = np.concatenate([t[f"{a}{m}.weight"] for m in ("query", "key", "value")], axis=1)
        w[f"mix{n}"] = t[f"{a}output.weight"]
        ups = ("gate", "up") if f"{f}gate.weight" in t else ("up",)
        w[f"up{n}"] = np.concatenate([t[f"{f}{m}.weight"] for m in ups], axis=1)
        w[f"up_bias{n}"] = np.concatenate([t[f"{f}{m}.bias"] for m in ups])
        w[f"down{n}"], w[f"down_bias{n}"] = t[f"{f}down.weight"], t[f"{f}down.bias"]
        for m in ("norm1", "norm2"):
            w[f"{m}_scale{n}"], w[f"{m}_offset{n}"] = t[f"layers.{n}.{m}.scale"], t[f"layers.{n}.{m}.offset"]
        if f"{a}relative.weight" in t:
            w[f"relative{n}"] = t[f"{a}relative.weight"]
            w[f"content{n}"] = t[f"{a}relative.content_bias"].reshape(WIDTH)
            w[f"position{n}"] = t[f"{a}relative.position_bias"].reshape(WIDTH)
    return w


def stack_weights(weights, replicas):
    """Returns the weights of equal models side by side, with an axis for them in front unless there is only one."""
    if replicas == 1:
        return weights
    return {name: np.repeat(value[None], replicas, axis=0) for name, value in weights.items()}


def read_references(folder, name, model):
    """Reads (tokens [B][T], sampled distances [T] or None, logits [B][labels][CLASSES]) of every length in a folder.
    name: the beginning of the files' names."""
    found = []
    for path in sorted(pathlib.Path(folder).glob(f"{name}.*.inputs.jsonl")):
        inputs = [json.loads(line) for line in path.read_text().splitlines()]
        outputs = path.with_name(path.name.replace(".inputs.", ".logits.")).read_text().splitlines()
        logits = np.array([json.loads(line)["logits"] for line in outputs])
        tokens = np.array([line["input"] + [ANSWER_TOKEN[model]] * logits.shape[1] for line in inputs])
        found.append((tokens, np.array(inputs[0]["distances"]) if "distances" in inputs[0] else None, logits))
    if not found:
        raise SystemExit(f"{folder}: no logits of {name}; tests/device/prepare.sh writes those of the GPU's peers")
    return found


def measure_logit_error(actual, expected):
    error = float(np.linalg.norm(np.asarray(actual, np.float64) - expected) / np.linalg.norm(expected))
    return error if math.isfinite(error) else math.inf


def make_ring(case, batch):
    """Makes RING batches of random bits and the task's answers: one label is their parity, several are their reversal.
    tokens [RING][R][batch][T], target [RING][R][batch][labels], and rows [RING][R][LAYERS][2T - 1] if distances are
    sampled; without the axis R of replicas if there is only one model."""
    rng = np.random.default_rng(case.tokens)
    lead = (RING,) if case.replicas == 1 else (RING, case.replicas)
    bits = rng.integers(0, CLASSES, (*lead, batch, case.tokens - case.labels))
    target = bits.sum(axis=-1, keepdims=True) % CLASSES if case.labels == 1 else bits[..., ::-1]
    ring = {"tokens": np.concatenate([bits, np.full_like(target, ANSWER_TOKEN[case.model])], axis=-1), "target": target}
    if case.encoding == "rand_relative":
        keys = rng.random((*lead, LAYERS, MAX_POSITION - 1))
        drawn = 1 + np.sort(np.argsort(keys, axis=-1)[..., : case.tokens - 1], axis=-1)
        drawn = np.concatenate([np.zeros((*lead, LAYERS, 1), drawn.dtype), drawn], axis=-1)
        ring["rows"] = find_distance_rows(drawn)
    return {name: value.astype(np.int32) for name, value in ring.items()}
