"""Merges the results of tests/device/run.sh into one JSON file, and makes tables from it. Needs no other package.

    python table.py merge FOLDER > results.json         FOLDER holds machine.json and PART.jsonl
    python table.py join A.json B.json > results.json   the parts of B, and those of A that B lacks; checks and peers of
    both
    python table.py report results.json                 Markdown, for docs/performance.md
    python table.py short results.json                  the summary that a terminal shows at the end

docs/performance.md describes nominal FLOPs and counts.
"""

import json
import pathlib
import sys
import textwrap

# The measured model, ruoss_encoder with the training ruoss; BLOCK_WEIGHTS: weights of all its layers.
LAYERS, WIDTH, BATCH, BLOCK_WEIGHTS = 5, 64, 128, 245760
PARTS = ("checks", "rates", "peaks", "peers", "profile", "resources", "clocks")

# Goals for one H200: minimum, target, stretch.
#     one, many               by tokens, in tf32: steps per second of a model that trains alone, and of all models
#                             together
#     best one, best many     ratio to the best peer in the same precision
#     step                    ratio to JAX with one call per step
GOALS = {
    "one": {21: (3000, 5000, 8000), 41: (2000, 3500, 5000), 80: (1200, 2000, 3000)},
    "many": {21: (12000, 22000, 37000), 41: (6000, 11000, 18000), 80: (2800, 5000, 8500)},
    "best one": (1.5, 2.5, 4.0),
    "best many": (1.3, 2.0, 4.0),
    "step": (2.5, 4.0, 6.0),
}
# Estimated least time in microseconds for one step of one model in one persistent kernel on an H200: the time of
# dependent stages inside a multiprocessor, of reading weights from the L2 cache, and of summing the gradient.
LATENCY_FLOOR = {21: 110, 41: 170, 80: 300}


def count_nominal_flops(encoding, tokens):
    """Returns the floating-point operations of a training step of one model."""
    pairs = 18 if encoding.endswith("relative") else 12
    return 6 * BLOCK_WEIGHTS * tokens * BATCH + pairs * tokens**2 * WIDTH * BATCH * LAYERS


def read_lines(path):
    """Reads JSON lines; leaves out incomplete lines, such as the last line of an interrupted run."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path}: left out: {line[:80]}", file=sys.stderr)
    return found


def merge(folder):
    folder = pathlib.Path(folder)
    machine = read_lines(folder / "machine.json")
    results = {"machine": machine[0] if machine else {}}
    return results | {part: read_lines(folder / f"{part}.jsonl") for part in PARTS}


def join(first, second):
    for key in ("device", "driver"):
        if first["machine"].get(key) != second["machine"].get(key):
            raise SystemExit(f"table.py: {key} {first['machine'].get(key)} and {second['machine'].get(key)}: "
                             "results of two machines are not joined")
    joined = {part: second[part] or first[part] for part in PARTS}
    for part in ("checks", "peers"):
        joined[part] = first[part] + [line for line in second[part] if line not in first[part]]
    return {"machine": first["machine"]} | joined


def find_fastest(lines):
    return max(lines, key=lambda line: line["model_steps_per_second"], default=None)


class Results:
    def __init__(self, results):
        self.all = results
        self.machine = results["machine"]
        self.peaks = {line["peak"]: line.get("flops_per_second", line.get("bytes_per_second"))
                      for line in results["peaks"]}
        self.peers = [line for line in results["peers"] if "model_steps_per_second" in line]
        self.registers = {line["name"]: f"{line['registers']}{', spills' if line['spill_stores'] else ''}"
                          for line in results["resources"] if line["kernel"] == "train"}

    def list_failed_checks(self):
        return [check for check in self.all["checks"] if check["ok"] is False]

    def list_rates(self, mode):
        """Returns the lines of Longhand's trainers by precision, number of models, encoding and tokens."""
        order = {"tf32": 0, "bf16": 1, "float32": 2}
        found = [line for line in self.all["rates"] if line.get("mode") == mode]
        rank = lambda r: (order.get(r["precision"], 3), r["replicas"] > 1, r["encoding"], r["tokens"])
        return sorted(found, key=rank)

    def find_peer(self, rate, name=None, variant=None):
        """Returns the fastest line of the peers at the same sizes and precision, or None."""
        return find_fastest([line for line in self.peers if
                             all(line[k] == rate[k] for k in ("encoding", "tokens", "precision", "replicas")) and
                             name in (None, line["peer"]) and variant in (None, line["variant"])])

    def compute_share(self, rate):
        """Returns nominal FLOPs per second relative to the measured matrix product in the same precision, or None."""
        peak = self.peaks.get(rate["precision"])
        return count_nominal_flops(rate["encoding"], rate["tokens"]) * rate["steps_per_second"] / peak if peak else None

    def list_errors(self):
        """Returns the last error of each case of a peer that has no rate."""
        case = lambda line: tuple(line.get(k) for k in ("peer", "version", "device", "variant", "form", "precision",
                                                        "encoding", "tokens", "replicas"))
        known = set(map(case, self.peers))
        return {case(line): line for line in self.all["peers"] if "error" in line and case(line) not in known}.values()

    @staticmethod
    def find_goal(rate, of=None):
        """Returns the goal of a rate, or of its ratio to the peers ("best" or "step"); None without one."""
        group = "one" if rate["replicas"] == 1 else "many"
        if of == "best":
            return GOALS[f"best {group}"]
        if of == "step":
            return GOALS["step"] if group == "one" else None
        return GOALS[group].get(rate["tokens"]) if rate["precision"] == "tf32" else None


def name_range(value, goal):
    """Returns what a value reaches: "minimum", "target", "stretch" or "below the minimum"; "" without a goal."""
    if value is None or goal is None:
        return ""
    names = ("below the minimum", "minimum", "target", "stretch")
    return names[sum(value >= bound for bound in goal)]


def format_number(value, form="{:,.0f}", nothing="-"):
    return nothing if value is None else form.format(value)


def divide_rates(rate, line):
    """Returns the rate of Longhand relative to that of a peer's line; None without a line."""
    return rate["steps_per_second"] / line["model_steps_per_second"] if line else None


def format_table(head, rows):
    rows = [list(map(str, row)) for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] +
                     ["| " + " | ".join(row) + " |" for row in rows])


def make_rate_row(results, rate):
    def format_rate(line):
        return f"{format_number(line['model_steps_per_second'])} ({line['variant']})" if line else "-"

    def format_ratio(line, of):
        value = divide_rates(rate, line)
        return f"{format_number(value, '{:.2f}')} {name_range(value, results.find_goal(rate, of))}".strip()

    step = results.find_peer(rate, "jax", "step") if rate["replicas"] == 1 else None
    floor = LATENCY_FLOOR.get(rate["tokens"]) if rate["replicas"] == 1 else None
    return [rate["precision"], rate["encoding"], rate["tokens"], rate["replicas"],
            format_number(rate["steps_per_second"]), name_range(rate["steps_per_second"], results.find_goal(rate)),
            format_number(results.compute_share(rate), "{:.1%}"),
            format_number(floor and floor * 1e-6 * rate["steps_per_second"], "{:.0%}"),
            format_rate(results.find_peer(rate, "jax")), format_rate(results.find_peer(rate, "pytorch")),
            format_ratio(results.find_peer(rate), "best"), format_ratio(step, "step")]


RATE_HEAD = ["precision", "encoding", "T", "models", "steps/s", "goal", "share of peak", "share of latency floor",
             "JAX", "PyTorch", "Longhand / best", "Longhand / JAX by step", "registers"]


def format_checks(results):
    words = {True: "ok", False: "FAILED"}
    rows = [[c["check"], words.get(c["ok"], "skipped"), c["detail"].replace("|", "/")] for c in results.all["checks"]]
    return format_table(["check", "", "found"], rows)


def format_peers(results):
    rows = sorted(results.peers, key=lambda p: (p["precision"], p["replicas"], p["encoding"], p["tokens"], p["peer"],
                                                p["variant"], p["form"]))
    return format_table(["peer", "variant", "form", "precision", "encoding", "T", "models", "steps/s of all models",
                         "compile, s", "measured"],
                        [[f"{p['peer']} {p['version']}", p["variant"], p["form"], p["precision"], p["encoding"],
                          p["tokens"], p["replicas"], format_number(p["model_steps_per_second"]),
                          format_number(p["compile_seconds"], "{:.1f}"), p["measured"]] for p in rows])


def describe_peaks(results):
    title = {"small": "a product of 10240 x 64 x 256 in tf32"}
    words = [f"{title.get(name, name)} {value / 1e12:.1f} {'TB/s' if name == 'copy' else 'TFLOP/s'}"
             for name, value in results.peaks.items()]
    return "Peaks, measured by PyTorch: " + (", ".join(words) if words else "none") + "."


def describe_machine(results):
    m = results.machine
    up_to = ", ".join(m[k] for k in ("sm_clock", "power_limit") if m.get(k))
    return f"{m.get('device') or 'unknown device'}{f' (up to {up_to})' if up_to else ''}, " \
           f"driver {m.get('driver') or '-'}, toolkit {m.get('toolkit') or '-'}; host: {m.get('host') or '-'}; " \
           f"{m.get('date') or '-'}, commit {m.get('commit') or '-'}."


def describe_clocks(results):
    return " ".join(f"While {c['part']} were measured: SM clock {c['sm_mhz']:,} MHz (median; {c['lowest']:,} to "
                    f"{c['highest']:,}), {c['watts']} W (mean)." for c in results.all["clocks"])


def wrap(*sentences):
    return textwrap.fill(" ".join(filter(None, sentences)), 120, break_on_hyphens=False)


def report(results):
    checks, failed = results.all["checks"], results.list_failed_checks()
    skipped = sum(c["ok"] is None for c in checks)
    blocks = [wrap("`sh tests/device/run.sh`:", describe_machine(results), describe_peaks(results),
                   describe_clocks(results))]
    if results.list_rates("train"):
        blocks += [wrap("Training: complete steps. `steps/s`: the sum over all models that train at the same time. "
                        "`share of peak`: nominal FLOPs relative to the measured matrix product in the same precision. "
                        "`JAX`, `PyTorch`: the fastest variant of each. `Longhand / best`: rate of Longhand relative "
                        "to the faster of the two; `Longhand / JAX by step`: relative to JAX with one call per step. "
                        "Words next to a number: the goal for one H200 that it reaches (minimum, target or stretch). "
                        "`registers`: registers of a thread of the training kernel."),
                   format_table(RATE_HEAD, [make_rate_row(results, rate) + [results.registers.get(rate["name"], "-")]
                                            for rate in results.list_rates("train")])]
    if results.list_rates("eval"):
        blocks += ["Forward only:", format_table(["precision", "encoding", "T", "models", "batches/s"],
                                                 [[r["precision"], r["encoding"], r["tokens"], r["replicas"],
                                                   format_number(r["steps_per_second"])]
                                                  for r in results.list_rates("eval")])]
    if results.peers:
        blocks += ["Every variant of the peers:", format_peers(results)]
    errors = [f"- {p['peer']} {p['variant']} {p['form']} {p['encoding']} T={p['tokens']} {p['precision']} "
              f"x{p['replicas']}: {p['error'][:200]}" for p in results.list_errors()]
    if errors:
        blocks += ["Errors of peers:", "\n".join(errors)]
    if results.all["profile"]:
        blocks += ["One launch of the training kernel under Nsight Compute:",
                   "\n".join(f"- {p['name']}: {p['value']}" for p in results.all["profile"])]
    blocks += [f"{len(checks)} checks, {len(failed)} failed, {skipped} skipped.", format_checks(results)]
    return "\n\n".join(blocks) + "\n"


def short(results):
    """Returns the summary for a terminal, in aligned columns."""
    lines = [describe_machine(results), describe_peaks(results)]
    form = "{:<10} {:<13} {:>3} {:>3} {:>8} {:<15} {:>6} {:>5}  {:<16} {:<22} {:<20} {}"
    if results.list_rates("train"):
        lines.append(form.format("", "encoding", "T", "x", "steps/s", "goal", "share", "floor", "JAX", "PyTorch",
                                 "Longhand / best", "Longhand / JAX by step"))
    lines += [form.format(*make_rate_row(results, rate)) for rate in results.list_rates("train")]
    checks = results.all["checks"]
    bad = [f"not ok {c['check']}: {c['detail']}" for c in results.list_failed_checks()]
    bad += [f"skip {c['check']}: {c['detail']}" for c in checks if c["ok"] is None]
    lines += [line[:160] for line in bad[:20]] + (["..."] if len(bad) > 20 else [])
    lines.append(f"{sum(c['ok'] is True for c in checks)} passed, {len(results.list_failed_checks())} failed, "
                 f"{sum(c['ok'] is None for c in checks)} skipped")
    return "\n".join(lines) + "\n"


def main(arguments):
    verb, *paths = arguments or [""]
    if {"merge": 1, "join": 2, "report": 1, "short": 1}.get(verb) != len(paths):
        raise SystemExit(__doc__)
    if verb == "merge":
        print(json.dumps(merge(paths[0]), indent=1))
        return
    results = [json.loads(pathlib.Path(path).read_text()) for path in paths]
    if verb == "join":
        print(json.dumps(join(*results), indent=1))
    else:
        print({"report": report, "short": short}[verb](Results(results[0])), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
