"""Compares exported models of random networks, whose weights are sampled here, with an interpreter of their graphs, one
operation at a time: python3 tests/python/check_networks.py FOLDER

tests/support/render_exports.lua writes FOLDER. Scores and weighted sums of attention come from the exported module.
"""

import inspect
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

from support import import_model

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu}


class Network:
    """An exported model, and the interpreter of its graph, whose methods with the arguments (op, prefix, read) compute
    one operation each: prefix begins the names of its tensors, and read(role) returns an input.

    file    the imported module
    scopes  the network, then its blocks
    asked   names of the tensors that load() has read
    """

    def __init__(self, path):
        self.file = import_model(path)
        graph = json.loads(path.with_suffix(".json").read_text())
        self.scopes, self.asked = graph["scopes"], set()
        self.tensors = {name: 0.3 * torch.randn(shape) for name, shape in graph["shapes"].items()}
        self.file.read = lambda _: self
        self.model = self.file.load()
        self.names = {word: name for name, word in getattr(self.file, "IN_FILE", {}).items()}
        if hasattr(self.file, "with_target"):  # a model with two streams, or one that joins both in one
            self.tokens = self.file.with_target([[0, 1, 2, 1]], [[1, 2, 3]])
        elif hasattr(self.file, "with_outputs"):
            self.tokens = self.file.with_outputs([[0, 1, 2]], 3)
        else:
            self.tokens = torch.tensor([[0, 1, 1, 0]])
        self.tokens = self.tokens if isinstance(self.tokens, tuple) else (self.tokens,)

    def __getitem__(self, name):
        """The tensor of a checkpoint by its name, for load."""
        self.asked.add(name)
        return self.tensors[name]

    def find_module(self, path):
        module = self.model
        for word in path.split("."):
            known = dict(module.named_children())
            module = known[word] if word in known else known[self.names[word]]
        return module

    def embed(self, op, prefix, read):
        tokens = self.tokens[op["stream"]]
        place = torch.arange(tokens.shape[1])
        if "table" in op:
            y = op["scale"] * self.tensors[op["table"]][tokens]
        else:
            rows = self.tensors[f"{op['linear']}.weight"]
            rows = torch.cat([torch.zeros(op["blanks"], rows.shape[1]), rows])
            y = rows[tokens] + self.tensors[f"{op['linear']}.bias"]
        if op["additive"] == "sinusoid":
            y = y + self.file.sinusoid(place, y)
        elif op["additive"] == "learned":
            y = y + self.tensors["embed.position.weight"][place]
        return y

    def place(self, op, prefix, read):
        place = torch.arange(read("x").shape[1])
        if op["additive"] == "sinusoid":
            return read("x") + self.file.sinusoid(place, read("x"))
        return read("x") + self.tensors[prefix + op["table"]][place]

    def product(self, op, prefix, read):
        parts = [read("x") @ self.tensors[f"{prefix}{name}.weight"] for name in op["tensors"]]
        if op["bias"]:
            parts = [y + self.tensors[f"{prefix}{name}.bias"] for y, name in zip(parts, op["tensors"])]
        return torch.cat(parts, dim=-1)

    def norm(self, op, prefix, read):
        x, scale = read("x"), self.tensors[f"{prefix}{op['name']}.scale"]
        if op["norm"] == "layer":
            x = x - x.mean(dim=-1, keepdim=True)
            return x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * scale \
                + self.tensors[f"{prefix}{op['name']}.offset"]
        return x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * scale

    def activation(self, op, prefix, read):
        return ACTIVATIONS[op["activation"]](read("x"))

    def gate(self, op, prefix, read):
        opened, x = read("x").chunk(2, dim=-1)
        return ACTIVATIONS[op["activation"]](opened) * x

    def add(self, op, prefix, read):
        return read("residual") + read("branch")

    def attention(self, op, prefix, read):
        """Runs the operations before the output's matrix product, if there is one; the product is an operation of
        its own."""
        module = self.find_module(prefix + op["path"].rstrip("."))
        place, memory_place = torch.arange(read("x").shape[1]), torch.arange(read("memory").shape[1])
        given = {"positions": place, "distance": place - place[:, None], "memory": read("memory"),
                 "memory_positions": memory_place, "memory_distance": memory_place - place[:, None],
                 "shared": getattr(self.model, "score", None)}
        output = getattr(module, "output", None)
        if output is not None:
            module.output = nn.Identity()
        y = module(read("x"), *(given[name] for name in list(inspect.signature(module.forward).parameters)[1:]))
        if output is not None:
            module.output = output
        return y

    def block(self, op, prefix, read):
        scope, h = self.scopes[op["block"]], read("x")
        outside = dict(zip(scope["externals"], (read(value) for value in op["externals"])))
        for _ in range(op["loops"]):
            for layer in range(op["count"]):
                h = self.run(scope, op["path"] % layer, {**outside, scope["input"]: h})
        return h

    def classify(self, op, prefix, read):
        if "tied" in op:
            first = self.file.FIRST_OUTPUT
            return read("x") @ self.tensors[op["tied"]][first:first + self.file.CLASSES].T
        return read("x") @ self.tensors["output.weight"] + self.tensors["output.bias"]

    def run(self, scope, prefix, values):
        for op in scope["operations"]:
            def read(role):
                return values[op.get(role, role)]

            values[op["out"]] = getattr(self, op["kind"])(op, prefix, read)
        return values[scope["output"]]


@torch.no_grad()
def check(path):
    """Returns the largest difference of the logits, relative to the greatest logit if that is above 1."""
    network = Network(path)
    assert network.asked == set(network.tensors), network.asked ^ set(network.tensors)
    found, wanted = network.model(*network.tokens), network.run(network.scopes[0], "", {})
    return float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1))


torch.manual_seed(1)
torch.set_num_threads(1)
paths = sorted(pathlib.Path(sys.argv[1]).glob("*.py"))
worst, name = max((check(path), path.stem) for path in paths)
print(f"{len(paths)} networks: largest difference {worst:.1e}, of {name}")
assert worst < 1e-10
