"""Follows files of JSON lines, to which trainers append while they train."""

import os
import pathlib
import warnings
import zlib

from .errors import LonghandError, LonghandWarning
from .files import MAX_BYTES, open_file, parse_run_line


class Tail:
    """The complete lines of a run's file, which may grow. It may also lose lines at its end, since --resume removes the
    lines of steps after the checkpoint."""

    def __init__(self, path):
        self.path = path
        self._checksums = []  # of the lines that were read, in the order of the file
        self._end, self._last_line = 0, b""  # the end of the last of these lines, in bytes of the file, and its text

    def read(self):
        """Compares the file with the lines that earlier calls read. Returns the number of lines at its beginning that
        are unchanged, and a list of the lines after them, as bytes. A missing file counts as unchanged."""
        try:
            file = open_file(self.path, MAX_BYTES[os.path.basename(self.path)])
        except LonghandError:
            return len(self._checksums), []
        old_checksums = self._checksums
        with file:
            file.seek(self._end - len(self._last_line))
            if file.read(len(self._last_line)) != self._last_line:
                file.seek(0)
                self._checksums, self._end, self._last_line = [], 0, b""
            text = file.read()
        lines = text[:text.rfind(b"\n") + 1].splitlines(keepends=True)
        self._checksums = self._checksums + [zlib.crc32(line) for line in lines]
        self._end += sum(map(len, lines))
        self._last_line = lines[-1] if lines else self._last_line
        unchanged = len(os.path.commonprefix([old_checksums, self._checksums]))
        skipped = len(self._checksums) - len(lines)  # number of lines before those that this call has read
        return unchanged, lines[unchanged - skipped:]


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
        """The object in a line; None for a damaged line. Warns about the first damaged line of each file."""
        try:
            return parse_run_line(path, number, text)
        except LonghandError as error:
            if path not in self._damaged:
                warnings.warn(f"{error}; damaged lines of this file are skipped", LonghandWarning, stacklevel=4)
            self._damaged.add(path)
            return None

    def read(self):
        """Yields a dict for each new line: id, digest and name of its run, and the fields of the line. Empty and
        damaged lines are skipped; for damaged lines, there is one warning for each file."""
        for path, unchanged, lines in self._read_tails():
            identity, digest, run = path.parts[-4:-1]
            for number, text in enumerate(lines, unchanged + 1):
                line = self._parse_line(path, number, text) if text != b"\n" else None
                if line is not None:
                    yield {"id": identity, "digest": digest, "run": run, **line}
