"""Measures the share of the multiply-add peak that steps reach, by model, pass and length, at each level.

    python3 tests/bench/shares.py [--rounds R] [--seconds S] [--levels x86-64-v4,x86-64-v3] [--threads N] [--only WORD]

A case is a trainer, a pass and a length. In each round every case runs once at every level, in turn; a run also
measures the level's peak, in turn with the steps. The table has medians of the rounds: steps per second; the share of
the peak, by executed operations; the nominal share of the peak, by dense operations of the model; and the share of a
limit that allows for the exponentials of softmax, too. The table is written to build/bench/shares.md, all rates to
shares.json. Not a test.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECODER = ["--set", "model.use=ruoss_decoder"]
SWIGLU = [*DECODER, "--set", "model.norm={kind=\"rms\",place=\"pre\"}", "--set", "model.activation=swiglu"]
WIDE = {width: ["--set", f"model.width={width}", "--set", f"model.feedforward={4 * width}"] for width in (256, 512, 1024)}
# Model, arguments of `build`, pass, task length (None: that of the data set).
CASES = [
    *(("base encoder", ["parity_check_sinusoid"], "train", length) for length in (20, 40)),
    ("base encoder", ["reverse_string_sinusoid"], "train", 40),
    *(("base encoder", ["parity_check_sinusoid"], "eval", length)
      for length in (20, 40, 200, 500)),
    *(("decoder", ["parity_check_sinusoid", *DECODER], mode, length)
      for mode, length in (("train", 40), ("eval", 40), ("eval", 500))),
    *(("decoder, pre-norm, SwiGLU", ["parity_check_sinusoid", *SWIGLU], mode, length)
      for mode, length in (("train", 40), ("eval", 500))),
    *(("Latin Square encoder", ["lst_learned"], mode, None) for mode in ("train", "eval")),
    *(("encoder-decoder", ["abc_small_successor_a"], mode, None) for mode in ("train", "eval")),
    *((f"base encoder, width {width}", ["parity_check_sinusoid", *words], mode, 40)
      for width, words in WIDE.items() for mode in ("train", "eval")),
]
PASSES = {"train": "training", "eval": "evaluation"}


def build(words, levels):
    process = subprocess.run([ROOT / "longhand", "build", *words, "--levels", ",".join(levels)], capture_output=True,
                             text=True, check=False)
    if process.returncode:
        sys.exit(f"shares.py: ./longhand build {' '.join(words)}\n{process.stderr}")
    return ROOT / re.search(r"^(\S+/trainer)", process.stdout, re.M).group(1)


def run(trainer, level, mode, length, given):
    words = ["bench", "--mode", mode, "--seconds", str(given.seconds), "--windows", "3", "--threads",
             str(given.threads), "--json", *(["--lengths", str(length)] if length else [])]
    process = subprocess.run([trainer, *words], capture_output=True, text=True, check=False,
                             env={**os.environ, "LONGHAND_ISA": level})
    if process.returncode:
        sys.exit(f"shares.py: {trainer} {' '.join(words)}\n{process.stderr}")
    return json.loads(process.stdout.splitlines()[-1])


def format_table(rows):
    yield "| level | model | pass | T | steps/s | share | nominal | of the limit |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for (level, model, mode, _, _), results in rows.items():
        def median(field):
            return statistics.median(line[field] for line in results)
        shares = " | ".join(f"{100 * median(field):.1f}%" for field in
                            ("share_of_peak", "share_of_peak_nominal", "share_of_limit"))
        yield (f"| {level} | {model} | {PASSES[mode]} | {results[0]['tokens']} | {median('steps_per_second'):.3g} | "
               f"{shares} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="(5)")
    parser.add_argument("--seconds", type=float, default=0.6, help="of a case in a round (0.6)")
    parser.add_argument("--levels", default="x86-64-v4,x86-64-v3", help="(x86-64-v4,x86-64-v3)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="(all processors)")
    parser.add_argument("--only", default="", help="cases whose model has this in its name")
    given = parser.parse_args()
    levels = given.levels.split(",")
    cases = [case for case in CASES if given.only in case[0]]
    if not cases:
        parser.error(f"--only: no model has '{given.only}' in its name, expected one of "
                     + ", ".join(sorted({case[0] for case in CASES})))
    built = {tuple(words): build(words, levels) for _, words, _, _ in cases}
    rows = {(level, model, mode, length, tuple(words)): []
            for level in levels for model, words, mode, length in cases}
    for round_index in range(given.rounds):
        for index, ((level, _, mode, length, words), results) in enumerate(rows.items()):
            print(f"\rround {round_index + 1} of {given.rounds}, {index + 1} of {len(rows)} ", end="", file=sys.stderr)
            results.append(run(built[words], level, mode, length, given))
    print(file=sys.stderr)
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join(format_table(rows)) + "\n"
    print(f"{given.threads} threads, medians of {given.rounds} rounds, {time.strftime('%Y-%m-%d')}\n\n{text}", end="")
    (out / "shares.md").write_text(text)
    runs = [{"case": key[:4], "runs": results} for key, results in rows.items()]
    (out / "shares.json").write_text(json.dumps(runs, indent=1))


if __name__ == "__main__":
    main()
