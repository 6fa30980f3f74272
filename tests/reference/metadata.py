"""Sorts the metadata of a safetensors file."""

import json
import struct


def sort_metadata(path):
    """Sorts the metadata by key. The package writes it in any order, and a file must have the same bytes every time."""
    with open(path, "r+b") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, separators=(",", ":")).encode().ljust(size)
        assert len(text) == size
        file.seek(8)
        file.write(text)
