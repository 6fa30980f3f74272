"""Verbs of ./longhand as functions.

A keyword argument is a flag of the command: steps=600 is --steps 600, no_eval=True is --no-eval, a list becomes a text
with commas, and range(0, 10) is 0:9. The functions accept all flags of their command, which refuses unknown flags.
`set` changes fields of a spec for this call only: {"train.steps": 5}. `progress` is called with each line of progress
that a command writes; by default, lines are printed to stderr. `metrics` is called with each new line of metrics of
the runs.
"""

import json
import os
import pathlib
import warnings

from . import launcher, specs
from .errors import InputError, LonghandError, LonghandWarning, MachineError
from .following import Metrics
from .reading import Runs, runs


def _make_flag(name, value):
    """The words of a flag; an empty list if it is not given."""
    name = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    if isinstance(value, range):
        if len(value) == 0:
            raise LonghandError(f"{name}: {value} has no numbers\n  expected: at least one number")
        value = f"{value[0]}:{value[-1]}" + (f":{value.step}" if value.step != 1 else "")
    elif isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    return [name, str(value)]


def _make_flags(flags):
    return [word for name, value in flags.items() for word in _make_flag(name, value)]


class Trainer:
    """A compiled trainer: one program file, which runs without Longhand and Python."""

    def __init__(self, path):
        self.path = pathlib.Path(path).absolute()

    def __fspath__(self):
        return str(self.path)

    def __repr__(self):
        return f"Trainer({str(self.path)!r})"

    def run(self, verb, *, progress=None, **flags):
        """Runs a verb of the trainer and returns its output: run("eval", checkpoint=FILE, lengths=range(41, 81))."""
        return launcher.run([self, verb, *_make_flags(flags)], progress)

    def info(self):
        """The object that `trainer info --json` prints, as a dict: id, digest, parameters, levels, ..."""
        return json.loads(self.run("info", json=True))


def plan(spec, *, set=None):
    """All numbers derived from a spec, as a dict: the object that `longhand plan --json` prints."""
    specs.check(spec, set)
    words = ["plan", specs.get_argument(spec), "--json", *specs.make_sets(set)]
    return json.loads(launcher.call(words, launcher.ignore_line))


def build(spec, *, set=None, progress=None, **flags):
    """Generates and compiles the files that are out of date, and returns a Trainer. Flags: out, levels, target, arch,
    jit, cuda_root, static. levels="best" compiles faster, for the processor of this machine only."""
    specs.check(spec, set, launcher.ignore_line)
    printed = launcher.call(["build", specs.get_argument(spec), *specs.make_sets(set), *_make_flags(flags)], progress)
    return Trainer(printed[:printed.rindex("/trainer: ")] + "/trainer")  # the last line is "PATH/trainer: ..."


def _read_states(folder):
    """The time and the inode of each run.json, by path; one of them changes whenever a trainer works on the run."""
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in pathlib.Path(folder).glob("*/run.json")}


def _make_watch(root, pattern, metrics):
    """A function that passes each new line of metrics to `metrics`; None if `metrics` is None. pattern: a glob pattern
    of the folders of runs below `root`."""
    if metrics is None:
        return None
    new_lines = Metrics(root, pattern)

    def pass_new_lines():
        for line in new_lines.read():
            metrics(line)

    return pass_new_lines


def train(spec, *, set=None, target=None, arch=None, jit=False, cuda_root=None, progress=None, metrics=None, **flags):
    """Builds a trainer if it is out of date, trains and evaluates. Returns the Runs that the trainer has worked on, one
    for each seed and learning rate. Flags: those of `trainer train`: steps, seed, seeds, learning_rate, out,
    resume, overwrite, threads, device, ...

    While the runs train, metrics is called with a dict for each new line of their metrics.jsonl: the fields of the line
    and, as id, digest and run, the last three parts of the path of its run.

    After Ctrl-C the trainer writes a checkpoint, then KeyboardInterrupt is raised. The same call with resume=True
    continues; the results are bit for bit those of an uninterrupted run."""
    checked = specs.check(spec, set, launcher.ignore_line)
    folder = os.path.join(flags.get("out") or "runs", checked["id"], checked["digest"])
    states_before = _read_states(folder)
    build_flags = _make_flags({"target": target, "arch": arch, "jit": jit, "cuda_root": cuda_root})
    launcher.call(["train", specs.get_argument(spec), *specs.make_sets(set), *build_flags, "--", *_make_flags(flags)],
                  progress, _make_watch(folder, "*", metrics))
    if not os.path.isdir(folder):
        return Runs()
    changed = {path for path, state in _read_states(folder).items() if state != states_before.get(path)}
    all_runs = runs(folder)
    return Runs((run for run in all_runs if pathlib.Path(run.path, "run.json") in changed), all_runs.skipped)


def sweep(study, *, scale=None, out="runs", set=None, progress=None, metrics=None, **flags):
    """Trains and evaluates the missing runs of a study: a Study, a path, a name, or STUDY:CELL,CELL. Returns the Runs
    of the study; run.axes has a run's values on the axes of the grid. Flags: only ("width=32"), jobs, hours, device,
    arch, jit, cuda_root. After an interruption the same call continues. metrics is called as in train(), for all runs
    in the folder `out`."""
    study = os.fspath(specs.get_argument(study))
    words = _make_flags({"scale": scale, "out": out} | flags)
    launcher.call(["sweep", study, *words, *specs.make_sets(set)], progress, _make_watch(out, "*/*/*", metrics))
    if ":" in study and not os.path.exists(study):
        study, *more = study.split(":")  # STUDY:CELLS or STUDY:SCALE:CELLS
        scale = more[0] if len(more) == 2 else scale
    return runs(out, study, scale)


def estimate(study, *, scale=None, out="runs", set=None, progress=None, **flags):
    """The text that `sweep --dry-run` prints: the estimated time of the missing runs of a study on this machine."""
    words = [specs.get_argument(study), *_make_flags({"scale": scale, "out": out} | flags), *specs.make_sets(set)]
    return launcher.call(["sweep", *words, "--dry-run"], progress)


class Report:
    """A written report.

    text    tables of the report, as printed on a terminal
    folder  folder of the report's files
    page    path of index.html in this folder: a page with tables and pictures, which needs no network
    """

    def __init__(self, text):
        self.text, _, last_line = text.rstrip("\n").rpartition("\n")  # the last line is "FOLDER: index.html, ..."
        self.folder = pathlib.Path(last_line[:last_line.rindex(": index.html")])
        self.page = self.folder / "index.html"

    def __repr__(self):
        return f"Report({str(self.folder)!r})"

    def __str__(self):
        return self.text


def report(root, *, study=None, scale=None, out=None, progress=None):
    """Makes tables and curves of a folder of runs; returns a Report. If files cannot be read or drawn, a warning lists
    them."""
    words = ["report", root, *_make_flags({"study": study and specs.get_argument(study), "scale": scale, "out": out})]
    try:
        return Report(launcher.call(words, progress))
    except (InputError, MachineError) as error:
        if ": index.html" not in error.output:
            raise
        warnings.warn(error.said, LonghandWarning, stacklevel=2)
        return Report(error.output)


def compare(one, other):
    """Compares two runs, each a Run or its folder; returns a text with their differences and the first step that
    differs."""
    return launcher.call(["report", *(getattr(run, "path", run) for run in (one, other))], launcher.ignore_line)
