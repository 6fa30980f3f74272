"""Writes event files of TensorBoard from the files of runs, with --follow also while the runs train. Needs no package.

`./longhand export tensorboard` calls `python3 -m longhand.events RUNS OUT [--follow]`. Exit codes: 0, success; 1, a run
is damaged and was left out, or RUNS cannot be read; 2, wrong arguments; 4, OUT cannot be written.

The bytes of an event file depend only on the lines of its run and on the time of the file's first event. So an export
appends the events that a file lacks, even if a kill cut the file short. If lines of a run have changed, a new file
replaces the old one: --resume repeats steps after the last checkpoint, and writes their lines again.
"""

import datetime
import math
import os
import statistics
import struct
import sys
import time
import warnings

from .errors import LonghandError, LonghandWarning
from .files import is_number, make_folder, open_file
from .reading import Run, get_key

# Numeric fields of a line that are not measurements.
NO_MEASURES = ("step", "by", "examples", "of", "batch", "draws", "counted", "seconds", "epoch")
SPACES_FOR_CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")  # a terminal would obey control characters
STOPPED = 75  # exit code of a run that continues later
PAUSE = 1  # seconds between two readings of the files
# Seconds without a change after which --follow ends: QUIET_ENDED if all runs have ended, QUIET_UNENDED if a run has
# not. A run may need minutes for a line, and a cluster may need minutes to restart a stopped task.
QUIET_ENDED, QUIET_UNENDED = 60, 600


# ---- the format: records of TensorFlow with protocol buffers (tensorflow.Event, tensorflow.Summary) ----

def _make_checksum_table():
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


CHECKSUM_TABLE = _make_checksum_table()


def compute_checksum(data):
    """The CRC-32C of bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CHECKSUM_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _encode_checksum(data):
    """The masked checksum of record files: rotated by 15 bits, plus a constant."""
    crc = compute_checksum(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _encode_integer(value):
    """A variable-length integer of protocol buffers."""
    value, groups = value & (1 << 64) - 1, bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _encode_field(number, data):
    """A field of protocol buffers that contains bytes."""
    return bytes([number << 3 | 2]) + _encode_integer(len(data)) + data


def _encode_float(value):
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def _encode_record(seconds, fields):
    """The record of an event: its time, and its other fields."""
    data = b"\x09" + struct.pack("<d", seconds) + fields
    length = struct.pack("<Q", len(data))
    return length + _encode_checksum(length) + data + _encode_checksum(data)


def _encode_event(event):
    seconds, step, values = event
    summary = b"".join(_encode_field(1, _encode_field(1, name.encode("utf-8", "replace")) + b"\x15" + value)
                       for name, value in values.items())
    return _encode_record(seconds, b"\x10" + _encode_integer(step) + _encode_field(5, summary))


def _encode_head(seconds):
    """The first records: the version of the format, and the start of a session at step 0, at which TensorBoard drops
    the events of earlier files of the run."""
    return _encode_record(seconds, _encode_field(3, b"brain.Event:2")) + \
        _encode_record(seconds, _encode_field(7, b"\x08\x01"))


def _decode_time(head):
    """The time of the first record, from the first bytes of a file; None if they contain no time."""
    return struct.unpack("<d", head[13:21])[0] if len(head) >= 21 and head[12] == 9 else None


# ---- events of a run: (time, step, {name: encoded value}) ----

def _list_measures(line):
    for name, value in line.items():
        if name not in NO_MEASURES and (isinstance(value, float) or is_number(value)):
            yield name, value


def _encode_values(prefix, measures):
    return {f"{prefix}/{name}": _encode_float(value) for name, value in measures}


def _average(values):
    try:
        return statistics.fmean(values)
    except (OverflowError, ValueError):  # the sum is too large, or values are infinite
        return sum(map(float, values)) / len(values)


def _average_evaluations(evaluations):
    """Pairs (step, encoded values) for the steps with evaluations during training, by ascending steps. A value is the
    mean over the conditions of an evaluation."""
    by_step = {}
    for line in evaluations:
        for name, value in _list_measures(line):
            if line.get("split") == "during":
                values = by_step.setdefault(line["step"], {})
                values.setdefault(f"{line.get('set', 'all')}/{name}", []).append(value)
    return [(step, _encode_values("during", ((name, _average(numbers)) for name, numbers in values.items())))
            for step, values in sorted(by_step.items())]


def _list_final_events(evaluations, seconds):
    """Events of evaluations by one axis, after training; the step of an event is the value on this axis."""
    for line in evaluations:
        by = line.get("by") or {}
        if line.get("split") not in (None, "during") and len(by) == 1 and "seed" not in line:
            (axis, value), = by.items()
            if math.floor(value) == value:  # TensorBoard needs whole steps
                yield seconds, int(value), _encode_values(f"{line['split']}_by_{axis}", _list_measures(line))


def _list_events(run, start, has_ended):
    """All events of a run. start: time of its first step. If a run has not ended, an evaluation is left out until a
    later line of metrics shows that the evaluation is complete."""
    seconds, events, evaluations = start, [], run.evaluations()
    during = _average_evaluations(evaluations)
    for line in run.metrics():
        while during and during[0][0] < line["step"]:
            events.append((seconds, *during.pop(0)))
        seconds = start + (line.get("seconds") or 0)
        events.append((seconds, line["step"], _encode_values("training", _list_measures(line))))
    if has_ended:
        events += [(seconds, *event) for event in during]
        events += _list_final_events(evaluations, seconds)
    return events


def _read_start(run):
    """The time of a run's start in seconds since 1970; the current time if run.json has none."""
    try:
        return datetime.datetime.fromisoformat(str(run.info["started"]).replace("Z", "+00:00")).timestamp()
    except (KeyError, ValueError, OverflowError):
        return time.time()


# ---- files ----

def _write(path, data, flags):
    """Appends bytes to a file, all of them or none."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o666)
    try:
        size, unwritten = os.fstat(handle).st_size, memoryview(data)
        try:
            while unwritten:
                unwritten = unwritten[os.write(handle, unwritten):]
        except BaseException as error:
            os.ftruncate(handle, size)
            if isinstance(error, OSError):
                error.filename = os.fspath(path)
            raise
    finally:
        os.close(handle)


class _EventFile:
    """The event file of a run, in a folder of its own."""

    def __init__(self, folder):
        self._folder, self._path = folder, None
        self._events, self._size = [], -1  # events and size of the file as this object wrote it; -1: it wrote no file
        for path in sorted(folder.glob("events.out.tfevents.*.longhand")):
            if path.is_file() and not path.is_symlink():
                self._path = path
        self._start = _decode_time(self._read())  # time of the file's first record; None: there is no file yet

    def _read(self):
        if self._path is None or not self._path.is_file():
            return b""
        with open_file(self._path) as file:
            return file.read()

    def _is_unchanged(self):
        """Whether the file has the size that this object left: no other export has appended to it."""
        return self._path is not None and self._path.is_file() and self._path.stat().st_size == self._size

    def _replace(self, data):
        """Writes a new file, whose name sorts after the names of older files, and removes the older files."""
        old_paths = sorted(self._folder.glob("events.out.tfevents.*"))
        number = int(self._path.name.split(".")[3]) + 1 if self._path else 1
        self._path = self._folder / f"events.out.tfevents.{number:08d}.longhand"
        _write(self._path, data, os.O_CREAT | os.O_EXCL)
        for path in old_paths:
            path.unlink()

    def update(self, run, has_ended):
        """Writes the events of a run that the file lacks."""
        if self._start is None:
            self._start = _read_start(run)
        events, written = _list_events(run, self._start, has_ended), len(self._events)
        if self._is_unchanged() and events[:written] == self._events:
            data = b"".join(map(_encode_event, events[written:]))
            _write(self._path, data, 0)
            self._size += len(data)
        else:
            data, old_data = _encode_head(self._start) + b"".join(map(_encode_event, events)), self._read()
            if old_data and data.startswith(old_data):
                _write(self._path, data[len(old_data):], 0)
            else:
                self._replace(data)
            self._size = len(data)
        self._events = events


# ---- runs ----

def _find_folders(root, warn):
    """The folders of each run below `root`, by the run's key: the run's own folder, and those of attempts by tasks of a
    cluster. warn: called with the path and the error of a folder that cannot be read."""
    folders_by_key = {}
    for folder, folders, names in os.walk(root, onerror=lambda error: warn(error.filename, error)):
        folders[:] = sorted(name for name in folders if name == ".attempts" or not name.startswith("."))
        if os.path.basename(os.path.dirname(folder)) == ".attempts":
            folders[:] = [name for name in folders if name != "replaced"]  # "replaced" has former folders of runs
        if "run.json" in names:
            folders_by_key.setdefault(get_key(folder), []).append(folder)
    return folders_by_key


def _read_states(folder):
    """The state of each of a run's files, which changes when the file does: (size, time of the last change, inode)."""
    states = []
    for name in ("run.json", "eval.jsonl", "metrics.jsonl"):
        try:
            status = os.stat(os.path.join(folder, name))
            states.append((status.st_size, status.st_mtime_ns, status.st_ino))
        except OSError:
            states.append((0, 0, 0))
    return states


def _choose_folder(folders):
    """The run's own folder if there is one, otherwise the attempt with the largest file of metrics; and the states of
    the folder's files."""
    own_folders = [folder for folder in folders if f"{os.sep}.attempts{os.sep}" not in folder]
    return max(((folder, _read_states(folder)) for folder in own_folders or folders), key=lambda pair: pair[1][-1][0])


class _Export:
    """The event files of all runs in a folder."""

    def __init__(self, root, out, follow):
        self._root, self._out, self._follow = root, out, follow
        self._files = {}  # by the key of a run: its event file
        self._states = {}  # by the key of a run: its folder and the states of its files
        self._unended = {}  # by the key of a run that has not ended: the time of the last change
        self._warned = set()  # keys of runs, and paths of folders, with a warning

    @property
    def count(self):
        """Number of the runs with an event file."""
        return len(self._files)

    @property
    def is_training(self):
        """Whether there is no run yet, or files of a run that has not ended have changed in the last
        QUIET_UNENDED seconds."""
        now = time.monotonic()
        return not self._states or any(now - changed < QUIET_UNENDED for changed in self._unended.values())

    def _warn(self, key, error):
        """Warns once for each key: the key of a run that is left out, or the path of a folder that cannot be read."""
        if key not in self._warned:
            warnings.warn(f"{error}; left out", LonghandWarning, stacklevel=4)
        self._warned.add(key)

    def _update_run(self, key, folder, age):
        """Writes new events of a run. age: seconds since the last change of the run's files."""
        run = Run(folder)
        has_ended = run.info.get("exit") not in (None, STOPPED)
        if not has_ended:
            self._unended[key] = time.monotonic() - age
        if key not in self._files:
            self._files[key] = _EventFile(make_folder(self._out, *key))
        self._files[key].update(run, has_ended or not self._follow)

    def update(self):
        """Writes new events of all runs; returns whether files of a run had changed."""
        folders_by_key = _find_folders(self._root, self._warn)
        removed = self._unended.keys() - folders_by_key.keys()
        for key in removed:
            del self._unended[key]
        changed = bool(removed)
        for key, folders in sorted(folders_by_key.items()):
            choice = _choose_folder(folders)
            if choice == self._states.get(key):
                continue
            # The clock of a disk may differ from that of this machine, so its times count only at the first reading.
            age = 0 if key in self._states else time.time() - max(state[1] for state in choice[1]) / 1e9
            changed, self._states[key] = True, choice
            self._unended.pop(key, None)
            try:
                self._update_run(key, choice[0], max(0, age))
            except LonghandError as error:
                self._warn(key, error)
        return changed


def export(root, out, follow=False):
    """Writes the events of each run in a folder to OUT/<id>/<digest>/<run> and returns the number of exported runs. A
    damaged run is left out with a warning. With follow, new events are written while runs train, until Ctrl-C, or until
    no file of a run has changed for a minute; for ten minutes if a run has not ended.

    Metrics and the means of evaluations during training, over all conditions, have the training step as their step.
    Evaluations of the trained model by one axis have the value on this axis, such as the length, as their step.
    Evaluations by several axes, at values that are not integers, or with a seed of their own are left out."""
    if not os.path.isdir(root):
        raise LonghandError(f"{root}: no such folder")
    event_files, last_change = _Export(root, out, follow), time.monotonic()
    while True:
        start = time.monotonic()
        try:
            has_changed = event_files.update()
            end = time.monotonic()
            last_change = end if has_changed or event_files.is_training else last_change
            if not follow or end - last_change >= QUIET_ENDED:
                return event_files.count
            time.sleep(max(PAUSE, 3 * (end - start)))
        except KeyboardInterrupt:
            if not follow:
                raise
            return event_files.count


def main(words):
    follow = words[2:] == ["--follow"]
    if len(words) != (3 if follow else 2):
        print("usage: python3 -m longhand.events RUNS OUT [--follow]", file=sys.stderr)
        return 2
    runs, out, left_out = *words[:2], []

    def show(message, category, *_):
        if category is LonghandWarning:
            left_out.append(message)
        elif category is not UserWarning or follow:  # a trainer may still be writing a line that looks incomplete
            return
        print(f"longhand export tensorboard: {message}".translate(SPACES_FOR_CONTROLS), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        if follow:
            print(f"{out}: follows {runs} until Ctrl-C or the runs' end; tensorboard --logdir {out}", flush=True)
        try:
            count = export(runs, out, follow)
        except LonghandError as error:
            print(f"longhand export tensorboard: {error}", file=sys.stderr)
            return 1
        except OSError as error:
            print(f"longhand export tensorboard: {error.filename or out}: {error.strerror}", file=sys.stderr)
            return 4
    print(f"{out}: events of {count} {'run' if count == 1 else 'runs'}; tensorboard --logdir {out}")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
