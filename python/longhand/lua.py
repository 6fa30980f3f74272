"""Converts Python values to readable Lua text.

    None                        for a field, no field; in a list an error
    bool, int, float, str       the same value; also numbers of numpy
    list, tuple, numpy arrays   { 1, 2 }
    dict                        { name = value }
    Table(1, 40, step=3)        { 1, 40, step = 3 }
    range(1, 41)                { 1, 40 }: the lengths in the range; range(20, 201, 20) is { 20, 200, step = 20 }
    pathlib.Path, Examples      the text of the path; the name of the file of the examples (examples.py)
    a function                  the formula that the function computes (tracing.py)
"""

import os

from . import tracing
from .errors import LonghandError
from .examples import Examples
from .literals import WIDTH, format_literal, is_name


class Table:
    """A Lua table: items without names, then named fields. Table(1, 40, step=3) is { 1, 40, step = 3 } in Lua;
    Table(kind="rope") is the same as the dict {"kind": "rope"}."""

    def __init__(self, *items, **fields):
        self.items, self.fields = list(items), fields

    def __repr__(self):
        return format_value(self)


def make_table(value, path):
    """The Table of a value that represents a table, else None."""
    if isinstance(value, Table):
        return value
    if isinstance(value, range):
        if len(value) == 0 or value.step < 1:
            raise LonghandError(f"{path}: found {value}; expected a range of ascending lengths, with at least one")
        return Table(value[0], value[-1], **({"step": value.step} if value.step > 1 else {}))
    if isinstance(value, dict):
        table = Table()
        table.fields = value
        return table
    return Table(*value) if isinstance(value, (list, tuple)) else None


def format_value(value, path="", indent=0, used=0):
    """The Lua text of a value. `path` names the value in messages; `indent` is the indentation of its first line, and
    `used` the number of further columns before the value in this line."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (os.PathLike, Examples)):
        value = value.name if isinstance(value, Examples) else os.fspath(value)
    written = format_literal(value)
    if written is not None:
        return written
    table = make_table(value, path)
    if table is not None:
        return _format_table(table, path, indent, used)
    if isinstance(value, tracing.Traced):
        return tracing.format_expression(value)
    if callable(value):
        return tracing.format_function(value, path, indent, used)
    raise LonghandError(f"{path}: {value!r} is a {type(value).__name__}; expected a number, a text, True or False, a "
                        "list, a dict, a Table, a range or, for a score, a function")


def _format_parts(table, path, indent):
    """The items and fields of a table as pairs (name or "", text of the value)."""
    parts = [("", format_value(item, f"{path}[{index}]", indent)) for index, item in enumerate(table.items, 1)]
    for name, inner in table.fields.items():
        if not isinstance(name, str):
            raise LonghandError(f"{path}: {name!r} is not the name of a field; expected a text")
        if inner is None:
            continue
        name_text = name if is_name(name) else f"[{format_literal(name)}]"
        parts.append((name_text, format_value(inner, f"{path}.{name}".lstrip("."), indent, len(name_text) + 3)))
    return parts


def _format_table(table, path, indent, used):
    """The text of a table: one line if the table fits, else one line for each field."""
    parts = _format_parts(table, path, indent + 2)
    if not parts:
        return "{}"
    lines = [f"{name} = {inner}" if name else inner for name, inner in parts]
    line = "{ " + ", ".join(lines) + " }"
    if "\n" not in line and indent + used + len(line) < WIDTH:
        return line
    if not table.fields and not any("\n" in inner for inner in lines):
        return "{\n" + _fill_lines(lines, indent + 2) + "\n" + " " * indent + "}"
    return "{\n" + "".join(f"{' ' * (indent + 2)}{inner},\n" for inner in lines) + " " * indent + "}"


def _fill_lines(words, indent):
    """The items of a list, as many in each line as fit."""
    lines, line = [], " " * indent
    for word in words:
        if len(line) + len(word) + 1 > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += word + ", "
    return "\n".join([*lines, line.rstrip().rstrip(",")])
