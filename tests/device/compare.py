"""Compares the files of two trainings, of a CPU and a GPU or of two GPUs. Python's standard library is enough.

    python compare.py parameters A B START BOUND   checkpoints: ||A - B|| over ||A - START|| is at most BOUND
    python compare.py metrics A B LOSS NORM        metrics.jsonl: relative difference of losses and gradient norms
    python compare.py eval A B LOSS SHARE          eval.jsonl: relative difference of losses, absolute of accuracies
    python compare.py logits A B BOUND             lines of predict: ||A - B|| over ||A||
    python compare.py bits A B                     run folders: bytes of checkpoints, metrics except rates and times

Prints the differences in one line; exit status 1 if one exceeds its bound.
"""

import array
import json
import math
import pathlib
import sys


def read_tensors(path):
    """Returns the tensors of a safetensors file by name, each as an array of numbers, without the optimiser's state."""
    data = pathlib.Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:end]).items():
        if name != "__metadata__" and not name.startswith("optimizer."):
            first, last = entry["data_offsets"]
            found[name] = array.array({"F32": "f", "F64": "d"}[entry["dtype"]], data[end + first : end + last])
    return found


def read_lines(path):
    """Returns the objects of a file of JSON lines, which must not be empty."""
    found = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    if not found:
        raise SystemExit(f"{path} is empty")
    return found


def pair_up(a, b, what):
    if len(a) != len(b):
        raise SystemExit(f"{len(a)} and {len(b)} {what}")
    return list(zip(a, b))


def measure_distance(a, b):
    """Returns the Euclidean norm of a - b; NaN if a number of either is NaN."""
    return math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b)))


def is_within(value, bound):
    return value <= bound  # false for NaN


def compare_parameters(a, b, start, bound):
    one, two, zero = read_tensors(a), read_tensors(b), read_tensors(start)
    if one.keys() != two.keys() or one.keys() != zero.keys():
        raise SystemExit("the checkpoints have different tensors")
    distance = math.hypot(*(measure_distance(one[name], two[name]) for name in one))
    movement = math.hypot(*(measure_distance(one[name], zero[name]) for name in one))
    worst = max(one, key=lambda name: measure_distance(one[name], two[name]))
    ratio = distance / movement if movement > 0 else math.inf
    print(f"parameters moved by {movement:.4g}, apart by {distance:.3g}: {ratio:.2e} (bound {bound:g}), "
          f"most in {worst}")
    return is_within(ratio, bound)


def divide_change(a, b):
    """Returns |a - b| / |a|, where |a| counts as at least 1e-30."""
    return abs(a - b) / max(abs(a), 1e-30)


def compare_metrics(a, b, loss_bound, norm_bound):
    pairs = pair_up(read_lines(a), read_lines(b), "lines of metrics")
    if any(x["step"] != y["step"] for x, y in pairs):
        raise SystemExit("the lines of metrics.jsonl are of different steps")
    loss = max((divide_change(x["loss"], y["loss"]) for x, y in pairs),
               key=lambda v: math.inf if math.isnan(v) else v)
    norm = max((divide_change(x["grad_norm"], y["grad_norm"]) for x, y in pairs),
               key=lambda v: math.inf if math.isnan(v) else v)
    print(f"{len(pairs)} lines to step {pairs[-1][0]['step']}: loss {loss:.2e} (bound {loss_bound:g}), "
          f"gradient norm {norm:.2e} (bound {norm_bound:g})")
    return is_within(loss, loss_bound) and is_within(norm, norm_bound)


def compare_eval(a, b, loss_bound, share_bound):
    pairs = pair_up(read_lines(a), read_lines(b), "lines of eval")
    if any(x["by"] != y["by"] for x, y in pairs):
        raise SystemExit("the lines of eval.jsonl are of different conditions")
    loss = max(divide_change(x["loss"], y["loss"]) for x, y in pairs)
    share = max(abs(x["accuracy"] - y["accuracy"]) for x, y in pairs)
    print(f"{len(pairs)} conditions: loss {loss:.2e} (bound {loss_bound:g}), "
          f"accuracy {share:.2e} (bound {share_bound:g})")
    losses_agree = all(is_within(divide_change(x["loss"], y["loss"]), loss_bound) for x, y in pairs)
    return losses_agree and is_within(share, share_bound)


def compare_logits(a, b, bound):
    read_logits = lambda path: [v for line in read_lines(path) for row in line["logits"] for v in row]
    pairs = pair_up(read_logits(a), read_logits(b), "logits")
    one, two = zip(*pairs)
    ratio = measure_distance(one, two) / measure_distance(one, [0.0] * len(one))
    print(f"{len(pairs)} logits: {ratio:.2e} (bound {bound:g})")
    return is_within(ratio, bound)


def find_only_file(folder, name):
    """Returns the path of the one file of that name below a folder."""
    found = sorted(pathlib.Path(folder).rglob(name))
    if len(found) != 1:
        raise SystemExit(f"{folder}: {len(found)} files {name}, expected one")
    return found[0]


def compare_bits(a, b):
    variants = [json.loads(find_only_file(folder, "run.json").read_text())["variant"] for folder in (a, b)]
    if variants[0] != variants[1]:
        raise SystemExit(f"variants {variants[0]} and {variants[1]}: their bits need not agree")
    checkpoints = [find_only_file(folder, "checkpoint.safetensors").read_bytes() for folder in (a, b)]
    has_same_checkpoints = checkpoints[0] == checkpoints[1]
    times = ("steps_per_second", "seconds")
    metrics = [[{k: v for k, v in line.items() if k not in times}
                for line in read_lines(find_only_file(folder, "metrics.jsonl"))] for folder in (a, b)]
    first_difference = next((x["step"] for x, y in zip(*metrics) if x != y), None)
    has_same_metrics = metrics[0] == metrics[1]
    last_step = metrics[0][-1]["step"]
    print(f"variant {variants[0]}, step {last_step}: checkpoints {'the same' if has_same_checkpoints else 'differ'}, "
          f"metrics {'the same' if has_same_metrics else f'differ from the line of step {first_difference} on'}")
    return has_same_checkpoints and has_same_metrics


COMPARISONS = {"parameters": (compare_parameters, 3), "metrics": (compare_metrics, 2), "eval": (compare_eval, 2),
               "logits": (compare_logits, 2), "bits": (compare_bits, 2)}


def main(arguments):
    if not arguments or arguments[0] not in COMPARISONS:
        raise SystemExit(__doc__)
    function, paths = COMPARISONS[arguments[0]]  # paths: number of arguments that are paths
    values = arguments[1:]
    return 0 if function(*values[:paths], *map(float, values[paths:])) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
