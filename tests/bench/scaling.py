"""Measures steps per second against length, batch, width, layers, threads and replicas, and compares with `plan`.

    python3 tests/bench/scaling.py [--seconds S] [--rounds R] [--axes length,width] [--out DIR]

The base encoder on parity_check; from T = 41, batch 32, width 64, 5 layers and one thread, one value at a time is
changed, along an axis. Every trainer is built for its one length, and runs once in each round, in turn with the others
of its axis; the table and the picture have medians. Rates are steps per second of processor time, but by the clock for
threads and replicas. The prediction scales the rate at the unchanged value, which the table marks by *, by the
operations of a step that `plan` prints, or by the number of threads or replicas: where a curve differs from it, the
time depends on more than operations. Writes scaling.txt, scaling.json and scaling.svg (gnuplot) below --out; earlier
results of other axes are kept if machine, compiler and level are the same. Not a test.
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
BASE = {"length": 41, "batch": 32, "width": 64, "layers": 5, "threads": 1, "replicas": 1}
CORES = len(os.sched_getaffinity(0))
COUNTS = sorted({1, 2, 4, 8, 16, CORES} & set(range(1, CORES + 1)))
AXES = {
    "length": [8, 16, 21, 32, 41, 80, 160, 320, 640, 1000, 1500],
    "batch": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    "width": [32, 64, 128, 256, 512, 1024],
    "layers": [1, 2, 3, 4, 5, 6, 8, 12],
    "threads": COUNTS,
    "replicas": COUNTS,
}
MODES = {"train": "training", "eval": "forward"}


def run_longhand(*words):
    process = subprocess.run([ROOT / "longhand", *words], capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(f"scaling.py: ./longhand {' '.join(words)}\n{process.stderr}")
    return process.stdout


def list_settings(point):
    task_length = point["length"] - 1  # parity has one output token, the last one
    values = {"train.lengths": f"{{{task_length},{task_length}}}", "train.batch": point["batch"],
              "model.width": point["width"], "model.feedforward": 4 * point["width"], "model.layers": point["layers"]}
    return [word for field, value in values.items() for word in ("--set", f"{field}={value}")]


def build(point):
    """Returns the trainer of a point, and the operations of its step by `plan`."""
    words = ["parity_check_sinusoid", *list_settings(point)]
    printed, plan = run_longhand("build", *words, "--levels", "best"), run_longhand("plan", *words, "--json")
    return re.search(r"^(\S+/trainer)", printed, re.M).group(1), json.loads(plan)["flops_per_step"]


def measure_rates(trainer, point, axis, seconds):
    """Returns steps per second by mode."""
    words = ["bench", "--lengths", str(point["length"] - 1), "--seconds", str(seconds), "--windows", "3", "--json"]
    words += ["--threads", str(point["replicas"] if axis == "replicas" else point["threads"])]
    words += ["--replicas", str(point["replicas"])] if axis == "replicas" else []
    lines = subprocess.run([ROOT / trainer, *words], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in map(json.loads, lines):
        if line.get("mode") in MODES:
            by_clock = axis in ("threads", "replicas")
            found[line["mode"]] = line["steps_per_second"] if by_clock else 1 / line["processor_seconds_per_step"]
    return found


def measure(axis, rounds, seconds):
    points = [{**BASE, axis: value} for value in AXES[axis]]
    built = [build(point) for point in points]
    rates = [{mode: [] for mode in MODES} for _ in points]
    for round_index in range(rounds):
        for index, (point, (trainer, _)) in enumerate(zip(points, built)):
            print(f"\r{axis}: round {round_index + 1} of {rounds}, {index + 1} of {len(points)} ", end="", file=sys.stderr)
            for mode, rate in measure_rates(trainer, point, axis, seconds).items():
                rates[index][mode].append(rate)
    print(file=sys.stderr)
    rows = [{"value": point[axis], "operations": operations,
             **{mode: statistics.median(rates[index][mode]) for mode in MODES}}
            for index, (point, (_, operations)) in enumerate(zip(points, built))]
    anchor = next(row for row in rows if row["value"] == BASE[axis])
    for row in rows:
        factor = row["value"] if axis in ("threads", "replicas") else anchor["operations"] / row["operations"]
        row["predicted"] = {mode: anchor[mode] * factor for mode in MODES}
    return rows


def describe_machine():
    model = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    printed = subprocess.run(["make", "-s", "--no-print-directory", "print-compiler", "print-levels", "LEVELS=best"],
                             cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return {"processor": model.group(1) if model else "unknown", "processors": CORES, "compiler": printed[0],
            "level": printed[1]}


def load_results(path, machine):
    """Returns earlier measurements of this machine, by axis."""
    try:
        found = json.loads(path.read_text())
        return found["axes"] if found["machine"] == machine else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def format_table(results):
    for axis, rows in results.items():
        yield f"{axis:>10}" + "".join(f"  {name:>10} {'predicted':>10} {'ratio':>6}" for name in MODES.values())
        for row in rows:
            cells = [f"{row[mode]:10.4g} {row['predicted'][mode]:10.4g} {row[mode] / row['predicted'][mode]:6.2f}"
                     for mode in MODES]
            yield f"{row['value']:>9}{'*' if row['value'] == BASE[axis] else ' '}  {'  '.join(cells)}"
        yield ""


def choose_labels(values):
    """Returns the values, from the last one down, that are labelled without overlaps on a logarithmic axis."""
    chosen, ratio = [], (values[-1] / values[0]) ** 0.12
    for value in reversed(values):
        if not chosen or chosen[-1] >= value * ratio:
            chosen.append(value)
    return chosen


def draw(results, out):
    lines = ["set terminal svg size 900,560 font 'sans,11' background '#ffffff'", f"set output '{out}/scaling.svg'",
             f"set multiplot layout {(len(results) + 2) // 3},3", "set logscale xy", "set grid lc rgb '#dddddd'",
             "set key bottom left reverse Left samplen 2", "set format y '%g'", "set ylabel 'steps per second'"]
    for axis, rows in results.items():
        values = [row["value"] for row in rows]
        ticks = ", ".join(str(value) for value in choose_labels(values))
        lines += [f"set xlabel '{axis}'", f"set xtics ({ticks})", f"set xrange [{values[0] / 1.15}:{values[-1] * 1.15}]",
                  f"$data_{axis} << EOD"]
        for row in rows:
            numbers = row["value"], *(row[mode] for mode in MODES), *(row["predicted"][mode] for mode in MODES)
            lines.append(" ".join(f"{number:.6g}" for number in numbers))
        lines += ["EOD", f"plot $data_{axis} using 1:2 with linespoints pt 7 ps 0.5 lc rgb '#1f5fa8' title 'training', "
                  f"'' using 1:4 with lines dt 2 lc rgb '#1f5fa8' title 'predicted', "
                  f"'' using 1:3 with linespoints pt 7 ps 0.5 lc rgb '#b5541c' title 'forward only', "
                  f"'' using 1:5 with lines dt 2 lc rgb '#b5541c' title 'predicted'", "unset key", "unset ylabel"]
    try:
        subprocess.run(["gnuplot"], input="\n".join(lines) + "\n", text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        print(f"scaling.py: no picture: {failure}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1, help="per mode, value and round (1)")
    parser.add_argument("--rounds", type=int, default=3, help="(3)")
    parser.add_argument("--axes", default=",".join(AXES), help=f"of {','.join(AXES)}")
    parser.add_argument("--out", default=str(ROOT / "build" / "bench" / "scaling"), help="folder of results")
    given = parser.parse_args()
    axes = given.axes.split(",")
    for axis in axes:
        if axis not in AXES:
            parser.error(f"--axes: no axis '{axis}', expected {', '.join(AXES)}")
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    machine = describe_machine()
    results = load_results(out / "scaling.json", machine)
    for axis in axes:
        results[axis] = measure(axis, given.rounds, given.seconds)
    results = {axis: results[axis] for axis in AXES if axis in results}
    text = "\n".join(format_table(results))
    print(text)
    (out / "scaling.txt").write_text(text)
    saved = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "axes": results}
    (out / "scaling.json").write_text(json.dumps(saved, indent=1))
    draw(results, out)


if __name__ == "__main__":
    main()
