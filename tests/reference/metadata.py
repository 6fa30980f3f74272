"""The metadata of the files here, in one order."""

import json
import struct


def sort_metadata(path):
    """The package writes metadata in any order, and a file made again is to be the same file."""
    with open(path, "r+b") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, separators=(",", ":")).encode().ljust(size)
        assert len(text) == size
        file.seek(8)
        file.write(text)
