"""An experiment, written in Python and kept as the Lua file that a person would have written."""

import json
import os
import pathlib
import tempfile

from . import launcher, lua
from .errors import InputError, LonghandError, SpecError


class Spec:
    """What to train: task, encoding, model, train and eval, as `./longhand fields` has them.

        Spec("own_bias.lua", task={"kind": "bucket_sort"}, encoding={"score": my_bias, "parameters": {...}},
             model={"use": "ruoss_encoder"}, train={"use": "quick", "steps": 600}, eval={"use": "quick"})

    Tables are dicts, or Table(...) where Lua's have values without names; ranges are lengths; a score is a function
    (longhand.functions has what it may call). The base name of the file is the id of its runs.

    path      of the file, or None
    sections  as given
    """

    def __init__(self, path=None, **sections):
        self.path, self.sections = path and pathlib.Path(path), sections

    @property
    def text(self):
        """The file, as Lua."""
        widest = max(map(len, self.sections), default=0)
        lines = [f"  {name:{widest}} = {lua.value(given, name, 2, widest + 3)},\n"
                 for name, given in self.sections.items()]
        return "return {\n" + "".join(lines) + "}\n"

    def __repr__(self):
        return f"Spec({str(self.path) if self.path else None!r})"

    def write(self, path=None):
        """Writes the file, whole or not at all, and returns its path."""
        self.path = pathlib.Path(path) if path else self.path
        if self.path is None:
            raise LonghandError('the spec has no file, and its runs are named after one\n  expected: '
                                'Spec("NAME.lua", ...), or write("NAME.lua")')
        text, partial = self.text, self.path.with_name(self.path.name + ".partial")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, self.path)
        except OSError as error:
            raise LonghandError(f"{self.path}: {error.strerror}") from None
        return self.path

    def check(self):
        """Asks `longhand check`, and writes the file where the spec has one. Returns { id, digest, path }; raises a
        SpecError that holds every mistake."""
        if self.path:
            return check(self)
        with tempfile.TemporaryDirectory() as folder:
            return check(Spec(os.path.join(folder, "spec.lua"), **self.sections))


def word(spec):
    """A spec as a word of a command line: a Spec writes its file; all else is a path, an id or STUDY:CELL."""
    return spec.write() if isinstance(spec, Spec) else os.fspath(spec)


def sets(given):
    """What is set in a spec for once, {"train.steps": 5}, as words of a command line."""
    return [w for path, new in (given or {}).items() for w in ("--set", f"{path}={lua.value(new, path)}")]


def _line(error):
    at = ":".join(str(error[key]) for key in ("path", "line", "col") if key in error) or error.get("set")
    lines = [": ".join(filter(None, [at, "error", error.get("field"), error["what"]]))]
    lines += [f"  note: {note['what']}" for note in error.get("notes", [])]
    return "\n".join(lines + [f"  {key}: {error[key]}" for key in ("expected", "hint") if key in error])


def check(spec, set=None, progress=None):
    """Whether a spec (a Spec, a path, an id) can be trained: { id, digest, path }. Raises a SpecError that holds every
    mistake, each with the field, what was found, what was expected and a hint. Warnings go to progress."""
    try:
        return json.loads(launcher.call(["check", word(spec), "--json", *sets(set)], progress))
    except InputError as error:
        errors = json.loads(error.output or "{}").get("errors")
        if not errors:
            raise
        raise SpecError("\n".join(map(_line, errors)), errors, command=error.command, code=error.code,
                        output=error.output, said=error.said) from None
