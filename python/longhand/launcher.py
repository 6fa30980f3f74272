"""Finds ./longhand and runs its commands.

The environment variable LONGHAND_ROOT names the folder of Longhand. If it is not set, the folder of Longhand is the one
that contains python/ with this package, or the python/ from which pip installed the package.
"""

import collections
import functools
import importlib.metadata
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from .errors import BY_CODE, CommandError, LonghandError, MachineError

LAST_LINES = 200  # maximum number of lines of stderr that an exception shows
WATCH_SECONDS = 0.25  # minimum time between two calls of `watch`


def _find_install_source():
    """The folder that pip installed from, as pip records it (PEP 610)."""
    try:
        record = importlib.metadata.distribution("longhand").read_text("direct_url.json")
        url = urllib.parse.urlsplit(json.loads(record or "{}").get("url", ""))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    return pathlib.Path(urllib.parse.unquote(url.path)) if url.scheme == "file" else None


def find_root():
    """The folder of Longhand, which contains ./longhand."""
    configured = os.environ.get("LONGHAND_ROOT")
    python_folder, source = pathlib.Path(__file__).resolve().parents[1], _find_install_source()
    folders = [pathlib.Path(configured)] if configured else [python_folder.parent, *([source.parent] if source else [])]
    for folder in folders:
        if (folder / "longhand").is_file() and (folder / "generator" / "main.lua").is_file():
            return folder
    raise LonghandError(f"there is no Longhand in {' or '.join(map(str, folders))}; without it, only the functions "
                        "that read runs and tensors work\n  expected: LONGHAND_ROOT, the folder of a clone")


def print_line(line):
    """Prints a line of progress to stderr; the default of `progress`."""
    print(line, file=sys.stderr, flush=True)


def ignore_line(_):
    """Ignores a line of progress."""


class _Lines:
    """The lines of a command's stderr, as an iterator that calls `watch` while it waits, and at the end."""

    def __init__(self, stream, watch):
        self.watch, self._queue = watch, queue.SimpleQueue()  # the queue has the lines, and None at the end
        self._due = time.monotonic()  # earliest time of the next call of `watch`
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def _wait(self):
        """The next line, None at the end. While it waits, it calls `watch` again and again, and pauses after each call
        three times as long as the call took, at least WATCH_SECONDS."""
        while self.watch is not None:
            try:
                return self._queue.get(timeout=max(0, self._due - time.monotonic()))
            except queue.Empty:
                start = time.monotonic()
                self.watch()
                end = time.monotonic()
                self._due = end + max(WATCH_SECONDS, 3 * (end - start))
        return self._queue.get()

    def __iter__(self):
        while (line := self._wait()) is not None:
            yield line
        self._queue.put(None)  # ends a second iteration, which follows after Ctrl-C
        if self.watch is not None:
            self.watch()


def _forward_lines(lines, progress, last_lines):
    """Passes each line of the command's stderr to progress, and appends it to `last_lines`."""
    for line in lines:
        last_lines.append(line)
        progress(line)


def _end_command(process, lines, progress, last_lines):
    """Sends SIGINT to a command, as Ctrl-C on a terminal would, and waits until the command ends, so that a trainer can
    write its checkpoint. A second Ctrl-C ends a trainer at once. If this process ignores SIGINT, as background jobs of
    a shell do, the command gets SIGTERM, which has the same effect."""
    stop_signal = signal.SIGTERM if signal.getsignal(signal.SIGINT) == signal.SIG_IGN else signal.SIGINT
    while True:
        try:
            os.killpg(process.pid, stop_signal)
        except ProcessLookupError:
            pass
        try:
            _forward_lines(lines, progress, last_lines)
            return process.wait()
        except KeyboardInterrupt:
            continue


def _start_command(command, output):
    """Starts a command in a new session: the terminal's Ctrl-C reaches only this process, which passes it on."""
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
                                start_new_session=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise MachineError(f"{command[0]}: {error.strerror}", command) from None


def call(words, progress=None, watch=None):
    """Runs ./longhand with a list of arguments and returns its standard output: call(["list", "tasks"]). progress
    receives each line of its standard error; by default, lines are printed to stderr. watch: see run(). A command that
    fails raises a CommandError."""
    if isinstance(words, str):
        raise TypeError(f"{words!r} is a text; expected a list of words, {words.split()!r}")
    return run([find_root() / "longhand", *words], progress, watch)


def run(words, progress=None, watch=None):
    """Runs a command and returns its standard output. progress is called with each line that the command writes to
    stderr; by default, lines are printed to this process's stderr. watch is called without arguments, several times a
    second until the command has ended. After Ctrl-C or an exception in progress or watch, run() ends the command, waits
    for it and raises the exception again. A command that fails raises a CommandError."""
    command = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
    last_lines = collections.deque(maxlen=LAST_LINES)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output, \
            _start_command(command, output) as process:
        lines = _Lines(process.stderr, watch)
        try:
            _forward_lines(lines, progress or print_line, last_lines)
            code = process.wait()
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                progress, lines.watch = ignore_line, None
            _end_command(process, lines, progress or print_line, last_lines)
            raise
        output.seek(0)
        text = output.read()
    if code != 0:
        raise _make_error(command, code, text, "\n".join(last_lines))
    return text


def _make_error(command, code, text, said):
    error_class = BY_CODE.get(code, CommandError)
    end = f"exit code {code}" if code >= 0 else f"ended by signal {-code}"
    line = " ".join([os.path.basename(command[0]), *command[1:]])
    return error_class(f"{line}: {end}\n{said}".rstrip(), command, code, text, said)


@functools.lru_cache(maxsize=None)
def _read_facts_in(folder):
    return json.loads(call(["fields", "--json"], ignore_line))


def read_facts():
    """The object that `longhand fields --json` prints: every field of a spec, and the functions and symbols of
    formulas."""
    return _read_facts_in(find_root())
