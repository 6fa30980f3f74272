"""Reads runs and their evaluations, as objects and as rows of tables.

runs() and rows() leave out damaged files, and files that another program wrote, with a warning; the methods of a Run
raise a LonghandError.
"""

import csv
import json
import os
import statistics
import tempfile
import warnings

from . import launcher, specs
from .errors import InputError, LonghandError, LonghandWarning
from .files import is_number, is_whole_number, make_floats, read_json, read_run_lines
from .tensors import Tensors


class Run:
    """The folder of a run.

    path           path of the folder, as given
    info           content of run.json: spec (all fields, resolved), flags, level, compiler, machine, started, ...
    id, digest     id of the spec, and digest of its plan; runs with the same digest differ only in seeds, learning
                   rate, steps, evaluation, and intervals of logs and checkpoints
    seed           seed of the run
    seeds          seeds of the run's parts, {"init": 0, "data": 0, "draws": 0}: of initial values, of training
                   examples, of random positions and dropout; each is `seed` unless a flag of the trainer set it
    learning_rate  learning rate of the run
    spec           resolved spec of the run, a dict
    task           kind of the task; for examples from a file task.name of the spec, by default the id
    encoding       the id without the task, as in reports: rand_rope for bucket_sort_rand_rope
    axes           the run's values on the axes of a study: {"study": "ruoss_figure3", "max_position": 2048}. If the
                   names of all values of an axis are numbers, its values are numbers, otherwise texts. Empty unless
                   runs() was called with a study
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        self.info = read_json(os.path.join(self.path, "run.json"))
        if not isinstance(self.info, dict):
            raise LonghandError(f"{self.path}/run.json: not a JSON object; this is not a run of Longhand")
        self.id, self.digest = self._read_field("id", str), self._read_field("digest", str)
        self.seed = self._read_field("seed", int)
        self.learning_rate = float(self._read_field("learning_rate", (int, float)))
        part_seeds = self._read_field("seeds_apart", dict) if "seeds_apart" in self.info else {}
        self.seeds = {part: part_seeds.get(part, self.seed) for part in ("init", "data", "draws")}
        for part, seed in self.seeds.items():
            if not is_whole_number(seed):
                self._refuse(f"seeds_apart.{part}", seed)
        self.spec = self._read_field("spec", dict)
        for name in ("task", "model", "train", "eval"):
            if not isinstance(self.spec.get(name), (dict, type(None))):
                raise LonghandError(f"{self.path}/run.json: spec.{name} is not a JSON object; this is not a run "
                                    "of Longhand")
        task = self.spec.get("task") or {}
        self.task = str(task.get("kind") or task.get("data") and (task.get("name") or self.id) or "?")
        self.encoding = self.id[len(self.task) + 1:] if self.id.startswith(self.task + "_") else ""
        self.encoding = self.encoding or self.id
        self.axes = {}

    def _read_field(self, name, kind):
        if name not in self.info:
            raise LonghandError(f"{self.path}/run.json: {name!r} is missing; this is not a run of Longhand")
        value = self.info[name]
        if not isinstance(value, kind) or isinstance(value, (int, float)) and not is_number(value):
            self._refuse(name, value)
        return value

    def _refuse(self, name, value):
        raise LonghandError(f"{self.path}/run.json: {name}: found {str(value)[:40]!r}; this is not a run of Longhand")

    def __repr__(self):
        return f"Run({self.path!r})"

    def metrics(self):
        """Lines of metrics.jsonl, a dict for each logging window: step, loss (nats), accuracy, exact_match, grad_norm,
        clipped_share, parameter_norm, update_norm, learning_rate, steps_per_second, ... Generative models have
        accuracy_teacher_forced instead of accuracy. The list is empty before the first window is complete."""
        return read_run_lines(self.path, "metrics.jsonl")

    def evaluations(self, every=False):
        """Lines of eval.jsonl, a dict per evaluated condition (a task length, or a value on other axes). Keys include:

            step, split, examples, draws, loss (nats), accuracy, exact_match
            by                                  the condition, such as {"length": 41}
            exact_match_low, exact_match_high   95% interval of exact_match
            sd_over_draws, sd_over_sequences    standard deviations
            seed      seed of `trainer eval --seed`
            set       set of the examples, in lines of evaluations during training (split "during")
            beyond    axes on which the value exceeds that of every training example
            trained   share of the examples that are also training examples
            novel     true if such examples were left out
            of        number of all examples of the condition, if only some were evaluated
            places    accuracies by place of the target (eval.places), a dict of lists
            by_example  with eval.by.passes, results of single examples, a dict of lists

        If a condition was evaluated several times at the same step with the same seed, only the last line is returned;
        every=True returns all lines. The list is empty if nothing was evaluated yet.

        Lines of generative models have the key "decoding". With "greedy", accuracy and exact_match are those of the
        model's own answers; accuracy_teacher_forced and loss are those of a pass that reads the target's tokens. With
        "teacher_forced", all values are those of such a pass, and there is no accuracy. If a run has lines of both
        kinds, those of eval.decoding in its spec are returned (default: "greedy"); every=True returns both.

        Sampled tasks have the splits in_distribution (a training length), between (another length below the longest
        training length) and beyond (a greater length). The split validation has examples from a separate random stream.
        With dataset files a split is a set of examples: train, test or validation."""
        lines = read_run_lines(self.path, "eval.jsonl")
        if every:
            return lines
        decoding, last = self._choose_decoding(lines), {}
        for line in lines:
            key = [line.get("step"), line.get("split"), line.get("set"), line.get("by"), line.get("novel"),
                   line.get("seed")]
            if line.get("decoding") == decoding:
                last[json.dumps(key, sort_keys=True)] = line
        return list(last.values())

    @property
    def generative(self):
        """Whether the model answers token by token, which all models do except encoders."""
        return (self.spec.get("model") or {}).get("kind", "encoder") != "encoder"

    def _choose_decoding(self, lines):
        """The kind of decoding whose lines evaluations() returns; None for models that are not generative."""
        if not self.generative:
            return None
        preferred = (self.spec.get("eval") or {}).get("decoding") or "greedy"
        present = {line.get("decoding") for line in lines if line.get("split") != "during"}
        return preferred if preferred in present or not present else present.pop()

    def checkpoint(self, name="checkpoint.safetensors"):
        """Opens a checkpoint of the run as Tensors. A weight, such as "layers.0.attention.query.weight", has shape
        [inputs][outputs]: y = x W + b. Names of optimiser state begin with "optimizer."; metadata has the counters."""
        return Tensors(os.path.join(self.path, name))


class Rows(list):
    """A table: flat dicts, one per row. Rows of different runs may have different keys."""

    def columns(self):
        """Keys of all rows, in the order of their first occurrence."""
        return list(dict.fromkeys(key for row in self for key in row))

    def where(self, **values):
        """The rows with these values: where(split="beyond", seed=0)."""
        for name in values:
            self._check_column(name)
        return Rows(row for row in self if all(row.get(key) == value for key, value in values.items()))

    def _check_column(self, name):
        if self and not any(name in row for row in self):
            raise ValueError(f"no row has {name!r}; the rows have {', '.join(self.columns())}")

    def to_pandas(self):
        """The rows as a pandas.DataFrame."""
        return _import_package("pandas", "to_pandas()").DataFrame(self)

    def plot(self, x="length", y=None, by="encoding", ax=None):
        """Draws a line for each value of `by` (None: one line for all rows): the mean of y over all rows with equal x.
        Returns matplotlib's axes. y is by default exact_match for generative models, else accuracy.

        Rows of evaluations during training are drawn only if x is "step". Rows of the split validation are drawn only
        if no row has a split in_distribution, between or beyond."""
        pyplot = _import_package("matplotlib", "plot()", "matplotlib.pyplot")
        if y is None:
            y = "exact_match" if any(row.get("decoding") for row in self) else "accuracy"
        left_out = {"during"} if x != "step" else set()
        if any(row.get("split") in ("in_distribution", "between", "beyond") for row in self):
            left_out.add("validation")
        if by is not None:
            self._check_column(by)
        lines = {}
        for row in self:
            if row.get(x) is not None and row.get(y) is not None and row.get("split") not in left_out:
                lines.setdefault(row.get(by), {}).setdefault(row[x], []).append(row[y])
        if not lines:
            raise ValueError(f"no row has both {x!r} and {y!r}; the rows have {', '.join(self.columns()) or 'nothing'}")
        ax = pyplot.subplots()[1] if ax is None else ax
        for name, points in lines.items():
            ax.plot(sorted(points), [statistics.fmean(points[value]) for value in sorted(points)], marker=".",
                    label=name)
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        if by is not None:
            ax.legend(title=by)
        return ax


def _import_package(package, caller, module=None):
    try:
        return __import__(module or package, fromlist=["_"])
    except ImportError:
        raise LonghandError(f"{caller} needs {package}, which is not installed here: pip install {package}") from None


class Runs(list):
    """A list of runs, in the order of their paths.

    skipped  (path, message) for each folder that was left out: it has a run.json but is not a valid run, or it cannot
             be read
    """

    def __init__(self, runs_found=(), skipped=()):
        super().__init__(runs_found)
        self.skipped = list(skipped)

    def rows(self):
        """A row per run: id, digest, task, encoding, axes of the study, seed, seeds of its parts (seed_init, seed_data,
        seed_draws), the size of the model (layers over all stacks, width, heads), path, and all other texts, numbers
        and booleans of run.json: parameters, learning_rate, level, compiler, machine, step, train_seconds, exit, ..."""
        plain_types = (str, int, float, bool)
        return Rows({**_get_first_columns(run), **_get_model_size(run),
                     **{key: value for key, value in make_floats(run.info).items() if isinstance(value, plain_types)},
                     "path": run.path}
                    for run in self)

    def evaluations(self):
        """A row per run and evaluated condition; see the function longhand.rows()."""
        return rows(self)

    def metrics(self):
        """A row per run and logging window; see the function longhand.rows()."""
        return rows(self, "metrics")

    def to_pandas(self):
        """rows() as a pandas.DataFrame."""
        return self.rows().to_pandas()


def runs(root, study=None, scale=None):
    """All runs in a folder and its subfolders. With a study (a Study, a name or a path) and, optionally, one of its
    scales: only the runs of the study, with their values on its axes in run.axes; this needs ./longhand."""
    if not os.path.isdir(root):
        raise LonghandError(f"{root}: no such folder")
    all_runs = Runs()

    def skip(path, message):
        all_runs.skipped.append((path, message))
        warnings.warn(f"{message}; skipped", LonghandWarning, stacklevel=3)

    for folder, folders, files in os.walk(root, onerror=lambda error: skip(error.filename, str(error))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))  # skips .attempts of clusters
        if "run.json" in files:
            try:
                all_runs.append(Run(folder))
            except LonghandError as error:
                skip(folder, str(error))
    return all_runs if study is None else _select_study_runs(all_runs, root, study, scale)


def _convert_numbers(names):
    """The names of an axis's values, converted to numbers if every name is a number as Python would print it."""
    for kind, text in (int, str), (float, "{:.14g}".format):
        try:
            numbers = [kind(name) for name in names]
        except ValueError:
            continue
        if all(map(is_number, numbers)) and list(map(text, numbers)) == names:
            return numbers
    return names


def _select_study_runs(all_runs, root, study, scale):
    """The runs of a study among all runs of a folder, with their axes. `longhand export csv` names both, since
    only ./longhand can expand a study."""
    words = ["export", "csv", root, "--study", specs.get_argument(study)] + (["--scale", scale] if scale else [])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.csv")
        try:
            launcher.call([*words, "--out", folder], launcher.ignore_line)
        except InputError as error:
            if not os.path.exists(path):  # if the file exists, the error is about damaged runs, which it leaves out
                raise
            warnings.warn(str(error), LonghandWarning, stacklevel=4)
        with open(path, encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    head = lines[0]
    names, axes = head[:head.index("seed")], {}
    columns = [[line[i] for line in lines[1:]] for i in range(len(names))]
    columns[1:] = map(_convert_numbers, columns[1:])  # the first column, the name of the study, stays text
    for i, line in enumerate(lines[1:]):
        axes[get_key(line[head.index("folder")])] = {name: column[i] for name, column in zip(names, columns)}
    study_runs = Runs((run for run in all_runs if get_key(run.path) in axes), all_runs.skipped)
    for run in study_runs:
        run.axes = axes[get_key(run.path)]
    return study_runs


def get_key(path):
    """The last parts of a run's path, which identify it in a folder of runs: (id, digest, name)."""
    return tuple(os.path.abspath(path).split(os.sep)[-3:])


def _get_part_seeds(run):
    return {f"seed_{part}": seed for part, seed in run.seeds.items()}


def _get_first_columns(run):
    return {"id": run.id, "digest": run.digest, "task": run.task, "encoding": run.encoding, **run.axes,
            "seed": run.seed, **_get_part_seeds(run)}


def _get_model_size(run):
    model = run.spec.get("model") or {}
    stacks = [model.get(name) for name in ("layers", "encoder_layers", "decoder_layers")]
    layers = sum(count for count in stacks if isinstance(count, int))
    sizes = {"layers": layers or None, "width": model.get("width"), "heads": model.get("heads")}
    return {name: size for name, size in sizes.items() if isinstance(size, int)}


def rows(of_runs, what="evaluations"):
    """Rows of a table, flat dicts: one for each line of each run's evaluations, or of its metrics with what="metrics".
    A row has id, digest, task, encoding, axes of the study, seed and seeds of the parts of the run (seed_init,
    seed_data, seed_draws), the fields of the line, and the run's learning_rate. One field for each axis ("length": 41)
    replaces `by`, and a text replaces the list `beyond`; the seed of an evaluation is evaluation_seed. A run without
    lines has no row; a run with damaged lines is left out with a warning."""
    if what not in ("evaluations", "metrics"):
        raise ValueError(f"{what!r}: expected 'evaluations' or 'metrics'")
    table = Rows()
    for run in of_runs:
        try:
            lines = getattr(run, what)()
        except LonghandError as error:
            warnings.warn(f"{error}; skipped", LonghandWarning, stacklevel=2)
            continue
        for line in lines:
            by = line.get("by")
            row = {**_get_first_columns(run), **line, **(by if isinstance(by, dict) else {})}
            row.pop("by", None)
            for name in ("places", "by_example"):
                row.pop(name, None)  # lists do not fit into a flat row; Run.evaluations() has them
            if "beyond" in row:
                row["beyond"] = " ".join(row["beyond"])
            row.update(seed=run.seed, learning_rate=run.learning_rate)
            if "seed" in line:
                row["evaluation_seed"] = line["seed"]
            table.append(row)
    return table


def evaluations(root, study=None, scale=None):
    """Rows of the evaluations of all runs in a folder, or of a study's runs: runs(root, study, scale).evaluations()."""
    return runs(root, study, scale).evaluations()
