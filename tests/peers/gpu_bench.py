"""Parts of jax_gpu.py and pytorch_gpu.py in addition to peer.py: flags, windows of time, lines of results.

A round is a pair of a variant and a precision; a line is the result of a case (peer.Case), or its failure.
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
import signal
import statistics
import sys
import time
import traceback

from peer import ENCODINGS, PRECISIONS, TOLERANCE, Case, measure_logit_error, read_references


class TooLong(Exception):
    """A case has used up its limit."""


class Bench:
    """Flags, the file of results, and the remaining time."""

    START_AGAIN = 5  # exit status: the device accepts no more work of this process, and cases are left

    def __init__(self, name, version, description, variants, last_variant, use_device):
        """variants: the most interesting first. last_variant: the one that runs after all others, since it is slow or
        likely to fail. use_device(): does some work on the device, and raises an exception if that fails."""
        faulthandler.enable()
        p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        names = lambda text: text.split(",")

        def make_list_type(known):
            def parse(text):
                unknown = set(names(text)) - set(known)
                if unknown:
                    raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
                return names(text)
            return parse

        def parse_shapes(text):
            return [(int(tokens), int(labels)) for tokens, labels in (shape.split(":") for shape in names(text))]

        def parse_numbers(text):
            return [int(number) for number in names(text)]

        p.add_argument("--reference", required=True, help="folder of checkpoints and logits (tests/device/prepare.sh)")
        p.add_argument("--out", required=True,
                       help="file to which lines are added; cases that it has, failed ones too, are not timed again")
        p.add_argument("--fresh", action="store_true", help="time the cases of --out again")
        p.add_argument("--limit", type=float, default=600, help="seconds after which no case begins (%(default)s)")
        p.add_argument("--case-limit", type=float, default=90,
                       help="seconds that a case may take before it is timed (%(default)s); one that takes longer is "
                            "left out, and tried again with a longer limit")
        p.add_argument("--encodings", type=make_list_type(ENCODINGS), default=list(ENCODINGS[:2]),
                       help=f"a list of {','.join(ENCODINGS)}")
        p.add_argument("--shapes", type=parse_shapes, default="21:1,41:1,80:40",
                       help="tokens:labels,... (%(default)s)")
        p.add_argument("--precisions", type=make_list_type(PRECISIONS), default=list(PRECISIONS))
        p.add_argument("--replicas", type=parse_numbers, default="1,30",
                       help="numbers of models side by side (%(default)s)")
        p.add_argument("--variants", type=make_list_type(variants), default=variants,
                       help=f"a list of {','.join(variants)}")
        p.add_argument("--batch", type=int, default=128)
        p.add_argument("--window", type=float, default=0.15, help="least seconds of a window")
        p.add_argument("--windows", type=int, default=7, help="number of windows, whose median is the rate")
        p.add_argument("--device", choices=["gpu", "cpu"], default="gpu", help="cpu: to try the code")
        p.add_argument("--check-only", action="store_true", help="compare logits, and time nothing")
        self.options = p.parse_args()
        self.name, self.version, self.start, self.left_out = name, version, time.monotonic(), []
        self.last_variant, self.use_device = last_variant, use_device
        self.out = pathlib.Path(self.options.out)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.hardware, self.checked, self.has_failed = None, {}, False

    def begin(self, hardware):
        """Reads the lines of this peer, version and device; others stay in the file. hardware: the device's name."""
        self.hardware = hardware
        lines = self.out.read_text().splitlines() if self.out.exists() else []
        own_lines = [line for line in map(json.loads, lines) if self.is_own(line)]
        if self.options.fresh:
            other_lines = [line for line in lines if not self.is_own(json.loads(line))]
            self.out.write_text("".join(line + "\n" for line in other_lines))
            own_lines = []
        self.known = {self.make_key(line): line for line in own_lines if "error" not in line}
        self.failures = {self.make_key(line) for line in own_lines
                         if "error" in line and line.get("case_limit", math.inf) >= self.options.case_limit}

    def is_own(self, line):
        """Whether a line is of this peer, version, device and batch size."""
        return all(line.get(k) == v for k, v in (("peer", self.name), ("version", self.version),
                                                 ("device", self.hardware), ("batch", self.options.batch)))

    @staticmethod
    def make_key(line):
        """Returns the values of a case. A field that the line lacks has its default."""
        return tuple(line.get(field.name, field.default) for field in dataclasses.fields(Case))

    def list_rounds(self):
        """Pairs (variant, precision), in the order of variants and precisions; the second precision of the first
        variant follows the first precision of the third variant."""
        o = self.options
        rank = lambda pair: (pair[0] == self.last_variant, o.variants.index(pair[0]) + 2 * o.precisions.index(pair[1]))
        return sorted([(v, p) for v in o.variants for p in o.precisions], key=rank)

    def list_cases(self, variant, precision, forms):
        """All cases of a round; forms(encoding) lists its forms of attention."""
        o = self.options
        for encoding in o.encodings:
            for replicas in o.replicas:
                for tokens, labels in o.shapes:
                    for form in forms(encoding):
                        yield Case(encoding, tokens, labels, precision, replicas, variant, form)

    def is_due(self, case):
        """Whether a case has no line yet, and time is left for it."""
        key = self.make_key(dataclasses.asdict(case))
        if key in self.known or key in self.failures:
            return False
        if time.monotonic() - self.start < self.options.limit:
            return True
        self.left_out.append("/".join(map(str, dataclasses.astuple(case))))
        return False

    @staticmethod
    def get_computation(case):
        """Cases with the same computation have the same code for logits."""
        return dataclasses.replace(case, tokens=0, labels=0, variant="")

    def check(self, case, logits):
        """Compares logits(tokens, drawn, labels) with the trainer's, once for cases with the same computation."""
        key = self.get_computation(case)
        if key not in self.checked:
            error = 0.0
            for tokens, drawn, target_logits in read_references(self.options.reference, case.encoding, case.model):
                for actual in logits(tokens, drawn, target_logits.shape[1]):
                    error = max(error, measure_logit_error(actual, target_logits))
            self.checked[key] = error
            is_right = error <= TOLERANCE[case.precision]
            self.has_failed = self.has_failed or not is_right
            self.print_status(f"logits {case.encoding} {case.form} {case.precision} x{case.replicas}: {error:.2e}"
                              f"{'' if is_right else ', expected at most %g' % TOLERANCE[case.precision]}")
        return self.checked[key] <= TOLERANCE[case.precision]

    def measure_windows(self, time_steps):
        """Returns steps per second of each window. time_steps(n) makes at least n steps, and returns their seconds and
        their number."""
        count = 1
        seconds, steps = time_steps(count)
        while seconds < self.options.window / 2:
            count = max(2 * steps, int(steps * self.options.window / max(seconds, 1e-6)))
            seconds, steps = time_steps(count)
        rates = []
        for _ in range(self.options.windows):
            seconds, steps = time_steps(count)
            rates.append(steps / seconds)
        return rates

    def add(self, case, rates, compile_seconds, loss, **more):
        """Writes the line of a timed case. loss: that of the last step, the mean over models."""
        rate = statistics.median(rates)
        line = {"peer": self.name, "version": self.version, "device": self.hardware, "batch": self.options.batch}
        line |= dataclasses.asdict(case)
        line |= {"steps_per_second": rate, "model_steps_per_second": rate * case.replicas,
                 "slowest": min(rates), "fastest": max(rates), "compile_seconds": compile_seconds, "loss": loss,
                 "logit_error": self.checked.get(self.get_computation(case)),
                 "measured": datetime.date.today().isoformat()} | more
        if not math.isfinite(loss):
            self.has_failed = True
            self.add_failure(case, "the loss is not finite")
            return
        self.known[self.make_key(line)] = line
        self.write(line)
        self.print_status(f"{case.variant:12} {case.encoding:13} {case.form:6} {case.precision:7} x{case.replicas:<3}"
                          f"T={case.tokens:<3} {rate:9.1f} steps/s, {rate * case.replicas:9.1f} of models; "
                          f"compiled in {compile_seconds:.1f} s")

    def add_failure(self, case, message, **more):
        line = {"peer": self.name, "version": self.version, "device": self.hardware, "batch": self.options.batch}
        line |= dataclasses.asdict(case) | more
        self.failures.add(self.make_key(line))
        self.write(line | {"error": " ".join(str(message).split())[:400]})
        self.print_status(f"{case}: {message}")

    @contextlib.contextmanager
    def report_failures(self, case):
        """Turns any exception into the line of a failed case. If the device accepts no more work of this process, ends
        the process, so that another process runs the other cases."""
        try:
            yield
        except TooLong:
            self.leave_out([case])
        except Exception as error:
            traceback.print_exc()
            self.add_failure(case, f"{type(error).__name__}: {error}")
            try:
                self.use_device()
            except Exception as another:
                self.print_status(f"the device accepts no more work: {type(another).__name__}: {another}")
                self.leave()

    def leave_out(self, cases):
        """Records cases whose time limit has passed, and ends this process, which may still work on them."""
        limit = self.options.case_limit
        for case in cases:
            self.add_failure(case, f"not ready to be timed after {limit:g} s", case_limit=limit)
        self.leave()

    @contextlib.contextmanager
    def limit_time(self):
        """Raises TooLong in the body once the case's limit has passed and Python code runs again."""
        def stop(*_):
            raise TooLong
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, self.options.case_limit)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def leave(self):
        """Ends this process at once; run.sh starts another one for the other cases."""
        sys.stderr.flush()
        os._exit(1 if self.has_failed else self.START_AGAIN)

    def write(self, line):
        with self.out.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def find_fastest_form(self, case, forms, variant):
        """Returns the form of attention that was fastest in a variant at the same sizes; the first one if none ran."""
        others = {form: dataclasses.replace(case, variant=variant, form=form) for form in forms}
        lines = {form: self.known.get(self.make_key(dataclasses.asdict(other))) for form, other in others.items()}
        rates = {form: line["steps_per_second"] for form, line in lines.items() if line}
        return max(rates, key=rates.get) if rates else forms[0]

    def print_status(self, text):
        print(f"{self.name}: {time.monotonic() - self.start:6.1f} s  {text}", file=sys.stderr, flush=True)

    def end(self):
        """Returns the exit status: 1 if logits or a loss were wrong. A variant that cannot run is only reported."""
        if self.left_out:
            self.print_status(f"no time for {len(self.left_out)} cases: {' '.join(self.left_out)}")
        return 1 if self.has_failed else 0
