"""Compares the files of two trainings, of a CPU and a GPU or of two GPUs. Python's standard library is enough.

    python compare.py parameters A B START BOUND   checkpoints: ||A - B|| over ||A - START|| is at most BOUND
    python compare.py metrics A B LOSS NORM        metrics.jsonl: relative difference of losses and gradient norms
    python compare.py eval A B LOSS SHARE          eval.jsonl: of losses, relative; of accuracies, as they are
    python compare.py logits A B BOUND             lines of predict: ||A - B|| over ||A||
    python compare.py bits A B                     two run folders: checkpoints byte for byte, metrics but for the rates

Prints the differences in one line; exit status 1 if one exceeds its bound.
"""

import array
import json
import math
import pathlib
import sys


def tensors(path):
    """Reads a safetensors file: name -> numbers, without the optimiser's state."""
    data = pathlib.Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:end]).items():
        if name != "__metadata__" and not name.startswith("optimizer."):
            first, last = entry["data_offsets"]
            found[name] = array.array({"F32": "f", "F64": "d"}[entry["dtype"]], data[end + first : end + last])
    return found


def lines(path):
    found = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    if not found:
        raise SystemExit(f"{path} is empty")
    return found


def paired(a, b, what):
    if len(a) != len(b):
        raise SystemExit(f"{len(a)} and {len(b)} {what}")
    return list(zip(a, b))


def distance(a, b):
    """The norm of a difference; NaN if it contains one."""
    return math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b)))


def within(value, bound):
    return value <= bound  # false for NaN


def compare_parameters(a, b, start, bound):
    one, two, zero = tensors(a), tensors(b), tensors(start)
    if one.keys() != two.keys() or one.keys() != zero.keys():
        raise SystemExit("the checkpoints have different tensors")
    apart = math.hypot(*(distance(one[name], two[name]) for name in one))
    moved = math.hypot(*(distance(one[name], zero[name]) for name in one))
    worst = max(one, key=lambda name: distance(one[name], two[name]))
    ratio = apart / moved if moved > 0 else math.inf
    print(f"parameters moved by {moved:.4g}, apart by {apart:.3g}: {ratio:.2e} (bound {bound:g}), most in {worst}")
    return within(ratio, bound)


def relative(a, b):
    return abs(a - b) / max(abs(a), 1e-30)


def compare_metrics(a, b, loss_bound, norm_bound):
    pairs = paired(lines(a), lines(b), "lines of metrics")
    if any(x["step"] != y["step"] for x, y in pairs):
        raise SystemExit("the lines are of different steps")
    loss = max((relative(x["loss"], y["loss"]) for x, y in pairs), key=lambda v: math.inf if math.isnan(v) else v)
    norm = max((relative(x["grad_norm"], y["grad_norm"]) for x, y in pairs),
               key=lambda v: math.inf if math.isnan(v) else v)
    print(f"{len(pairs)} lines to step {pairs[-1][0]['step']}: loss {loss:.2e} (bound {loss_bound:g}), "
          f"gradient norm {norm:.2e} (bound {norm_bound:g})")
    return within(loss, loss_bound) and within(norm, norm_bound)


def compare_eval(a, b, loss_bound, share_bound):
    pairs = paired(lines(a), lines(b), "lines of eval")
    if any(x["by"] != y["by"] for x, y in pairs):
        raise SystemExit("the lines are of different conditions")
    loss = max(relative(x["loss"], y["loss"]) for x, y in pairs)
    share = max(abs(x["accuracy"] - y["accuracy"]) for x, y in pairs)
    print(f"{len(pairs)} conditions: loss {loss:.2e} (bound {loss_bound:g}), "
          f"accuracy {share:.2e} (bound {share_bound:g})")
    return all(within(relative(x["loss"], y["loss"]), loss_bound) for x, y in pairs) and within(share, share_bound)


def compare_logits(a, b, bound):
    flat = lambda path: [v for line in lines(path) for row in line["logits"] for v in row]
    pairs = paired(flat(a), flat(b), "logits")
    one, two = zip(*pairs)
    ratio = distance(one, two) / distance(one, [0.0] * len(one))
    print(f"{len(pairs)} logits: {ratio:.2e} (bound {bound:g})")
    return within(ratio, bound)


def only(folder, name):
    found = sorted(pathlib.Path(folder).rglob(name))
    if len(found) != 1:
        raise SystemExit(f"{folder}: {len(found)} files {name}, expected one")
    return found[0]


def compare_bits(a, b):
    variants = [json.loads(only(folder, "run.json").read_text())["variant"] for folder in (a, b)]
    if variants[0] != variants[1]:
        raise SystemExit(f"variants {variants[0]} and {variants[1]}: their bits need not agree")
    same = only(a, "checkpoint.safetensors").read_bytes() == only(b, "checkpoint.safetensors").read_bytes()
    times = ("steps_per_second", "seconds")
    metrics = [[{k: v for k, v in line.items() if k not in times} for line in lines(only(f, "metrics.jsonl"))]
               for f in (a, b)]
    differ = next((x["step"] for x, y in zip(*metrics) if x != y), None)
    alike = metrics[0] == metrics[1]
    last = metrics[0][-1]["step"]
    print(f"variant {variants[0]}, step {last}: checkpoints {'the same' if same else 'differ'}, "
          f"metrics {'the same' if alike else f'differ from the line of step {differ} on'}")
    return same and alike


COMPARISONS = {"parameters": (compare_parameters, 3), "metrics": (compare_metrics, 2), "eval": (compare_eval, 2),
               "logits": (compare_logits, 2), "bits": (compare_bits, 2)}


def main(arguments):
    if not arguments or arguments[0] not in COMPARISONS:
        raise SystemExit(__doc__)
    function, paths = COMPARISONS[arguments[0]]
    given = arguments[1:]
    return 0 if function(*given[:paths], *map(float, given[paths:])) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
