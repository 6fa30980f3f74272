"""Exports runs as event files of TensorBoard. Needs the package tensorboardX, or torch and tensorboard.

`./longhand export tensorboard` calls `python3 -m longhand.events RUNS OUT`. Exit codes: 0, success; 1, a run is damaged
and was left out, or RUNS cannot be read; 2, wrong arguments; 4, neither package is installed, or OUT cannot be written.
"""

import datetime
import importlib
import math
import statistics
import sys
import warnings

from .errors import LonghandError, LonghandWarning, MachineError
from .files import make_folder
from .reading import get_key, runs

WRITERS = ("tensorboardX", "torch.utils.tensorboard")
# Numeric fields of a line that are no measurements.
NO_MEASURES = ("step", "by", "examples", "of", "batch", "draws", "counted", "seconds", "epoch")
PLAIN = dict.fromkeys([*range(32), *range(127, 160)], " ")  # control characters, which a terminal would execute


def _import_writer():
    for name in WRITERS:
        try:
            return importlib.import_module(name).SummaryWriter
        except ImportError:
            continue
    raise MachineError("event files are written by Python's tensorboardX, or by torch with tensorboard; neither is "
                       f"installed for {sys.executable}\n  expected: {sys.executable} -m pip install tensorboardX")


def _list_measures(line):
    for name, value in line.items():
        if name not in NO_MEASURES and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, value


def _make_clock(run):
    """A function from a line to its time: the start of the run plus the line's seconds of training. The time is None if
    run.json has no start or the line has no seconds."""
    try:
        text = str(run.info["started"]).replace("Z", "+00:00")
        started = datetime.datetime.fromisoformat(text).timestamp()
    except (KeyError, ValueError, OverflowError):
        return lambda line: None
    return lambda line: started + line["seconds"] if line.get("seconds") is not None else None


def _write_run(run, metrics, evaluations, writer):
    get_time, during = _make_clock(run), {}  # during: values by (name, step)
    for line in metrics:
        for name, value in _list_measures(line):
            writer.add_scalar(f"training/{name}", value, line["step"], walltime=get_time(line))
    for line in evaluations:
        by = line.get("by") or {}
        for name, value in _list_measures(line):
            if line.get("split") == "during":
                key = (f"during/{line.get('set', 'all')}/{name}", line["step"])
                during.setdefault(key, []).append(value)
            elif len(by) == 1 and name != "seed" and "seed" not in line:
                (axis, at), = by.items()
                if math.floor(at) == at:  # TensorBoard needs whole steps
                    writer.add_scalar(f"{line['split']}_by_{axis}/{name}", value, int(at))
    for (name, step), values in during.items():
        writer.add_scalar(name, statistics.fmean(values), step)


def export(runs_or_folder, out):
    """Writes the events of each run to OUT/<id>/<digest>/<run> and returns the number of exported runs. Events of
    an earlier export of a run are replaced; a damaged run is left out with a warning.

    Metrics and the means of evaluations during training, over all conditions, have the training step as their step.
    Evaluations of the trained model by one axis have the value on this axis, such as the length, as their step. Those
    by several axes, at fractions or with a seed of their own are left out."""
    make_writer, count = _import_writer(), 0
    for run in runs_or_folder if isinstance(runs_or_folder, list) else runs(runs_or_folder):
        try:
            lines = run.metrics(), run.evaluations()
            folder = make_folder(out, *get_key(run.path))
        except LonghandError as error:
            warnings.warn(f"{error}; left out", LonghandWarning, stacklevel=2)
            continue
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        with make_writer(str(folder)) as writer:
            _write_run(run, *lines, writer)
        count += 1
    return count


def main(words):
    if len(words) != 2:
        print("usage: python3 -m longhand.events RUNS OUT", file=sys.stderr)
        return 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            count = export(*words)
        except LonghandError as error:
            print(f"longhand export tensorboard: {error}", file=sys.stderr)
            return 4 if isinstance(error, MachineError) else 1
        except OSError as error:
            print(f"longhand export tensorboard: {error.filename or words[1]}: {error.strerror}", file=sys.stderr)
            return 4
    left_out = [warning for warning in caught if issubclass(warning.category, LonghandWarning)]
    for warning in caught:
        if warning.category is UserWarning or warning in left_out:  # this package's warnings
            print(f"longhand export tensorboard: {warning.message}".translate(PLAIN), file=sys.stderr)
    print(f"{words[1]}: events of {count} {'run' if count == 1 else 'runs'}; tensorboard --logdir {words[1]}")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
