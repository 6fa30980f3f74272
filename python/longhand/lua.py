"""Python's values as Lua text, laid out as a person would.

    None                        an error: a field that is absent is left out
    bool, int, float, str       themselves; numpy's numbers, too
    list, tuple, numpy arrays   { 1, 2 }
    dict                        { name = value }
    Table(1, 40, step=3)        { 1, 40, step = 3 }
    range(1, 41)                { 1, 40 }: the lengths that it goes over; range(20, 201, 20) is { 20, 200, step = 20 }
    a function                  a formula, traced (tracing.py)
"""

import math
import numbers
import re

from .errors import LonghandError

WIDTH = 120
KEYWORDS = frozenset("and break do else elseif end false for function goto if in local nil not or repeat return then "
                     "true until while".split())
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Table:
    """A Lua table: values without a name, then fields. Table(kind="rope") is the same as {"kind": "rope"}."""

    def __init__(self, *items, **fields):
        self.items, self.fields = list(items), fields

    def __repr__(self):
        return value(self)


def is_name(text):
    return re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text) is not None and text not in KEYWORDS


def text(string):
    """A string with its quotes."""
    return '"' + re.sub(r'[\x00-\x1f"\\]', lambda c: ESCAPES.get(c[0]) or f"\\{ord(c[0]):03d}", string) + '"'


def number(n):
    if isinstance(n, bool):
        return "true" if n else "false"
    if isinstance(n, numbers.Integral):
        return str(int(n))
    n = float(n)
    if not math.isfinite(n):
        raise LonghandError(f"{n}: expected a finite number")
    if n == 0:
        return repr(n)[:-2] if math.copysign(1, n) > 0 else repr(n)  # Lua's -0 is 0
    return re.sub(r"\.0$", "", re.sub(r"e([+-])0*(?=\d)", lambda e: "e" + e[1].replace("+", ""), repr(n)))


def table_of(given, path):
    """A value that stands for a table as a Table, else None."""
    if isinstance(given, Table):
        return given
    if isinstance(given, range):
        if len(given) == 0 or given.step < 1:
            raise LonghandError(f"{path}: {given} holds no ascending lengths")
        return Table(given[0], given[-1], **({"step": given.step} if given.step > 1 else {}))
    if isinstance(given, dict):
        table = Table()
        table.fields = given
        return table
    return Table(*given) if isinstance(given, (list, tuple)) else None


def value(given, path="", indent=0, used=0):
    """The text of a value; `path` names it in messages, `used` are the columns of its line that are taken."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, str):
        return text(given)
    if isinstance(given, (bool, numbers.Real)):
        return number(given)
    table = table_of(given, path)
    if table is not None:
        return _table(table, path, indent, used)
    from . import tracing  # which writes numbers and tables with this module
    if isinstance(given, tracing.Traced):
        return tracing.expression(given)
    if callable(given):
        return tracing.function(given, path, indent, used)
    raise LonghandError(f"{path}: {given!r} is a {type(given).__name__}; expected a number, a text, True or False, a "
                        "list, a dict, a Table, a range or, for a score, a function")


def _parts(table, path, indent):
    parts = [("", value(item, f"{path}[{place}]", indent)) for place, item in enumerate(table.items, 1)]
    for name, inner in table.fields.items():
        if not isinstance(name, str):
            raise LonghandError(f"{path}: {name!r} is no name of a field; expected a text")
        name_text = name if is_name(name) else f"[{text(name)}]"
        parts.append((name_text, value(inner, f"{path}.{name}".lstrip("."), indent, len(name_text) + 3)))
    return parts


def _table(table, path, indent, used):
    """In one line where there is room, else a field per line."""
    parts = _parts(table, path, indent + 2)
    if not parts:
        return "{}"
    lines = [f"{name} = {inner}" if name else inner for name, inner in parts]
    line = "{ " + ", ".join(lines) + " }"
    if "\n" not in line and indent + used + len(line) < WIDTH:
        return line
    if not table.fields and not any("\n" in inner for inner in lines):
        return "{\n" + _filled(lines, indent + 2) + "\n" + " " * indent + "}"
    return "{\n" + "".join(f"{' ' * (indent + 2)}{inner},\n" for inner in lines) + " " * indent + "}"


def _filled(words, indent):
    """A list as lines that are full."""
    lines, line = [], " " * indent
    for word in words:
        if len(line) + len(word) + 1 > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += word + ", "
    return "\n".join([*lines, line.rstrip().rstrip(",")])
