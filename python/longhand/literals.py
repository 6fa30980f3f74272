"""Lua text of names, numbers and strings, for values (lua.py) and formulas (tracing.py)."""

import math
import numbers
import re

from .errors import LonghandError

WIDTH = 120  # columns of a line
KEYWORDS = frozenset("and break do else elseif end false for function goto if in local nil not or repeat return then "
                     "true until while".split())
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def is_name(text):
    return re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text) is not None and text not in KEYWORDS


def format_string(string):
    """The Lua text of a string, with quotes and escapes."""
    return '"' + re.sub(r'[\x00-\x1f"\\]', lambda c: ESCAPES.get(c[0]) or f"\\{ord(c[0]):03d}", string) + '"'


def format_number(number):
    """The Lua text of a number or a truth value."""
    if isinstance(number, bool):
        return "true" if number else "false"
    if isinstance(number, numbers.Integral):
        return str(int(number))
    number = float(number)
    if not math.isfinite(number):
        raise LonghandError(f"{number}: expected a finite number")
    if number == 0:
        return repr(number)[:-2] if math.copysign(1, number) > 0 else repr(number)  # Lua reads -0 as the integer 0
    return re.sub(r"\.0$", "", re.sub(r"e([+-])0*(?=\d)", lambda e: "e" + e[1].replace("+", ""), repr(number)))


def format_literal(value):
    """The Lua text of a number, a truth value or a string; None for other values."""
    if isinstance(value, str):
        return format_string(value)
    return format_number(value) if isinstance(value, (bool, numbers.Real)) else None
