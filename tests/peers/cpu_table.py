"""Makes tables in Markdown from the measurements of cpu.py."""

import statistics

PASSES = {"train": "training", "eval": "evaluation"}
PEERS = {"eager": "PyTorch eager", "compile": "torch.compile", "jax": "JAX"}
LIBRARIES = {"openblas": "OpenBLAS", "libxsmm": "libxsmm"}


def make_table(head, rows):
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return "\n".join([line(head), line(["---"] * len(head))] + [line(row) for row in rows])


def format_spread(values, form="{:.2f}"):
    """Formats the median, and the range if there is more than one value."""
    if not values:
        return "-"
    median, least, largest = (form.format(value) for value in (statistics.median(values), min(values), max(values)))
    return median if len(values) == 1 else f"{median} ({least} to {largest})"


def format_setting(line):
    setting = line["setting"]
    return f"{setting['threads']}{' ' + setting['policy'] if setting['threads'] > 1 and 'policy' in setting else ''}"


def compute_ratios(case, name):
    """Returns the rate of Longhand divided by that of a peer, for each round."""
    ours, theirs = case["contenders"]["ours"], case["contenders"].get(name, {})
    return [a / b for a, b in zip(ours.get("rates", []), theirs.get("rates", []))]


def make_ratio_cell(case, name):
    line = case["contenders"].get(name)
    if line is None:
        return "-"
    if "error" in line:
        return "failed"
    setting = format_setting(line) if name != "jax" else str(line["setting"]["threads"])
    return f"{format_spread(compute_ratios(case, name), '{:.1f}')}; {setting}"


def make_best_cell(case):
    """The ratio to the fastest peer of each round."""
    columns = [ratios for ratios in (compute_ratios(case, name) for name in PEERS) if ratios]
    return format_spread([min(row) for row in zip(*columns)], "{:.1f}")


def make_compile_cell(case):
    seconds = [case["contenders"].get(name, {}).get("compile_seconds") for name in ("compile", "jax")]
    return ", ".join("-" if s is None else f"{s:.0f}" for s in seconds)


def make_share_cell(ours):
    known = [share for share in ours["shares"] if share is not None]  # None: the machine's peak is not known
    return f"{statistics.median(known):.1%}" if known else "-"


def make_case_row(case):
    ours = case["contenders"]["ours"]
    first = [case["level"], case["model"], PASSES[case["mode"]], str(case["tokens"]), str(case["batch"])]
    if not ours.get("rates"):
        return first + ["failed"] + ["-"] * 6
    return first + [f"{statistics.median(ours['rates']):.3g}; {ours['setting']['threads']}",
                    make_share_cell(ours), *(make_ratio_cell(case, name) for name in PEERS), make_best_cell(case),
                    make_compile_cell(case)]


def make_case_table(cases):
    head = ["level", "model", "pass", "T", "batch", "Longhand, steps/s", "share of peak"]
    head += [f": {name}" for name in PEERS.values()] + [": best of them", "compiled in, s: PyTorch, JAX"]
    return make_table(head, [make_case_row(case) for case in cases])


def make_product_row(row):
    share = lambda name: "-" if row[name] is None else f"{row[name]:.0f} ({row[name] / row['peak']:.0%})"
    others = [row[name] for name in LIBRARIES if row[name] is not None]
    return [row["level"], row["product"], f"{row['rows']} x {row['K']} x {row['N']}", share("ours"),
            *map(share, LIBRARIES), f"{row['ours'] / max(others):.2f}" if others else "-"]


def make_product_table(rows):
    head = ["level", "product", "rows x K x N", "Longhand, GFLOP/s (share of peak)", *LIBRARIES.values(),
            ": best of them"]
    return make_table(head, [make_product_row(row) for row in rows])


def make_report(results):
    machine = results.get("machine", {})
    text = [f"{results['date']}, {machine.get('processors', '?')} processors of {machine.get('processor', '?')}; "
            f"{', '.join(results['versions']) or 'no peer'}; `make bench-peers FLAGS=\"{results['command']}\"`."]
    if results["note"]:
        text[0] += f" {results['note']}"
    if results["cases"]:
        clock = " of processor time, with one thread each" if results.get("processor_time") else ""
        text += [f"Steps per second{clock} of Longhand, and its rate divided by that of each peer: median and range "
                 "over rounds. After the semicolon: the number of threads; OpenMP's wait policy if there are several.",
                 make_case_table(results["cases"])]
    if results["products"]:
        text.append(make_product_table(results["products"]))
    errors = [f"- {case['model']} {PASSES[case['mode']]} T={case['tokens']} {case['level']}, {name}: {line['error']}"
              for case in results["cases"] for name, line in case["contenders"].items() if "error" in line]
    if errors:
        text.append("\n".join(errors))
    text += ["\n".join(f"- skipped: {line}" for line in results["skipped"])] if results["skipped"] else []
    return "\n\n".join(text)
