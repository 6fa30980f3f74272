"""Verbs of ./longhand as functions.

A keyword is a flag of the command, by its name: steps=600 is --steps 600, no_eval=True is --no-eval, a list is joined
by commas, and range(0, 10) is 0:9. So whatever a command takes can be said here, and the command refuses the rest.
`set` changes fields of a spec for once: {"train.steps": 5}. `progress` takes each line that a command writes while it
works; unless given, lines go to stderr.
"""

import json
import os
import pathlib
import warnings

from . import launcher, specs
from .errors import InputError, LonghandError, LonghandWarning, MachineError
from .reading import Runs, runs


def _flag(name, value):
    name = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    if isinstance(value, range):
        if len(value) == 0:
            raise LonghandError(f"{name}: {value} has no numbers\n  expected: one at least")
        value = f"{value[0]}:{value[-1]}" + (f":{value.step}" if value.step != 1 else "")
    elif isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    return [name, str(value)]


def _flags(given):
    return [word for name, value in given.items() for word in _flag(name, value)]


class Trainer:
    """A compiled trainer: one file, which needs neither Longhand nor Python."""

    def __init__(self, path):
        self.path = pathlib.Path(path).absolute()

    def __fspath__(self):
        return str(self.path)

    def __repr__(self):
        return f"Trainer({str(self.path)!r})"

    def run(self, verb, *, progress=None, **flags):
        """Runs a verb of the trainer and returns its output: run("eval", checkpoint=FILE, lengths=range(41, 81))."""
        return launcher.run([self, verb, *_flags(flags)], progress)

    def info(self):
        """The object that `trainer info --json` prints: id, digest, parameters, levels, ..."""
        return json.loads(self.run("info", json=True))


def plan(spec, *, set=None):
    """Every number derived from a spec, as `longhand plan --json` prints it."""
    specs.check(spec, set)
    return json.loads(launcher.call(["plan", specs.word(spec), "--json", *specs.sets(set)], launcher.quiet))


def build(spec, *, set=None, progress=None, **flags):
    """Generates and compiles the files that are out of date and returns a Trainer. Flags: out, levels ("best": for
    this machine alone, which compiles faster), target, arch, jit, cuda_root, static."""
    specs.check(spec, set, launcher.quiet)
    said = launcher.call(["build", specs.word(spec), *specs.sets(set), *_flags(flags)], progress)
    return Trainer(said[:said.rindex("/trainer: ")] + "/trainer")


def _states(folder):
    """Times and inodes of run.json files by path: they change when a trainer works on a run."""
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in pathlib.Path(folder).glob("*/run.json")}


def train(spec, *, set=None, target=None, arch=None, jit=False, cuda_root=None, progress=None, **flags):
    """Builds a trainer if it is out of date, trains and evaluates; returns the Runs, one for each seed and learning
    rate.
    Flags: those of `trainer train`: steps, seed, seeds, learning_rate, out, resume, overwrite, threads, device, ...

    Ctrl-C makes the trainer write a checkpoint, and is raised again once it has; the same call with resume=True goes on
    to the same bits."""
    known = specs.check(spec, set, launcher.quiet)
    folder = os.path.join(flags.get("out") or "runs", known["id"], known["digest"])
    before = _states(folder)
    building = _flags({"target": target, "arch": arch, "jit": jit, "cuda_root": cuda_root})
    launcher.call(["train", specs.word(spec), *specs.sets(set), *building, "--", *_flags(flags)], progress)
    if not os.path.isdir(folder):
        return Runs()
    after, found = _states(folder), runs(folder)
    return Runs((run for run in found if (path := pathlib.Path(run.path, "run.json")) in after
                 and after[path] != before.get(path)), found.skipped)


def sweep(study, *, scale=None, out="runs", set=None, progress=None, **flags):
    """Trains and evaluates the missing runs of a study (a Study, a path, a name, STUDY:CELL,CELL) and returns its Runs,
    each with its place in the grid in run.axes. Flags: only ("width=32"), jobs, hours, device, arch, jit, cuda_root.
    After an interruption the same call continues."""
    study = os.fspath(specs.word(study))
    launcher.call(["sweep", study, *_flags({"scale": scale, "out": out}), *specs.sets(set), *_flags(flags)], progress)
    if ":" in study and not os.path.exists(study):
        study, *behind = study.split(":")
        scale = behind[0] if len(behind) == 2 else scale
    return runs(out, study, scale)


def estimate(study, *, scale=None, out="runs", set=None, progress=None, **flags):
    """The text of `sweep --dry-run`: the time that the missing runs of a study would take here."""
    return launcher.call(["sweep", specs.word(study), *_flags({"scale": scale, "out": out}), *specs.sets(set),
                          *_flags(flags), "--dry-run"], progress)


class Report:
    """A written report.

    text    its tables, as on a terminal
    folder  where its files are
    page    of them the one to open: tables and pictures, without a network
    """

    def __init__(self, text):
        self.text, _, where = text.rstrip("\n").rpartition("\n")
        self.folder = pathlib.Path(where[:where.rindex(": index.html")])
        self.page = self.folder / "index.html"

    def __repr__(self):
        return f"Report({str(self.folder)!r})"

    def __str__(self):
        return self.text


def report(root, *, study=None, scale=None, out=None, progress=None):
    """Makes tables and curves of a folder of runs; returns a Report. A warning lists files that could not be read or
    drawn."""
    words = ["report", root, *_flags({"study": study and specs.word(study), "scale": scale, "out": out})]
    try:
        return Report(launcher.call(words, progress))
    except (InputError, MachineError) as error:
        if ": index.html" not in error.output:
            raise
        warnings.warn(error.said, LonghandWarning, stacklevel=2)
        return Report(error.output)


def compare(one, other):
    """The text of a comparison of two runs (Run, or their folders): differences, and the first step that differs."""
    return launcher.call(["report", *(getattr(run, "path", run) for run in (one, other))], launcher.quiet)
