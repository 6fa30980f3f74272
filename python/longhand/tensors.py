"""Reads tensors from safetensors files, such as checkpoints and the files of `trainer trace`.

Files are mapped into memory, so only the tensors that are used are read from disk. A tensor is a numpy array if numpy
is installed, else a memoryview of the same shape (`weight[0, 3]`, `weight.shape`, `weight.tolist()`).
"""

import math
import mmap
import os
import re
import struct
import sys
from collections.abc import Mapping

from .errors import LonghandError
from .files import decode, open_file

try:
    import numpy
except ImportError:
    numpy = None

# safetensors type -> (format of the struct module, bytes of one element).
TYPES = {"F32": ("f", 4), "F64": ("d", 8), "I8": ("b", 1), "U8": ("B", 1), "I16": ("h", 2), "U16": ("H", 2),
         "I32": ("i", 4), "U32": ("I", 4), "I64": ("q", 8), "U64": ("Q", 8), "BOOL": ("?", 1)}
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors format
MAX_DIMENSIONS = 64


class Tensors(Mapping):
    """The tensors of a safetensors file: a mapping from names to tensors, in the order of the file. It is a context
    manager; a tensor stays valid after close().

    path      path of the file, as given
    metadata  a dict from names to texts: the file's __metadata__
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        with open_file(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            if size < 8:
                raise LonghandError(f"{self.path}: {size} bytes; a safetensors file has at least 8")
            try:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except OSError as error:  # too little memory, or a file system without mmap
                raise LonghandError(f"{self.path}: cannot map its {size} bytes into memory: {error.strerror}") from None
        length, = struct.unpack_from("<Q", self._map)
        if length > min(MAX_HEADER_BYTES, size - 8):
            raise LonghandError(f"{self.path}: not a safetensors file, or cut short: found a header of {length} bytes; "
                                f"expected at most {min(MAX_HEADER_BYTES, size - 8)}")
        self._bytes = memoryview(self._map)[8 + length:]
        self._entries = self._read_header(self._map[8:8 + length])
        self.metadata = self._entries.pop("__metadata__", {})
        end = 0
        for name in self._entries:
            end = max(end, self._check_entry(name))
        if end != len(self._bytes):
            raise LonghandError(f"{self.path}: the tensors end at byte {end} after the header; expected the end of the "
                                f"file, byte {len(self._bytes)}")

    def __repr__(self):
        return f"{type(self).__name__}({self.path!r})"

    def _read_header(self, text):
        try:
            header = decode(text.decode("utf-8"))
        except ValueError as error:
            raise LonghandError(f"{self.path}: the header is not JSON: {error}") from None
        if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
            raise LonghandError(f"{self.path}: the header, or its __metadata__, is not a JSON object")
        return header

    def _check_entry(self, name):
        """Checks the entry of a tensor; returns the end of its bytes."""
        try:
            entry = self._entries[name]
            kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            is_complete = isinstance(kind, str) and isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS and all(
                isinstance(n, int) and 0 <= n < 1 << 63 for n in [*shape, begin, end])
        except (TypeError, KeyError, ValueError):
            is_complete = False
        if not is_complete:
            raise LonghandError(f"{self.path}: {name}: expected dtype, shape and data_offsets")
        if kind not in TYPES:
            raise LonghandError(f"{self.path}: {name}: elements are {kind}; expected one of {', '.join(TYPES)}")
        if end - begin != TYPES[kind][1] * math.prod(shape) or end > len(self._bytes):
            raise LonghandError(f"{self.path}: {name}: bytes {begin} to {end} are not those of a tensor {kind} "
                                f"{shape}, or end after the {len(self._bytes)} bytes of data")
        return end

    def __getitem__(self, name):
        entry = self._entries.get(name)
        if entry is None:
            raise KeyError(f"{self.path}: no tensor {name!r}")
        begin, end = entry["data_offsets"]
        kind, size = TYPES[entry["dtype"]]
        data = self._bytes[begin:end]
        if numpy is not None:
            flat = numpy.frombuffer(data, numpy.dtype(kind).newbyteorder("<"))
            return flat.reshape(entry["shape"])
        if sys.byteorder == "big" and size > 1:
            values = struct.unpack(f"<{(end - begin) // size}{kind}", data)
            data = memoryview(struct.pack(f"{len(values)}{kind}", *values))
        return data.cast(kind, entry["shape"]) if end > begin else data.cast(kind)  # cast() refuses shapes of size 0

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)

    def shape(self, name):
        """The shape of a tensor, a tuple."""
        return tuple(self._entries[name]["shape"])

    def dtype(self, name):
        """The type of a tensor's elements by its name in safetensors, such as "F32"."""
        return self._entries[name]["dtype"]

    def close(self):
        """Empties this mapping. The file is unmapped from memory when none of its tensors is in use any more."""
        self._bytes = memoryview(b"")
        self._entries = {}
        self._map = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Trace(Tensors):
    """A file of `trainer trace`; docs/trace.md describes its tensors. In all methods, `length` is the task length (for
    examples from files the input length), and `outputs` is the number of output tokens, needed only if traced
    examples of this length differ in this number. In a trace with several draws, a dimension [draws] precedes
    [examples], except in targets, and in tokens of a trace without decoded answers. A trace of means (--average) has
    neither dimension."""

    def lengths(self):
        """Traced task lengths, ascending."""
        return sorted({int(re.match(r"n(\d+)", name).group(1)) for name in self})

    def _get_tensor(self, length, outputs, name):
        return self[self._make_prefix(length, outputs) + name]

    def sites(self, length, kind="attention", outputs=None):
        """Names of the traced sites of a kind, in the order of the forward pass. kind: "attention", "scores" or
        "entropy" (sites are attentions, such as "layers.0"), or "activations" ("embedding", "layers.0.output")."""
        prefix = self._make_prefix(length, outputs)
        pairs = [self._split_name(name[len(prefix):]) for name in self if name.startswith(prefix)]
        return [site for site, site_kind in pairs if site_kind == kind]

    @staticmethod
    def _make_prefix(length, outputs):
        return f"n{length}{'' if outputs is None else f'o{outputs}'}."

    @staticmethod
    def _split_name(name):
        """The site and the kind of a tensor, from its name without the prefix. Tensors that are not an attention are
        sites themselves."""
        site, _, kind = name.rpartition(".")
        if kind in ("attention", "scores", "entropy"):
            return site, kind
        if name in ("answers", "targets"):
            return name, name
        is_tokens = name == "tokens" or site == "tokens"  # with several streams: "tokens.source"
        return name, "tokens" if is_tokens else "activations"

    def _get_site_tensor(self, length, site, kind, outputs, skipped=0):
        """A tensor by the name of its site, or by the site's index among the sites of the kind. The index counts from
        the site after the first `skipped` sites."""
        if isinstance(site, int):
            sites = self.sites(length, kind, outputs)[skipped:]
            if not 0 <= site < len(sites):
                raise KeyError(f"{self.path}: {kind} at length {length}: found {len(sites)} sites, index {site}; "
                               f"traced lengths: {', '.join(map(str, self.lengths()))}")
            site = sites[site]
        return self._get_tensor(length, outputs, site if kind == "activations" else f"{site}.{kind}")

    def tokens(self, length, outputs=None, stream=None):
        """The tokens that the model reads, [examples][T]. For a model with several streams, `stream` is the name of
        one."""
        return self._get_tensor(length, outputs, "tokens" if stream is None else f"tokens.{stream}")

    def answers(self, length, outputs=None):
        """The model's answers, [examples][outputs], with -1 after the end symbol."""
        return self._get_tensor(length, outputs, "answers")

    def targets(self, length, outputs=None):
        """The right answers, [examples][outputs]; -1: the answer is unknown or does not count."""
        return self._get_tensor(length, outputs, "targets")

    def attention(self, length, layer, outputs=None):
        """Attention weights, [examples][heads][queries][keys]. layer: index of a site (see sites) from 0, or its
        name."""
        return self._get_site_tensor(length, layer, "attention", outputs)

    def scores(self, length, layer, outputs=None):
        """Inputs of the softmax, of the same shape as attention(). layer: index of a site from 0, or its name."""
        return self._get_site_tensor(length, layer, "scores", outputs)

    def activations(self, length, layer=None, outputs=None):
        """The output of a layer, [examples][T][width]. layer: index among the sites after the first, from 0 (the
        second embedding of an encoder-decoder counts), or the name of a site; None: the first embedding."""
        if layer is None:
            return self._get_site_tensor(length, 0, "activations", outputs)
        return self._get_site_tensor(length, layer, "activations", outputs, skipped=1)
