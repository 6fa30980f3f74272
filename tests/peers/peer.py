"""What the GPU peers share: shapes, weights of a trainer, the logits check, windows of time, lines of results.

A peer is the model of spec/models/ruoss_encoder.lua written for another framework, with its encodings as the
framework's own users would write them at best. It starts from a trainer's checkpoint and must give that trainer's
logits before it is timed. Batches are made beforehand and lie on the device: no peer waits for data. A step is
everything else: dropout, both passes, clipping to a global norm of 1, Adam.
"""

import argparse
import contextlib
import dataclasses
import datetime
import faulthandler
import json
import math
import os
import pathlib
import statistics
import sys
import time
import traceback

import numpy as np

LAYERS, HEADS, WIDTH, FEEDFORWARD = 5, 8, 64, 256
DROPOUT, EPSILON, RATE = 0.1, 1e-5, 3e-4
CLASSES, EMPTY, VOCABULARY = 2, 3, 4  # bits; token 2 is never used, token 3 stands where an answer is read
MAX_POSITION = 2048                   # drawn distances are below
ENCODINGS = ("sinusoid", "rand_relative", "none", "relative")
PRECISIONS = ("tf32", "float32")
RING = 32                             # batches on the device, used in turn

# ||logits - the trainer's|| / ||the trainer's||, the trainer's in float32. float32: sums of at most 256 terms through
# five normalised layers, below 1e-6 on a CPU; leaving out a single small bias vector gives 6e-5. tf32: operands have
# 11 bits, each off by up to 2^-12 of itself; products rounded so by hand gave 2e-4 to 7e-4. The same code is always
# checked in float32 first.
TOLERANCE = {"float32": 1e-5, "tf32": 5e-3}


@dataclasses.dataclass(frozen=True)
class Case:
    """What is timed once. form: how attention is written, where there is a choice."""

    encoding: str
    tokens: int
    labels: int
    precision: str
    replicas: int
    variant: str
    form: str = ""

    @property
    def relative(self):
        return self.encoding.endswith("relative")


def sinusoid(positions):
    """[...] -> [..., WIDTH] float32: sines of WIDTH / 2 frequencies, then their cosines; made in float64."""
    angle = np.asarray(positions, np.float64)[..., None] / 10000.0 ** (np.arange(0, WIDTH, 2) / WIDTH)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1).astype(np.float32)


def distance_table():
    """Row MAX_POSITION - 1 + d: the sinusoid of the signed distance d."""
    return sinusoid(np.arange(1 - MAX_POSITION, MAX_POSITION))


def distance_rows(drawn):
    """Drawn distances [..., T], the first 0 -> rows of distance_table() for key - query = 1 - T .. T - 1."""
    return np.concatenate([-drawn[..., :0:-1], drawn], axis=-1) + MAX_POSITION - 1


def load_tensors(path):
    """A safetensors file of float32 tensors: name -> array; the optimiser's state is left out."""
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
    """A checkpoint under short names without dots; query, key and value side by side."""
    t = load_tensors(path)
    w = {"token": t["embed.token.weight"], "output": t["output.weight"], "output_bias": t["output.bias"]}
    for n in range(LAYERS):
        a, f = f"layers.{n}.attention.", f"layers.{n}.feedforward."
        w[f"qkv{n}"] = np.concatenate([t[f"{a}{m}.weight"] for m in ("query", "key", "value")], axis=1)
        w[f"mix{n}"] = t[f"{a}output.weight"]
        for m in ("up", "down"):
            w[f"{m}{n}"], w[f"{m}_bias{n}"] = t[f"{f}{m}.weight"], t[f"{f}{m}.bias"]
        for m in ("norm1", "norm2"):
            w[f"{m}_scale{n}"], w[f"{m}_offset{n}"] = t[f"layers.{n}.{m}.scale"], t[f"layers.{n}.{m}.offset"]
        if f"{a}relative.weight" in t:
            w[f"relative{n}"] = t[f"{a}relative.weight"]
            w[f"content{n}"] = t[f"{a}relative.content_bias"].reshape(WIDTH)
            w[f"position{n}"] = t[f"{a}relative.position_bias"].reshape(WIDTH)
    return w


def stack(weights, replicas):
    """As many equal models side by side; one alone has no axis for them."""
    if replicas == 1:
        return weights
    return {name: np.repeat(value[None], replicas, axis=0) for name, value in weights.items()}


def references(folder, encoding):
    """(tokens [B][T], drawn distances [T] or None, logits [B][labels][CLASSES]) of every length in the folder."""
    found = []
    for path in sorted(pathlib.Path(folder).glob(f"{encoding}.*.inputs.jsonl")):
        inputs = [json.loads(line) for line in path.read_text().splitlines()]
        outputs = path.with_name(path.name.replace(".inputs.", ".logits.")).read_text().splitlines()
        logits = np.array([json.loads(line)["logits"] for line in outputs])
        tokens = np.array([line["input"] + [EMPTY] * logits.shape[1] for line in inputs])
        found.append((tokens, np.array(inputs[0]["distances"]) if "distances" in inputs[0] else None, logits))
    if not found:
        raise SystemExit(f"{folder}: no logits of {encoding}; tests/device/prepare.sh writes them")
    return found


def logit_error(got, want):
    error = float(np.linalg.norm(np.asarray(got, np.float64) - want) / np.linalg.norm(want))
    return error if math.isfinite(error) else math.inf


def ring(case, batch):
    """RING batches of random bits and the task's answers to them: one label is their parity, more are their reversal.
    tokens [RING][R][batch][T], target [RING][R][batch][labels], with drawn distances rows [RING][R][LAYERS][2T - 1];
    without R for a model alone."""
    rng = np.random.default_rng(case.tokens)
    lead = (RING,) if case.replicas == 1 else (RING, case.replicas)
    bits = rng.integers(0, CLASSES, (*lead, batch, case.tokens - case.labels))
    target = bits.sum(axis=-1, keepdims=True) % CLASSES if case.labels == 1 else bits[..., ::-1]
    made = {"tokens": np.concatenate([bits, np.full_like(target, EMPTY)], axis=-1), "target": target}
    if case.encoding == "rand_relative":
        keys = rng.random((*lead, LAYERS, MAX_POSITION - 1))
        drawn = 1 + np.sort(np.argsort(keys, axis=-1)[..., : case.tokens - 1], axis=-1)
        drawn = np.concatenate([np.zeros((*lead, LAYERS, 1), drawn.dtype), drawn], axis=-1)
        made["rows"] = distance_rows(drawn)
    return {name: value.astype(np.int32) for name, value in made.items()}


class Bench:
    """Flags, the file of results, and the time that is left."""

    START_AGAIN = 5  # exit status: the device takes no more from this process, and there are cases left

    def __init__(self, name, version, description, variants, last, usable):
        """variants: in the order of use to a reader. last: one of them, slow or likely to fail, after all others.
        usable(): does a little on the device, and raises when that does not go."""
        faulthandler.enable()
        p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        names = lambda text: text.split(",")

        def some_of(known):
            def parse(text):
                unknown = set(names(text)) - set(known)
                if unknown:
                    raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
                return names(text)
            return parse

        def shapes(text):
            return [(int(tokens), int(labels)) for tokens, labels in (shape.split(":") for shape in names(text))]

        def numbers(text):
            return [int(number) for number in names(text)]

        p.add_argument("--reference", required=True, help="checkpoints and logits, made by tests/device/prepare.sh")
        p.add_argument("--out", required=True,
                       help="JSON lines are added here; what stands there, failures too, is not timed again")
        p.add_argument("--fresh", action="store_true", help="time again what stands in --out")
        p.add_argument("--limit", type=float, default=600, help="seconds after which nothing is begun (%(default)s)")
        p.add_argument("--encodings", type=some_of(ENCODINGS), default=list(ENCODINGS[:2]),
                       help=f"of {','.join(ENCODINGS)}")
        p.add_argument("--shapes", type=shapes, default="21:1,41:1,80:40", help="tokens:labels,... (%(default)s)")
        p.add_argument("--precisions", type=some_of(PRECISIONS), default=list(PRECISIONS))
        p.add_argument("--replicas", type=numbers, default="1,30", help="models side by side (%(default)s)")
        p.add_argument("--variants", type=some_of(variants), default=variants, help=f"of {','.join(variants)}")
        p.add_argument("--batch", type=int, default=128)
        p.add_argument("--window", type=float, default=0.15, help="seconds that a window lasts at least")
        p.add_argument("--windows", type=int, default=7, help="their median counts")
        p.add_argument("--device", choices=["gpu", "cpu"], default="gpu", help="cpu: to try the code")
        p.add_argument("--check-only", action="store_true", help="compare logits, time nothing")
        self.options = p.parse_args()
        self.name, self.version, self.start, self.left_out = name, version, time.monotonic(), []
        self.last, self.usable = last, usable
        self.out = pathlib.Path(self.options.out)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.hardware, self.checked, self.failed = None, {}, False

    def begin(self, hardware):
        """hardware: the device's name. Lines of other versions and devices stay in the file and count for nothing."""
        self.hardware = hardware
        lines = self.out.read_text().splitlines() if self.out.exists() else []
        mine = [line for line in map(json.loads, lines) if self.is_mine(line)]
        if self.options.fresh:
            kept = [line for line in lines if not self.is_mine(json.loads(line))]
            self.out.write_text("".join(line + "\n" for line in kept))
            mine = []
        self.known = {self.key(line): line for line in mine if "error" not in line}
        self.gone = {self.key(line) for line in mine if "error" in line}

    def is_mine(self, line):
        return all(line.get(k) == v for k, v in (("peer", self.name), ("version", self.version),
                                                 ("device", self.hardware), ("batch", self.options.batch)))

    @staticmethod
    def key(line):
        return tuple(line.get(field.name) for field in dataclasses.fields(Case))

    def rounds(self):
        """(variant, precision): the first of both first; a precision weighs as much as two variants."""
        o = self.options
        place = lambda pair: (pair[0] == self.last, o.variants.index(pair[0]) + 2 * o.precisions.index(pair[1]))
        return sorted([(v, p) for v in o.variants for p in o.precisions], key=place)

    def cases(self, variant, precision, forms):
        """Every case of a round; forms(encoding): ways to write its attention."""
        o = self.options
        for encoding in o.encodings:
            for replicas in o.replicas:
                for tokens, labels in o.shapes:
                    for form in forms(encoding):
                        yield Case(encoding, tokens, labels, precision, replicas, variant, form)

    def wanted(self, case):
        """Whether there is time for a case and it is not known from before."""
        key = self.key(dataclasses.asdict(case))
        if key in self.known or key in self.gone:
            return False
        if time.monotonic() - self.start < self.options.limit:
            return True
        self.left_out.append("/".join(map(str, dataclasses.astuple(case))))
        return False

    @staticmethod
    def computed_as(case):
        return dataclasses.replace(case, tokens=0, labels=0, variant="")

    def check(self, case, logits):
        """logits(tokens, drawn) in the case's precision against the trainer's; once per way to compute them."""
        key = self.computed_as(case)
        if key not in self.checked:
            error = 0.0
            for tokens, drawn, want in references(self.options.reference, case.encoding):
                for got in logits(tokens, drawn, want.shape[1]):
                    error = max(error, logit_error(got, want))
            self.checked[key] = error
            good = error <= TOLERANCE[case.precision]
            self.failed = self.failed or not good
            self.say(f"logits {case.encoding} {case.form} {case.precision} x{case.replicas}: {error:.2e}"
                     f"{'' if good else ', expected at most %g' % TOLERANCE[case.precision]}")
        return self.checked[key] <= TOLERANCE[case.precision]

    def windows(self, timed):
        """timed(n): seconds of n steps or somewhat more, and how many they were. Steps per second of each window."""
        count = 1
        seconds, done = timed(count)
        while seconds < self.options.window / 2:
            count = max(2 * done, int(done * self.options.window / max(seconds, 1e-6)))
            seconds, done = timed(count)
        rates = []
        for _ in range(self.options.windows):
            seconds, done = timed(count)
            rates.append(done / seconds)
        return rates

    def add(self, case, rates, compile_seconds, loss, **more):
        """loss: of the last step, by model."""
        rate = statistics.median(rates)
        line = {"peer": self.name, "version": self.version, "device": self.hardware, "batch": self.options.batch}
        line |= dataclasses.asdict(case)
        line |= {"steps_per_second": rate, "model_steps_per_second": rate * case.replicas,
                 "slowest": min(rates), "fastest": max(rates), "compile_seconds": compile_seconds, "loss": loss,
                 "logit_error": self.checked.get(self.computed_as(case)),
                 "measured": datetime.date.today().isoformat()} | more
        if not math.isfinite(loss):
            self.failed = True
            self.add_failure(case, "the loss is not finite")
            return
        self.known[self.key(line)] = line
        self.write(line)
        self.say(f"{case.variant:12} {case.encoding:13} {case.form:6} {case.precision:7} x{case.replicas:<3}"
                 f"T={case.tokens:<3} {rate:9.1f} steps/s, {rate * case.replicas:9.1f} of models; "
                 f"compiled in {compile_seconds:.1f} s")

    def add_failure(self, case, message):
        line = {"peer": self.name, "version": self.version, "device": self.hardware, "batch": self.options.batch}
        line |= dataclasses.asdict(case)
        self.gone.add(self.key(line))
        self.write(line | {"error": " ".join(str(message).split())[:400]})
        self.say(f"{case}: {message}")

    @contextlib.contextmanager
    def guarded(self, case):
        """A case that fails, by whatever the framework raises, becomes a line; the others go on, in another process
        where the device does no more for this one."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self.add_failure(case, f"{type(error).__name__}: {error}")
            try:
                self.usable()
            except Exception as another:
                self.say(f"the device does no more here: {type(another).__name__}: {another}")
                sys.stderr.flush()
                os._exit(1 if self.failed else self.START_AGAIN)

    def write(self, line):
        with self.out.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def fastest_form(self, case, forms, variant):
        """The form of attention that was fastest in another variant at the same sizes; the first one if none ran."""
        others = {form: dataclasses.replace(case, variant=variant, form=form) for form in forms}
        lines = {form: self.known.get(self.key(dataclasses.asdict(other))) for form, other in others.items()}
        rates = {form: line["steps_per_second"] for form, line in lines.items() if line}
        return max(rates, key=rates.get) if rates else forms[0]

    def say(self, text):
        print(f"{self.name}: {time.monotonic() - self.start:6.1f} s  {text}", file=sys.stderr, flush=True)

    def end(self):
        """The exit status: 1 where logits or a loss were wrong; a variant that cannot run is only reported."""
        if self.left_out:
            self.say(f"no time for {len(self.left_out)} cases: {' '.join(self.left_out)}")
        return 1 if self.failed else 0
