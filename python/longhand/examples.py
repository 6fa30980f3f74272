"""Examples of a task from Python objects, which are written to a file that a spec names (docs/own-task.md)."""

import collections.abc
import hashlib
import json
import numbers
import pathlib

from .errors import LonghandError
from .files import replace_file

_format_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Examples:
    """Examples of a task, from Python objects.

        Examples([("1 0 +", "1"), ("1 1 +", "2")])
        Examples(frame, input="question", target="answer")

    given          an iterable of pairs (input, target) or of dicts, or a pandas.DataFrame. A dict or a row has an input
                   and a target, and may have a mask, positions and values on the axes of the task. Input and target are
                   texts or lists of tokens (names or numbers), as in a file of JSON lines; a missing mask, list of
                   positions or value is None or NaN
    input, target  names of the keys, or columns, with inputs and targets
    path           the name of `given` in messages

    The file is written when a spec with these examples is written, next to the spec.

    content        content of the file
    name           name of the file, which contains a digest of the content
    """

    def __init__(self, given, *, input="input", target="target", path="examples"):
        lines = [_format_line(example, (input, target), f"{path}[{index}]")
                 for index, example in enumerate(_list_examples(given, path))]
        if not lines:
            raise LonghandError(f"{path}: found no examples; expected at least one")
        self.content, self._count = b"".join(lines), len(lines)
        self.name = f"examples-{hashlib.sha256(self.content).hexdigest()[:16]}.jsonl"

    def __len__(self):
        return self._count

    def __repr__(self):
        return f"<{self._count} Examples: {self.name}>"

    def write(self, folder):
        """Writes the file into a folder, unless it is there already; returns its path."""
        path = pathlib.Path(folder, self.name)
        if path.is_file() and path.read_bytes() != self.content:
            raise LonghandError(f"{path}: found content that does not match the digest in the name\n  expected: the "
                                "file that was written for this spec; delete the found file, or rename it and give its "
                                "path in the spec")
        replace_file(path, self.content)
        return path


def _list_examples(given, path):
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a DataFrame
        return given.to_dict("records")
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, collections.abc.Iterable):
        raise LonghandError(f"{path}: {given!r:.60} is {_name_type(given)}; expected pairs (input, target), dicts with "
                            "input and target, or a DataFrame")
    return given


def _name_type(value):
    """The type of a value for messages: an int, a str."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _is_missing(value):
    return value is None or isinstance(value, float) and value != value or type(value).__name__ in ("NAType", "NaTType")


def _convert_tokens(value, path):
    """An input or a target, as text or as a list of tokens."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str) and value:
        return value
    if isinstance(value, (str, bytes)) or not isinstance(value, collections.abc.Sequence) or len(value) == 0:
        kind = "empty" if isinstance(value, collections.abc.Sized) and len(value) == 0 else _name_type(value)
        raise LonghandError(f"{path}: {value!r:.60} is {kind}; expected a text, or a list of tokens: names of symbols, "
                            "or numbers from 0")
    for index, token in enumerate(value):
        is_number = isinstance(token, numbers.Integral) and not isinstance(token, bool) and token >= 0
        if not is_number and not isinstance(token, str):
            raise LonghandError(f"{path}[{index}]: {token!r:.60} is {_name_type(token)}; expected the name of a "
                                "symbol, or the number of a token, from 0")
    return [token if isinstance(token, str) else int(token) for token in value]


def _convert_value(value, path):
    """A value on an axis, as an integer. A text is kept: it is in a column that is not an axis, which the trainer
    reports and ignores."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Real) and 0 <= value < 2**31 and value == int(value):
        return int(value)
    raise LonghandError(f"{path}: {value!r:.60} is {_name_type(value)}; expected an integer from 0, which is a "
                        "value on an axis")


def _convert_mask(value, path):
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, (list, tuple)) or not all(item in (0, 1) for item in value):
        raise LonghandError(f"{path}: {value!r:.60} is not a mask; expected a list of 0 and 1, one for each token of "
                            "the target")
    return [int(item) for item in value]


def _convert_positions(value, path):
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, (list, tuple, range)) or not all(
            isinstance(item, numbers.Integral) and item >= 0 for item in value):
        raise LonghandError(f"{path}: {value!r:.60} is not a list of positions; expected integers from 0, one for each "
                            "token of the input, the separator, and each token of the target but the last")
    return [int(item) for item in value]


_CONVERT = {"mask": _convert_mask, "positions": _convert_positions}


def _format_line(example, names, path):
    """The line of an example in the file, as bytes. names: keys of input and target."""
    example = example.tolist() if hasattr(example, "tolist") else example
    if isinstance(example, (list, tuple)) and len(example) == 2:
        example = dict(zip(names, example))
    if not isinstance(example, dict):
        raise LonghandError(f"{path}: {example!r:.60} is {_name_type(example)}; expected a pair (input, target), or a "
                            "dict with input and target")
    line = {}
    for key, name in zip(("input", "target"), names):
        if name not in example:
            raise LonghandError(f"{path}: found {', '.join(map(repr, example))}; expected {name!r}, or other names of "
                                "input and target: Examples(..., input=NAME, target=NAME)")
        line[key] = _convert_tokens(example[name], f"{path}: {name}")
    for key, value in example.items():
        if key not in (*names, "input", "target") and not _is_missing(value):
            line[str(key)] = _CONVERT.get(key, _convert_value)(value, f"{path}: {key}")
    try:
        return (_format_json(line) + "\n").encode()
    except UnicodeEncodeError:
        raise LonghandError(f"{path}: found text with half a surrogate pair; expected Unicode") from None
