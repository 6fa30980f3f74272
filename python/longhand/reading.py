"""Runs and their evaluations: one by one, and as rows of a table.

What is damaged, or was written by another program, is told in a warning and left out.
"""

import csv
import json
import math
import os
import statistics
import tempfile
import warnings

from . import launcher, specs
from .errors import InputError, LonghandError, LonghandWarning
from .files import read_json, read_run_lines
from .tensors import Tensors


class Run:
    """The folder of a run.

    path           as given
    info           run.json: spec (every field, resolved), flags, level, compiler, machine, started, ended, ...
    id, digest     what was trained; runs of one digest may differ in seed, rate, steps and evaluation alone
    seed           of the whole run
    learning_rate  step size
    task           its kind, or of examples from a file task.name of its spec, the spec's name unless given
    encoding       what the id says beside the task, as in reports: bucket_sort_rand_rope -> rand_rope
    axes           its place in a study, by name: {"study": "ruoss_figure3", "max_position": 2048}, names that are
                   numbers as numbers; see runs()
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        self.info = read_json(os.path.join(self.path, "run.json"))
        if not isinstance(self.info, dict):
            raise LonghandError(f"{self.path}/run.json: no JSON object; this is no run of Longhand")
        self.id, self.digest = self._field("id", str), self._field("digest", str)
        self.seed, self.learning_rate = self._field("seed", int), self._field("learning_rate", (int, float))
        self.spec = self._field("spec", dict)
        for name in ("task", "model", "train", "eval"):
            if not isinstance(self.spec.get(name), (dict, type(None))):
                raise LonghandError(f"{self.path}/run.json: spec.{name} is no JSON object; this is no run of Longhand")
        name = str(self.id)
        self.task = _name_of_task(self.spec, name)
        self.axes = {}
        self.encoding = (name[len(self.task) + 1:] if name.startswith(self.task + "_") else "") or name

    def _field(self, name, kind):
        if name not in self.info:
            raise LonghandError(f"{self.path}/run.json: {name!r} is missing; this is no run of Longhand")
        value = self.info[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise LonghandError(f"{self.path}/run.json: {name}: found {str(value)[:40]!r}; this is no run of Longhand")
        return value

    def __repr__(self):
        return f"Run({self.path!r})"

    def metrics(self):
        """Lines of metrics.jsonl, one per logging window: step, loss (nats), accuracy, of generative models
        accuracy_teacher_forced in its place, exact_match, grad_norm, clipped_share, parameter_norm, update_norm,
        learning_rate, steps_per_second, ... None before the first."""
        lines = read_run_lines(self.path, "metrics.jsonl")
        for line in lines if self.generative else []:
            _call_teacher_forced(line)
        return lines

    def evaluations(self, every=False):
        """Lines of eval.jsonl, one per condition: step, split, by ({"length": 41}, or numbers on other axes), examples,
        draws, accuracy, exact_match with its 95% interval exact_match_low and exact_match_high, loss (nats),
        sd_over_draws, sd_over_sequences; set, of an evaluation in training; beyond, axes on which no training example
        gets as far; trained, the share of examples that were trained on, and novel where they were left out; of, how
        many examples there are where fewer were taken. Of a condition that was evaluated again at the same step the
        last line, with `every` all of them. None where nothing was evaluated yet.

        Lines of generative models say their decoding: "greedy", where accuracy and exact_match are of the model's own
        answers, and accuracy_teacher_forced and loss of a pass that is given the target; or "teacher_forced", where all
        is of such a pass and there is no accuracy. Lines of older trainers are of the second kind. A run has lines of
        one kind, the one that its spec asks for (greedy unless it says otherwise) where there are any; with `every` of
        both.

        Splits of sampled tasks are in_distribution (a training length), between (none, but shorter than the longest)
        and beyond, also in lines of trainers that still called them train and test; validation is a stream of its own.
        With dataset files a split is a set: train, test or validation."""
        lines = self._with_new_splits(read_run_lines(self.path, "eval.jsonl"))
        for line in lines if self.generative else []:
            if "decoding" not in line:
                line["decoding"] = "teacher_forced"
                _call_teacher_forced(line)
        if every:
            return lines
        decoding, last = self._decoding(lines), {}
        for line in lines:
            key = [line.get("step"), line.get("split"), line.get("set"), line.get("by"), line.get("novel"),
                   line.get("seed")]
            if line.get("decoding") == decoding:
                last[json.dumps(key, sort_keys=True)] = line
        return list(last.values())

    @property
    def generative(self):
        """Whether the model answers token by token: a decoder, an encoder-decoder, or a user's similar network."""
        model = self.spec.get("model") if isinstance(self.spec, dict) else None
        return isinstance(model, dict) and model.get("kind", "encoder") != "encoder"

    def _decoding(self, lines):
        """The decoding whose lines are used; None for models that are not generative."""
        if not self.generative:
            return None
        wanted = (self.spec.get("eval") or {}).get("decoding") or "greedy"
        found = {line["decoding"] for line in lines if line.get("split") != "during"}
        return wanted if wanted in found or not found else found.pop()

    def _with_new_splits(self, lines):
        trained = None if self.info.get("data") else _training_lengths(self.spec)
        if not trained:
            return lines
        longest = max(trained) if isinstance(trained, list) else trained[-1]  # a range may consist of a single length
        for line in lines:
            length = (line.get("by") or {}).get("length")
            if line.get("split") in ("train", "test") and isinstance(length, int):
                line["split"] = ("in_distribution" if length in trained else "between" if length < longest
                                 else "beyond")
        return lines

    def checkpoint(self, name="checkpoint.safetensors"):
        """Parameters by name ("layers.0.attention.query.weight": [in][out], y = x W + b), those of the optimiser behind
        "optimizer.", and in metadata the counters."""
        return Tensors(os.path.join(self.path, name))


def _call_teacher_forced(line):
    """Renames the teacher-forced accuracy, which older lines of generative models call accuracy."""
    if "accuracy_teacher_forced" not in line and "accuracy" in line:
        line["accuracy_teacher_forced"] = line.pop("accuracy")


def _training_lengths(spec):
    """Training lengths of the resolved spec of a sampled task, a range or a list; None if it has none."""
    try:
        if spec["task"].get("data"):
            return None
        field = spec["train"]["lengths"]
        if "list" not in field:
            return range(field["first"], field["last"] + 1, field.get("step") or 1)
        named = isinstance(field["list"], list) and all(isinstance(length, int) for length in field["list"])
        return field["list"] if named else None
    except (AttributeError, KeyError, TypeError):
        return None


def _name_of_task(spec, name):
    task = spec.get("task") if isinstance(spec, dict) else None
    task = task if isinstance(task, dict) else {}
    return str(task.get("kind") or task.get("data") and (task.get("name") or name) or "?")


class Rows(list):
    """A table: flat dicts, one per row. Rows of different runs may have different keys."""

    def columns(self):
        """Keys of all rows, in the order of their first occurrence."""
        return list(dict.fromkeys(key for row in self for key in row))

    def where(self, **values):
        """The rows that have these values: where(split="beyond", seed=0)."""
        for name in values:
            self._expect(name)
        return Rows(row for row in self if all(row.get(key) == value for key, value in values.items()))

    def _expect(self, name):
        if self and not any(name in row for row in self):
            raise ValueError(f"no row has {name!r}; the rows have {', '.join(self.columns())}")

    def to_pandas(self):
        """A pandas.DataFrame."""
        return _needed("pandas", "to_pandas()").DataFrame(self)

    def plot(self, x="length", y=None, by="encoding", ax=None):
        """Draws a line for each value of `by` (None: one for all), the mean of y over all rows of equal x; returns
        matplotlib's axes. y is exact_match where the rows are of generative models, else accuracy, unless given.
        Evaluations during training count where x is "step" alone, the validation stream of a task that makes its
        examples where the rows have nothing else."""
        pyplot = _needed("matplotlib", "plot()", "matplotlib.pyplot")
        if y is None:
            y = "exact_match" if any(row.get("decoding") for row in self) else "accuracy"
        left_out = {"during"} if x != "step" else set()
        if any(row.get("split") in ("in_distribution", "between", "beyond") for row in self):
            left_out.add("validation")
        if by is not None:
            self._expect(by)
        lines = {}
        for row in self:
            if row.get(x) is not None and row.get(y) is not None and row.get("split") not in left_out:
                lines.setdefault(row.get(by), {}).setdefault(row[x], []).append(row[y])
        if not lines:
            raise ValueError(f"no row has both {x!r} and {y!r}; the rows have {', '.join(self.columns()) or 'nothing'}")
        ax = pyplot.subplots()[1] if ax is None else ax
        for name, points in lines.items():
            ax.plot(sorted(points), [statistics.fmean(points[at]) for at in sorted(points)], marker=".", label=name)
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        if by is not None:
            ax.legend(title=by)
        return ax


def _needed(package, what, module=None):
    try:
        return __import__(module or package, fromlist=["_"])
    except ImportError:
        raise LonghandError(f"{what} needs {package}, which is not installed here: pip install {package}") from None


class Runs(list):
    """Runs, in the order of their paths.

    skipped  (path, what is wrong) of each folder with a run.json that is no run
    """

    def __init__(self, of=(), skipped=()):
        super().__init__(of)
        self.skipped = list(skipped)

    def rows(self):
        """A row per run: id, digest, task, encoding, axes of the study, seed, and what else run.json says in a word or
        number: learning_rate, level, compiler, machine, step, train_seconds, exit, ...; and its path."""
        plain = (str, int, float, bool)
        return Rows({**_front(run), **{key: value for key, value in run.info.items() if isinstance(value, plain)},
                     "path": run.path} for run in self)

    def evaluations(self):
        """A row per run and evaluated condition; see rows()."""
        return rows(self)

    def metrics(self):
        """A row per run and logging window; see rows()."""
        return rows(self, "metrics")

    def to_pandas(self):
        """rows() as a pandas.DataFrame."""
        return self.rows().to_pandas()


def runs(root, study=None, scale=None):
    """All runs in a folder and the folders below it. With study (a Study, a name, a path; scale: one of its scales) its
    runs alone, with their places in its grid in run.axes; that needs ./longhand."""
    if not os.path.isdir(root):
        raise LonghandError(f"{root}: no such folder")
    found = Runs()

    def skip(path, why):
        found.skipped.append((path, why))
        warnings.warn(f"{why}; skipped", LonghandWarning, stacklevel=3)

    for folder, folders, files in os.walk(root, onerror=lambda error: skip(error.filename, str(error))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))  # skips .attempts of clusters
        if "run.json" in files:
            try:
                found.append(Run(folder))
            except LonghandError as error:
                skip(folder, str(error))
    return found if study is None else _of_study(found, root, study, scale)


def _numbers(names):
    """Names of an axis' values as numbers, if every name is a number in its usual form."""
    for kind, text in (int, str), (float, "{:.14g}".format):
        try:
            numbers = [kind(name) for name in names]
        except ValueError:
            continue
        if all(map(math.isfinite, numbers)) and list(map(text, numbers)) == names:
            return numbers
    return names


def _of_study(found, root, study, scale):
    """The runs of a study, with their axes, from `export csv`: only the generator expands studies."""
    words = ["export", "csv", root, "--study", specs.word(study)] + (["--scale", scale] if scale else [])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.csv")
        try:
            launcher.call([*words, "--out", folder], launcher.quiet)
        except InputError as error:
            if not os.path.exists(path):  # otherwise some runs are damaged, and the caller knows them already
                raise
            warnings.warn(str(error), LonghandWarning, stacklevel=4)
        with open(path, encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    head = lines[0]
    names, places = head[:head.index("seed")], {}
    columns = [_numbers([line[i] for line in lines[1:]]) if i > 0 else [line[0] for line in lines[1:]]
               for i in range(len(names))]
    for i, line in enumerate(lines[1:]):
        places[place_of(line[head.index("folder")])] = {name: column[i] for name, column in zip(names, columns)}
    chosen = Runs((run for run in found if place_of(run.path) in places), found.skipped)
    for run in chosen:
        run.axes = places[place_of(run.path)]
    return chosen


def place_of(path):
    """The unique name of a run: (id, digest, run)."""
    return tuple(os.path.abspath(path).split(os.sep)[-3:])


def _front(run):
    return {"id": run.id, "digest": run.digest, "task": run.task, "encoding": run.encoding, **run.axes,
            "seed": run.seed}


def rows(of, what="evaluations"):
    """Flat dicts for a table, one per run and line of its evaluations or metrics: id, digest, task, encoding, axes
    of the study, seed, learning_rate (of the run), then the fields of the line, with `by` split into its axes
    ("length": 41). A run without lines has no row; a run with damaged lines is left out with a warning."""
    if what not in ("evaluations", "metrics"):
        raise ValueError(f"{what!r}: expected 'evaluations' or 'metrics'")
    out = Rows()
    for run in of:
        try:
            lines = getattr(run, what)()
        except LonghandError as error:
            warnings.warn(f"{error}; skipped", LonghandWarning, stacklevel=2)
            continue
        for line in lines:
            by = line.get("by")
            row = {**_front(run), **line, **(by if isinstance(by, dict) else {})}
            row.pop("by", None)
            if "beyond" in row:
                row["beyond"] = " ".join(row["beyond"])
            row.update(seed=run.seed, learning_rate=run.learning_rate)
            if "seed" in line:
                row["evaluation_seed"] = line["seed"]
            out.append(row)
    return out


def evaluations(root, study=None, scale=None):
    """The evaluations of all runs in a folder, or of a study's: runs(root, study, scale).evaluations()."""
    return runs(root, study, scale).evaluations()
