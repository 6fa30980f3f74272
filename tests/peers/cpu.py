"""Compares trainers with their peers on the processor, in one command: make bench-peers FLAGS="..."

Builds a trainer of the base encoder and one of a decoder of its size, which write a checkpoint and logits. Starts
PyTorch and JAX with both models, and times each case in rounds: in every round Longhand, PyTorch eager, torch.compile
and JAX run one after the other, while the processes of the others are stopped. Each contender first tries its settings
(threads, OpenMP's wait policy, forms of attention) for a moment and keeps the best. A ratio compares rates of the same
round; the table has the median and the range over rounds. A training step includes dropout, both passes, clipping and
Adam; Longhand's step also samples its batch, while the batches of peers are made beforehand. An evaluation is a forward
pass and the loss. products.py measures matrix products alone.

A contender that is not installed is skipped, and a message names it. The table is printed, and saved with all rates in
the folder --out: peers.md, peers.json. Variables of the environment: PYTORCH and JAX, interpreters (python3); OPENBLAS,
a library (default: that of SciPy's wheel or of NumPy); LIBXSMM, the folder with its include and lib. This script itself
needs no Python package.
"""

import argparse
import datetime
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import cpu_table
import products
from contenders import ISA, ROOT, Ours, Peer, Trainers, choose_batch, name_case, find_usable
from process import Failed, leave_at_signals

CASES = [(model, mode, tokens) for model, mode, lengths in (
    ("encoder", "train", (21, 41, 80)), ("encoder", "eval", (501, 21, 200, 41, 80)), ("decoder", "train", (41,)),
    ("decoder", "eval", (501, 41))) for tokens in lengths]
PEERS = ("eager", "compile", "jax", "products")
TRY_SECONDS = 0.3     # for which a setting is tried
WINDOW_SECONDS = 1.0  # for which a contender is timed in a round


def parse_arguments(arguments):
    p = argparse.ArgumentParser(prog="make bench-peers", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)

    def make_list_type(known):
        def convert(text):
            unknown = [name for name in text.split(",") if name not in known]
            if unknown:
                raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
            return text.split(",")
        return convert

    p.add_argument("--minutes", type=float, default=10, help="time for everything (%(default)g)")
    p.add_argument("--levels", default="best",
                   help=f"best, or a list of the machine's best instruction-set level and {', '.join(ISA)} "
                        "(%(default)s)")
    names = list(map(name_case, CASES))
    p.add_argument("--cases", type=make_list_type(names), default=names, help="a list of " + ",".join(names))
    p.add_argument("--peers", type=make_list_type(PEERS), default=list(PEERS), help="a list of " + ",".join(PEERS))
    p.add_argument("--rounds", type=int, default=5, help="largest number of rounds of a case (%(default)s)")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/peers", help="folder of results (build/peers)")
    p.add_argument("--processor-time", action="store_true",
                   help="one thread each, and steps per second of processor time: for a busy machine")
    p.add_argument("--note", default="", help="text for the results, for example what else ran at the same time")
    p.add_argument("--table", type=pathlib.Path, metavar="FILE",
                   help="print the tables of a peers.json, and measure nothing")
    return p.parse_args(arguments)


# --- one case ---------------------------------------------------------------------------------------------------------


def try_settings(case, contender, likely_best, best, deadline):
    """Finds the best setting of a contender, or the reason why there is none. likely_best: the best setting in the
    previous case, which is tried first, since time may suffice for only one. best: the best settings of earlier
    contenders in this case. deadline: a time of the monotonic clock."""
    tried, failures = [], []
    for setting in sorted(contender.settings, key=lambda setting: setting != likely_best):
        if (tried or failures) and time.monotonic() > deadline:
            break
        try:
            reply = contender.prepare(case, setting, best)
            tried.append(reply | {"setting": setting, "rate": contender.time(case, setting, TRY_SECONDS)["rate"]})
        except Failed as error:
            failures.append(str(error))
    if not tried:
        return {"error": failures[0]}
    fastest = max(tried, key=lambda reply: reply["rate"])
    compiled = [reply["compile_seconds"] for reply in tried if "compile_seconds" in reply]
    return {"setting": fastest["setting"], "tried": len(tried), "settings": len(contender.settings),
            "failures": failures, "compile_seconds": max(compiled, default=None),
            "logit_error": fastest.get("logit_error"), "rates": [], "shares": []}


def run_rounds(case, contenders, results, rounds, deadline):
    """Adds rates to the results of each contender, by name. There is always one round, also after the deadline."""
    for round_index in range(rounds):
        if round_index > 0 and time.monotonic() > deadline:
            return
        for name, contender in contenders.items():
            if "error" in results[name]:
                continue
            try:
                reply = contender.time(case, results[name]["setting"], WINDOW_SECONDS)
            except Failed as error:
                results[name] = {"error": str(error)}
                continue
            results[name]["rates"].append(reply["rate"])
            results[name]["shares"] += [reply["share"]] if "share" in reply else []


def run_case(case, contenders, best_settings, rounds, seconds):
    """Tries settings in three fifths of the time, then measures in rounds. best_settings: the best setting in the last
    case by mode and contender, which this case replaces. Returns the results of each contender by name."""
    start, results = time.monotonic(), {}
    for number, (name, contender) in enumerate(contenders.items(), 1):
        deadline = start + 0.6 * seconds * number / len(contenders)
        best = {other: result["setting"] for other, result in results.items() if "setting" in result}
        results[name] = try_settings(case, contender, best_settings.get((case[1], name)), best, deadline)
        best_settings[case[1], name] = results[name].get("setting")
    run_rounds(case, contenders, results, rounds, start + seconds)
    for contender in contenders.values():
        contender.forget()
    return results


# --- one call ---------------------------------------------------------------------------------------------------------


def describe_machine(levels):
    text = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return {"processor": names[0] if names else "unknown", "processors": len(os.sched_getaffinity(0)), "levels": levels}


def list_levels(text):
    process = subprocess.run(["make", "-s", "print-levels", f"LEVELS={text}"], cwd=ROOT, capture_output=True, text=True,
                          check=False, env={k: v for k, v in os.environ.items() if k != "LONGHAND_ISA"})
    if process.returncode != 0:
        sys.exit(f"bench-peers: --levels {text}: {process.stderr.strip()}")
    return process.stdout.split()[::-1]  # the widest first


def choose_levels(text):
    """Returns the requested levels; stops if peers cannot be restricted to one of them and would run wider code."""
    levels, known = list_levels(text), list(dict.fromkeys([*list_levels("best"), *ISA]))
    unknown = [level for level in levels if level not in known]
    if unknown:
        print(f"bench-peers: --levels {text}: peers cannot be restricted to {', '.join(unknown)}: expected some of "
              f"{', '.join(known)}", file=sys.stderr)
        sys.exit(2)
    return levels


class Session:
    """The flags of a call, its remaining time, and its results so far."""

    def __init__(self, options):
        self.options, self.out = options, options.out.resolve()
        self.start = time.monotonic()
        self.end = self.start + 60 * options.minutes
        self.python = {name: os.environ.get(name, "python3") for name in ("PYTORCH", "JAX")}
        self.results = {"date": datetime.date.today().isoformat(), "command": shlex.join(sys.argv[1:]),
                        "processor_time": options.processor_time, "note": options.note, "versions": [], "skipped": [],
                        "products": [], "cases": []}
        self.out.mkdir(parents=True, exist_ok=True)
        for old in (self.out / "reference", *self.out.glob("inductor-*")):
            shutil.rmtree(old, ignore_errors=True)

    def get_seconds_left(self):
        return self.end - time.monotonic()

    def print_status(self, text):
        elapsed, remaining = (f"{int(max(seconds, 0)) // 60}:{int(max(seconds, 0)) % 60:02}" for seconds in
                              (time.monotonic() - self.start, self.get_seconds_left()))
        print(f"[{elapsed}, {remaining} left] {text}", file=sys.stderr, flush=True)

    def skip(self, lines):
        for line in lines:
            if line not in self.results["skipped"]:
                self.results["skipped"].append(line)
                self.print_status(f"skip {line}")

    def save(self):
        (self.out / "peers.json").write_text(json.dumps(self.results, indent=1) + "\n")
        (self.out / "peers.md").write_text(cpu_table.make_report(self.results) + "\n")

    def build(self, cases, levels):
        trainers = Trainers(self.out, ",".join(levels))
        for model in dict.fromkeys(case[0] for case in cases):
            self.print_status(f"building trainers of the {model}")
            lengths = list(dict.fromkeys(case[2] for case in cases if case[0] == model))
            for tokens in {choose_batch(tokens): tokens for tokens in lengths}.values():
                trainers.build(model, tokens)
            trainers.write_reference(model, lengths)
        return trainers

    def measure_products(self, sources, levels):
        for level in levels:
            self.print_status(f"products, {level}")
            found = products.measure(ROOT, sources, level, ISA.get(level, {}), self.python.values())
            self.results["products"] += found["rows"]
            self.skip(found["skipped"])
            self.save()

    def measure_level(self, level, cases, later_cases, usable, trainers):
        """later_cases: the number of cases at the levels after this one."""
        by_processor = self.options.processor_time
        threads = [1] if by_processor else sorted({1, len(os.sched_getaffinity(0))})
        patience = max(90, 1.5 * self.get_seconds_left() / (len(cases) + later_cases))
        best_settings = {}
        contenders = {"ours": Ours(trainers, level, threads, by_processor)}
        for name in usable:
            python = self.python["JAX" if name == "jax" else "PYTORCH"]
            contenders[name] = Peer(name, python, trainers, level, threads, by_processor, patience)
        try:
            for index, case in enumerate(cases):
                if self.get_seconds_left() <= 0:
                    return self.print_status(f"no time for {' '.join(map(name_case, cases[index:]))} at {level}")
                results = run_case(case, contenders, best_settings, self.options.rounds,
                                   self.get_seconds_left() / (len(cases) - index + later_cases))
                self.add_results(case, level, results, set().union(*(c.get_versions() for c in contenders.values())))
        finally:
            for contender in contenders.values():
                contender.end()

    def add_results(self, case, level, results, versions):
        """results: those of each contender, by name."""
        self.results["cases"].append({"model": case[0], "mode": case[1], "tokens": case[2],
                                      "batch": choose_batch(case[2]), "level": level, "contenders": results})
        self.results["versions"] = sorted(versions.union(self.results["versions"]))
        rates = [f"{name} {statistics.median(result['rates']):.3g}" for name, result in results.items()
                 if result.get("rates")]
        self.print_status(f"{name_case(case)} {level}, steps/s: {', '.join(rates)}")
        for name, result in results.items():
            if "error" in result:
                self.print_status(f"{name_case(case)} {level}: {name} failed: {result['error']}")
        self.save()

    def measure(self):
        levels = choose_levels(self.options.levels)
        usable, skipped = find_usable(self.options.peers, self.python)
        self.skip(skipped)
        if not usable and "products" not in self.options.peers:
            self.print_status("nothing to compare with")
            sys.exit(4)
        self.results["machine"] = describe_machine(levels)
        cases = [case for case in CASES if name_case(case) in self.options.cases]
        trainers = self.build(cases, levels)
        if "products" in self.options.peers:
            self.measure_products(trainers.get_trainer(cases[0][0], cases[0][2]).parent / "src", levels)
        for index, level in enumerate(levels if usable else []):
            self.measure_level(level, cases, len(cases) * (len(levels) - index - 1), usable, trainers)
        self.save()
        print(cpu_table.make_report(self.results))


def main():
    options = parse_arguments(sys.argv[1:])
    if options.table:
        print(cpu_table.make_report(json.loads(options.table.read_text())))
        return
    leave_at_signals()
    Session(options).measure()


if __name__ == "__main__":
    main()
