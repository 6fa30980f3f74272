"""Follows files of JSON lines, to which trainers append while they train."""

import os
import pathlib
import warnings
import zlib

from .errors import LonghandError, LonghandWarning
from .files import LARGEST, open_file, parse_run_line


class Tail:
    """The complete lines of a run's file, which may grow, or lose lines: --resume removes those of lost steps."""

    def __init__(self, path):
        self.path = path
        self._sums = []  # checksums of the lines that were read, in the order of the file
        self._place, self._last = 0, b""  # end of the last of these lines, and its text

    def read(self):
        """Returns how many of the lines that were read before are still the first lines of the file, and a list of the
        lines after them, as bytes. A missing file counts as unchanged."""
        try:
            file = open_file(self.path, LARGEST[os.path.basename(self.path)])
        except LonghandError:
            return len(self._sums), []
        before = self._sums
        with file:
            file.seek(self._place - len(self._last))
            if file.read(len(self._last)) != self._last:
                file.seek(0)
                self._sums, self._place, self._last = [], 0, b""
            text = file.read()
        lines = text[:text.rfind(b"\n") + 1].splitlines(keepends=True)
        self._sums = self._sums + [zlib.crc32(line) for line in lines]
        self._place += sum(map(len, lines))
        self._last = lines[-1] if lines else self._last
        kept = len(os.path.commonprefix([before, self._sums]))
        return kept, lines[kept + len(lines) - len(self._sums):]


class Metrics:
    """New lines of metrics.jsonl of the runs in a folder. The lines that exist at first are not new."""

    def __init__(self, root, pattern):
        """pattern: a glob pattern of the folders of runs below `root`."""
        self._root, self._pattern, self._tails = pathlib.Path(root).absolute(), f"{pattern}/metrics.jsonl", {}
        self._damaged = set()  # paths of files with a warning
        self._read_tails()

    def _read_tails(self):
        return [(path, *self._tails.setdefault(path, Tail(path)).read())
                for path in sorted(self._root.glob(self._pattern))]

    def _parse_line(self, path, number, text):
        """The object in a line; None for a damaged one, of which the first in a file is reported."""
        try:
            return parse_run_line(path, number, text)
        except LonghandError as error:
            if path not in self._damaged:
                warnings.warn(f"{error}; damaged lines of this file are skipped", LonghandWarning, stacklevel=4)
            self._damaged.add(path)
            return None

    def read(self):
        """Yields a dict for each new line: id, digest and name of its run, and the fields of the line. Empty and
        damaged lines are skipped, the latter with a warning for each file."""
        for path, kept, lines in self._read_tails():
            identity, digest, run = path.parts[-4:-1]
            for number, text in enumerate(lines, kept + 1):
                line = self._parse_line(path, number, text) if text != b"\n" else None
                if line is not None:
                    yield {"id": identity, "digest": digest, "run": run, **line}
