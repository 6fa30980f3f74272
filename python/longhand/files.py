"""JSON, and lines of it, as files of a run have them."""

import json
import warnings

from .errors import LonghandError


def read_lines(path):
    """The objects of a file of JSON lines. A torn last line is skipped with a warning."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
    except OSError as error:
        raise LonghandError(f"{path}: {error.strerror}") from None
    out = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            value = json.loads(line)
            problem = None if isinstance(value, dict) else " is no JSON object"
        except ValueError as error:
            problem = f": {error}"
        if problem is None:
            out.append(value)
        elif number == len(lines):
            warnings.warn(f"{path}: line {number} is torn and was skipped", stacklevel=2)
        else:
            raise LonghandError(f"{path}: line {number}{problem}")
    return out


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise LonghandError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise LonghandError(f"{path}: no JSON: {error}") from None
