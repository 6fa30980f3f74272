"""Tables of what cpu.py measured, in Markdown."""

import statistics

PASSES = {"train": "training", "eval": "evaluation"}
PEERS = {"eager": "PyTorch eager", "compile": "torch.compile", "jax": "JAX"}
LIBRARIES = {"openblas": "OpenBLAS", "libxsmm": "libxsmm"}


def table(head, rows):
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return "\n".join([line(head), line(["---"] * len(head))] + [line(row) for row in rows])


def spread(values, form="{:.2f}"):
    """Median and range; the range only where there is one."""
    if not values:
        return "-"
    shown = [form.format(value) for value in (statistics.median(values), min(values), max(values))]
    return shown[0] if len(values) == 1 else f"{shown[0]} ({shown[1]} to {shown[2]})"


def setting_text(line):
    setting = line["setting"]
    return f"{setting['threads']}{' ' + setting['policy'] if setting['threads'] > 1 and 'policy' in setting else ''}"


def ratios(case, name):
    """Ours over a peer, round by round."""
    ours, theirs = case["contenders"]["ours"], case["contenders"].get(name, {})
    return [a / b for a, b in zip(ours.get("rates", []), theirs.get("rates", []))]


def ratio_cell(case, name):
    line = case["contenders"].get(name)
    if line is None:
        return "-"
    if "error" in line:
        return "failed"
    policy = setting_text(line) if name != "jax" else str(line["setting"]["threads"])
    return f"{spread(ratios(case, name), '{:.1f}')}; {policy}"


def best_cell(case):
    """Over the peer that was fastest in a round."""
    columns = [found for found in (ratios(case, name) for name in PEERS) if found]
    return spread([min(row) for row in zip(*columns)], "{:.1f}")


def compile_cell(case):
    seconds = [case["contenders"].get(name, {}).get("compile_seconds") for name in ("compile", "jax")]
    return ", ".join("-" if s is None else f"{s:.0f}" for s in seconds)


def share_cell(ours):
    known = [share for share in ours["shares"] if share is not None]  # None: the machine's peak is not known
    return f"{statistics.median(known):.1%}" if known else "-"


def case_row(case):
    ours = case["contenders"]["ours"]
    first = [case["level"], case["model"], PASSES[case["mode"]], str(case["tokens"]), str(case["batch"])]
    if not ours.get("rates"):
        return first + ["failed"] + ["-"] * 6
    return first + [f"{statistics.median(ours['rates']):.3g}; {ours['setting']['threads']}",
                    share_cell(ours), *(ratio_cell(case, name) for name in PEERS), best_cell(case),
                    compile_cell(case)]


def case_table(cases):
    head = ["level", "model", "pass", "T", "batch", "Longhand, steps/s", "share of peak"]
    head += [f": {name}" for name in PEERS.values()] + [": best of them", "compiled in, s: PyTorch, JAX"]
    return table(head, [case_row(case) for case in cases])


def product_row(row):
    share = lambda name: "-" if row[name] is None else f"{row[name]:.0f} ({row[name] / row['peak']:.0%})"
    others = [row[name] for name in LIBRARIES if row[name] is not None]
    return [row["level"], row["product"], f"{row['rows']} x {row['K']} x {row['N']}", share("ours"),
            *map(share, LIBRARIES), f"{row['ours'] / max(others):.2f}" if others else "-"]


def product_table(rows):
    head = ["level", "product", "rows x K x N", "Longhand, GFLOP/s (share of peak)", *LIBRARIES.values(),
            ": best of them"]
    return table(head, [product_row(row) for row in rows])


def report(results):
    machine = results.get("machine", {})
    text = [f"{results['date']}, {machine.get('processors', '?')} processors of {machine.get('processor', '?')}; "
            f"{', '.join(results['versions']) or 'no peer'}; `make bench-peers FLAGS=\"{results['command']}\"`."]
    if results["note"]:
        text[0] += f" {results['note']}"
    if results["cases"]:
        clock = " that the processor worked, one thread each" if results.get("processor_time") else ""
        text += [f"Steps per second{clock}, of ours; ratios of rates, ours over theirs, median and range over rounds; "
                 "behind the semicolon threads, and where there are several OpenMP's wait policy.",
                 case_table(results["cases"])]
    if results["products"]:
        text.append(product_table(results["products"]))
    errors = [f"- {case['model']} {PASSES[case['mode']]} T={case['tokens']} {case['level']}, {name}: {line['error']}"
              for case in results["cases"] for name, line in case["contenders"].items() if "error" in line]
    if errors:
        text.append("\n".join(errors))
    text += ["\n".join(f"- skipped: {line}" for line in results["skipped"])] if results["skipped"] else []
    return "\n\n".join(text)
