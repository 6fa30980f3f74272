"""Reads the files of runs, which are untrusted, with the checks of ./longhand: only regular files of bounded size, and
only lines of JSON with valid fields. Writes files completely or not at all, and makes folders, but not through links.
"""

import json
import os
import pathlib
import stat
import sys
import warnings

from .errors import LonghandError

# Maximum sizes in bytes, equal to those of lab/study/read/run_shapes.lua.
MAX_BYTES = {"run.json": 4 << 20, "eval.jsonl": 256 << 20, "metrics.jsonl": 256 << 20}
MAX_LINE_BYTES = 1 << 20


def open_file(path, largest=None):
    """Opens a regular file to read bytes; refuses devices, and pipes, which could block. largest: the maximum size in
    bytes; None: no limit."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise LonghandError(f"{path}: {error.strerror}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise LonghandError(f"{path}: found no regular file; expected one")
    if largest is not None and status.st_size > largest:
        os.close(handle)
        raise LonghandError(f"{path}: found {status.st_size} bytes; expected at most {largest}")
    return os.fdopen(handle, "rb")


def decode(text):
    """Decodes JSON of unknown origin; raises ValueError if it is invalid or nested too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def is_number(value):
    """Whether a decoded value is a finite number that fits a double: JSON has integers of any size."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def is_whole_number(value):
    return isinstance(value, int) and is_number(value)


def _make_type_check(kind):
    return lambda value: isinstance(value, kind)


def _is_text_list(value):
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_number_dict(value):
    return isinstance(value, dict) and all(map(is_number, value.values()))


# Fields of lines and of run.json with measured numbers. JSON has 1 for 1.0, and null for a number that is not finite.
MEASURES = frozenset("accuracy accuracy_teacher_forced clipped_share ended_early epoch_accuracy exact_match "
                     "exact_match_high exact_match_low grad_norm learning_rate loss not_ended parameter_norm "
                     "sd_over_draws sd_over_sequences seconds steps_per_second train_seconds trained "
                     "update_norm".split())

# The type of each field that this package uses, as a check and its name. Other fields may have any type.
WHOLE_NUMBER, TEXT = (is_whole_number, "a whole number"), (_make_type_check(str), "a text")
FIELDS = {"step": WHOLE_NUMBER, "split": TEXT, "set": TEXT, "decoding": TEXT,
          "by": (_is_number_dict, "numbers by name"), "beyond": (_is_text_list, "a list of texts"),
          "novel": (_make_type_check(bool), "true or false"), "seed": WHOLE_NUMBER,
          **dict.fromkeys(sorted(MEASURES), (is_number, "a number"))}


def _find_problem(value):
    """A message if an object from a line of a run's file has no step, or a field of the wrong type; otherwise None."""
    if value.get("step") is None:
        return ": step: found nothing; expected a whole number"
    for name, (fits, expected) in FIELDS.items():
        if value.get(name) is not None and not fits(value[name]):
            return f": {name}: found {str(value[name])[:40]!r}; expected {expected}"
    return None


def make_floats(fields):
    """A copy of a dict in which measured numbers are floats, and None in their place is nan."""
    def convert(value):
        return float("nan") if value is None else float(value) if is_number(value) else value

    return {name: convert(value) if name in MEASURES else value for name, value in fields.items()}


def _parse_line(text, find_problem):
    """The decoded value of a line, and a message on its error or None."""
    try:
        value = decode(text.decode("utf-8", errors="replace"))
    except ValueError as error:
        return None, f": {error}"
    return value, find_problem(value) if isinstance(value, dict) else " is not a JSON object"


def read_lines(path, largest=None, longest=-1, find_problem=lambda value: None):
    """Reads a file of JSON lines; returns a list of its objects. A torn (incomplete) last line is skipped with a
    warning. largest: the maximum size of the file in bytes; longest: the size in bytes that a line must not reach (-1:
    no limit); find_problem: a function that returns a message about a wrong object, else None. A larger file, a longer
    line or a wrong object raises a LonghandError."""
    objects, number = [], 0
    with open_file(path, largest) as file:
        while line := file.readline(longest):
            number += 1
            if len(line) == longest:
                raise LonghandError(f"{path}: line {number}: found {longest} bytes or more; expected fewer")
            value, problem = _parse_line(line, find_problem) if line != b"\n" else (None, None)
            if problem and not line.endswith(b"\n"):
                warnings.warn(f"{path}: line {number} is torn and was skipped", stacklevel=2)
            elif problem:
                raise LonghandError(f"{path}: line {number}{problem}")
            elif value is not None:
                objects.append(value)
    return objects


def read_run_lines(folder, name):
    """Reads the lines of the file `name` in a run's folder; an empty list if the file is missing."""
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        return []
    return [make_floats(line) for line in read_lines(path, MAX_BYTES[name], MAX_LINE_BYTES, _find_problem)]


def parse_run_line(path, number, text):
    """The object in a line of a run's file; a wrong object raises a LonghandError. number: the line's number, from 1,
    for messages."""
    value, problem = _parse_line(text, _find_problem)
    if problem:
        raise LonghandError(f"{path}: line {number}{problem}")
    return make_floats(value)


def read_json(path):
    with open_file(path, MAX_BYTES.get(os.path.basename(path))) as file:
        text = file.read()
    try:
        return decode(text)
    except ValueError as error:
        raise LonghandError(f"{path}: no JSON: {error}") from None


def replace_file(path, content):
    """Makes `content` (bytes) the content of a file, completely or not at all, and makes its folder. A file that has
    this content already is left as it is."""
    path = pathlib.Path(path)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.read_bytes() == content:
            return
        try:
            with open(partial, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise LonghandError(f"{error.filename or path}: {error.strerror}") from None


def make_folder(root, *below):
    """Creates folders `below`, each in the previous one, in the folder `root`, which the user has named; returns the
    path of the last. Raises a LonghandError if one of them is a link."""
    folder = pathlib.Path(root)
    folder.mkdir(parents=True, exist_ok=True)
    for name in below:
        folder = folder / name
        if folder.is_symlink():
            raise LonghandError(f"{folder}: found a link; expected a folder, since nothing is written or deleted "
                                "through a link")
        folder.mkdir(exist_ok=True)
    return folder
