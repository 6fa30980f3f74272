"""Specs and studies: experiments that are written in Python and stored as readable Lua files."""

import json
import os
import pathlib
import tempfile

from . import launcher, lua
from .errors import InputError, LonghandError, SpecError
from .examples import Examples
from .files import replace_file
from .lua import Table


def _list_examples(value):
    """All Examples in the value of a field."""
    if isinstance(value, Examples):
        return [value]
    parts = ()
    if isinstance(value, Table):
        parts = [*value.items, *value.fields.values()]
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    return [examples for part in parts for examples in _list_examples(part)]


def _change_parts(value, change):
    """A copy of a list, dict or Table with change(name, part) in place of each part; an item without a name has the
    name None. Any other value is returned unchanged."""
    if isinstance(value, Table):
        return Table(*_change_parts(value.items, change), **_change_parts(value.fields, change))
    if isinstance(value, dict):
        return {name: change(name, part) for name, part in value.items()}
    return [change(None, item) for item in value] if isinstance(value, (list, tuple)) else value


def _make_examples(name, value):
    return value if isinstance(value, Examples) else Examples(value, path=f"task.{name}")


def _convert_examples(fields, convert=_make_examples):
    """The fields of a spec, with Examples in place of Python objects in fields that name files of examples. convert: a
    function of the name and the value of such a field that returns the new value."""
    def convert_field(name, value):
        is_file = value is None or isinstance(value, (str, os.PathLike))
        return convert(name, value) if name in ("data", "eval", "validation") and not is_file else value

    return _change_parts(fields, lambda name, value: _change_parts(value, convert_field) if name == "task" else value)


def _convert_axis_examples(value):
    """Axes in the form of a study's file, with Examples in the field `spec` of each value."""
    def convert_part(name, part):
        return _convert_examples(part) if name == "spec" else _convert_axis_examples(part)

    return _change_parts(value, convert_part)


class File:
    """The common base of Spec and Study: a table that is stored as a Lua file."""

    kind = "file"

    def __init__(self, path=None, **fields):
        self.path, self.fields = path and pathlib.Path(path), fields

    @property
    def text(self):
        """The content of the Lua file."""
        fields = {name: value for name, value in self.fields.items() if value is not None}
        name_width = max(map(len, fields), default=0)
        lines = [f"  {name:{name_width}} = {lua.format_value(value, name, 2, name_width + 3)},\n"
                 for name, value in fields.items()]
        return "return {\n" + "".join(lines) + "}\n"

    def __repr__(self):
        return f"{type(self).__name__}({str(self.path) if self.path else None!r})"

    def write(self, path=None):
        """Writes the file, and the files of its Examples next to it; returns the path of the file. Each file is written
        completely or not at all, and only if its content changes."""
        self.path = pathlib.Path(path) if path else self.path
        if self.path is None:
            raise LonghandError(f"the {self.kind} has no file, and its runs are named after its file\n  expected: "
                                f'{type(self).__name__}("NAME.lua", ...), or write("NAME.lua")')
        for examples in _list_examples(self.fields):
            examples.write(self.path.parent)
        replace_file(self.path, self.text.encode())
        return self.path


class Spec(File):
    """The spec of an experiment, with the sections task, encoding, model, train and eval; `./longhand fields` lists
    their fields.

        Spec("own_bias.lua", task={"kind": "bucket_sort"}, encoding={"score": my_bias, "parameters": {...}},
             model={"use": "ruoss_encoder"}, train={"use": "quick", "steps": 600}, eval={"use": "quick"})

    The functions Task, Encoding, Model, Train and Eval make sections from keywords. Tables are dicts; a table with
    items without names is a Table(...). A range gives lengths. A score is a Python function, which may call the
    functions of longhand.functions. task.data, task.eval and task.validation may be paths, or examples as Python
    objects (see Examples). The base name of the file is the id of its runs.

    path    path of the file, or None
    fields  the sections, as given
    """

    kind = "spec"

    def __init__(self, path=None, *, task=None, encoding=None, model=None, train=None, eval=None, **fields):
        sections = {"task": task, "encoding": encoding, "model": model, "train": train, "eval": eval}
        present = {name: section for name, section in sections.items() if section is not None}
        super().__init__(path, **_convert_examples(present), **fields)

    def check(self):
        """Runs `longhand check` on the spec; first writes its file if the spec has a path. Returns a dict with id,
        digest and path; raises a SpecError with all mistakes."""
        if self.path:
            return check(self)
        with tempfile.TemporaryDirectory() as folder:
            return check(Spec(os.path.join(folder, "spec.lua"), **self.fields))


# For each section, the field that is set if a string is given in place of the section.
SECTIONS = {"task": "kind", "encoding": "use", "model": "use", "train": "use", "eval": "use"}


def _make_fragment(field, value):
    """A fragment of a spec that sets one field. If the field is a section and the value is a string, the string names a
    preset, or the kind of a task."""
    if field in SECTIONS and isinstance(value, str):
        value = {SECTIONS[field]: value}
    for name in reversed(field.split(".")):
        value = {name: value}
    return value


def _make_axis(name, values):
    """An axis, converted to its form in a study's file."""
    if isinstance(values, dict):
        return {"name": name, "values": [{"name": value, "spec": _convert_examples(spec)}
                                         for value, spec in values.items()]}
    if not isinstance(values, (list, tuple, range)) and not hasattr(values, "tolist"):
        raise LonghandError(f"axes: {name}: {values!r} is a {type(values).__name__}; expected a list of a field's "
                            "values, or a dict from names of values to fragments of a spec")
    value_list = values.tolist() if hasattr(values, "tolist") else list(values)
    for value in value_list:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise LonghandError(f"axes: {name}: {value!r} cannot be the name of a value; expected numbers and texts, "
                                "or a dict from names of values to fragments of a spec")
    return {"name": name.rpartition(".")[2],
            "values": [{"name": value, "spec": _make_fragment(name, value)} for value in value_list]}


def _check_seeds(seeds):
    """Checks that seeds are consecutive: a study's file has a first and a last seed, but no list of single seeds."""
    if isinstance(seeds, dict):
        return {part: _check_seeds(part_seeds) for part, part_seeds in seeds.items()}
    if hasattr(seeds, "tolist"):
        seeds = seeds.tolist()
    if isinstance(seeds, (list, tuple)) and seeds and all(isinstance(seed, int) for seed in seeds):
        consecutive = range(seeds[0], seeds[0] + len(seeds))
        seeds = consecutive if list(consecutive) == list(seeds) else seeds
    if isinstance(seeds, range) and seeds.step == 1 or isinstance(seeds, Table):
        return seeds
    raise LonghandError(f"seeds: found {seeds!r}; expected consecutive seeds, such as range(5) or Table(0, 4), which "
                        "are both 0 to 4")


class Study(File):
    """A grid of runs: all combinations of the values of its axes, each with several seeds and learning rates.
    docs/studies.md describes all fields.

        Study("width.lua", base={"task": {"kind": "bucket_sort"}, "model": {"use": "ruoss_encoder"},
                                 "train": {"use": "quick"}, "eval": {"use": "quick"}},
              axes={"encoding": ["none", "rope"], "model.width": [32, 64],
                    "bias": {"plain": {}, "mine": {"encoding": {"score": my_bias}}}},
              seeds=range(5), learning_rates=[3e-4, 1e-3])

    title  a line of text; default: the base name of the file
    base   a dict of sections, or a Spec
    axes   a dict with an entry for each axis, or a list of axes in the form of the file. An entry has one of two forms:
           {FIELD: [VALUE, ...]}, where values of a section are names of presets or kinds of tasks
           {FREE_NAME: {NAME_OF_VALUE: FRAGMENT_OF_A_SPEC, ...}}
    seeds  consecutive seeds: range(5), [0, 1, 2, 3, 4] and Table(0, 4) are all 0 to 4; or a dict of such seeds for the
           parts "init", "data" and "draws": the study has a run for each combination
    """

    kind = "study"

    def __init__(self, path=None, *, axes, title=None, base=None, **fields):
        file_fields = {"title": title or (pathlib.Path(path).stem if path else "study")}
        if base is not None:
            file_fields["base"] = base.fields if isinstance(base, Spec) else _convert_examples(base)
        file_fields["axes"] = [_make_axis(*axis) for axis in axes.items()] if isinstance(axes, dict) else \
            _convert_axis_examples(axes)
        if fields.get("seeds") is not None:
            fields["seeds"] = _check_seeds(fields["seeds"])
        super().__init__(path, **file_fields, **fields)


def get_argument(spec):
    """A spec or a study as an argument of a command. A Spec or Study writes its file and gives the path; any other
    value is itself a path, an id or STUDY:CELL."""
    return spec.write() if isinstance(spec, File) else os.fspath(spec)


def _refuse_examples(name, value):
    raise LonghandError(f"set: task.{name}: found a value of type {type(value).__name__}; expected the path of a file\n"
                        f"  expected: Python objects as task.{name} of a Spec, which writes their file, or the path "
                        "that Examples(...).write(FOLDER) returns, absolute or relative to the spec's file")


def make_sets(settings):
    """The arguments --set of a command, from a dict such as {"train.steps": 5}."""
    if settings is not None and not isinstance(settings, dict):
        raise LonghandError(f'set: {settings!r} is a {type(settings).__name__}; expected a dict: {{"train.steps": 5}}')
    for path, value in (settings or {}).items():
        _convert_examples(_make_fragment(str(path), value), _refuse_examples)
    return [word for path, value in (settings or {}).items() if value is not None
            for word in ("--set", f"{path}={lua.format_value(value, path)}")]


def _format_error(error):
    place = ":".join(str(error[key]) for key in ("path", "line", "col") if key in error) or error.get("set")
    lines = [": ".join(filter(None, [place, "error", error.get("field"), error["what"]]))]
    lines += [f"  note: {note['what']}" for note in error.get("notes", [])]
    return "\n".join(lines + [f"  {key}: {error[key]}" for key in ("expected", "hint") if key in error])


def check(spec, set=None, progress=None):
    """Checks that a spec (a Spec, a path or an id) can be trained. Returns a dict with id, digest and path. Raises a
    SpecError with all mistakes, each with its field, the value found, the value expected and a hint. progress is called
    with each warning."""
    try:
        return json.loads(launcher.call(["check", get_argument(spec), "--json", *make_sets(set)], progress))
    except InputError as error:
        try:
            errors = json.loads(error.output)["errors"]
        except (ValueError, KeyError):  # the output is not that of `longhand check`
            errors = None
        if not errors:
            raise
        raise SpecError("\n".join(map(_format_error, errors)), errors, command=error.command, code=error.code,
                        output=error.output, said=error.said) from None
