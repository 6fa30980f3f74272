"""Tests exported models: their own comparison with the trainer, draws, gradients, a damaged checkpoint: python3
tests/python/use_model.py FOLDER..."""

import inspect
import json
import pathlib
import struct
import sys

import torch

from support import import_model

INPUTS = [[0, 1, 1, 0], [1, 1, 0, 0]]


def check_tokens(exported):
    """Checks the tokens that the module makes of two inputs and their outputs, four symbols each; returns the tokens,
    or None for a model with two streams."""
    if hasattr(exported, "with_target") and isinstance(exported.with_target(INPUTS, INPUTS), tuple):
        return None
    if hasattr(exported, "with_target"):
        tokens = exported.with_target(INPUTS, [[1, 0, 1, 1], [0, 0, 1, 0]])
        first, separator = exported.FIRST_OUTPUT, exported.SEPARATOR
        assert tokens[:, -4:].tolist() == [[separator, first + 1, first, first + 1],
                                           [separator, first, first, first + 1]]
    elif hasattr(exported, "answers"):
        inputs = [[0, 1, exported.PROBE, 0], [exported.PROBE, 1, 0, 0]] if hasattr(exported, "PROBE") else INPUTS
        place = [2, 0] if hasattr(exported, "PROBE") else [3, 3]
        logits = torch.arange(8.0).view(2, 4, 1)
        assert exported.answers(logits, inputs)[:, 0, 0].tolist() == [place[0], 4 + place[1]]
        return torch.tensor(inputs)
    else:
        tokens = exported.with_outputs(INPUTS, 4)
        assert (tokens[:, -4:] == exported.EMPTY).all()
    computation = tokens.shape[1] - 8
    assert tokens[:, :4].tolist() == INPUTS and (computation > 0) == hasattr(exported, "COMPUTATION")
    assert computation == 0 or (tokens[:, 4:4 + computation] == exported.COMPUTATION).all()
    return tokens


def list_needed(model, given):
    """The given values that the model does not sample."""
    parameters = inspect.signature(model.forward).parameters
    return {name: value for name, value in given.items() if parameters[name].default is inspect.Parameter.empty}


def check_draws(exported, model, tokens):
    """Checks that logits change between calls if the model samples, and stay equal if the draw is given; returns the
    draw, and the arguments that every call needs: the positions of a task, the number of passes."""
    draws = {"positions", "distances"} & set(inspect.signature(model.forward).parameters)
    given = {name: torch.arange(tokens.shape[1]) * 2 for name in draws}
    if "passes" in inspect.signature(model.forward).parameters:
        given["passes"] = 3
    if "noise" in inspect.signature(model.forward).parameters:
        given["noise"] = torch.randn(tokens.shape[1], exported.WIDTH)
    needed = list_needed(model, given)
    torch.manual_seed(1)
    again = [model(tokens, **needed) for _ in range(4)]
    assert again[0].shape == (*tokens.shape, exported.CLASSES) and again[0].isfinite().all()
    assert (len(given) > len(needed)) != all(torch.equal(again[0], other) for other in again[1:])
    assert torch.equal(model(tokens, **given), model(tokens, **given))
    if "distances" in draws and exported.draw_distances(tokens[:, :8], None).dim() == 1:
        drawn = exported.draw_distances(tokens[:, :8], None).tolist()
        assert drawn[0] == 0 and drawn == sorted(set(drawn)) and drawn[-1] < exported.MAX_POSITION
    return given


def check_decoding(exported, model, given):
    """Checks that every decoded symbol is the most likely one after those before it."""
    target = exported.decode(model, INPUTS, 4, **given)
    read = model(exported.with_target(INPUTS, target), **given)[:, -4:]
    assert target.shape == (2, 4) and torch.equal(read.argmax(dim=-1), target)


def check_gradients(model, tokens, needed):
    model.train()(tokens, **needed).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def check_damage(exported, folder):
    torn = folder / "torn.safetensors"
    torn.write_bytes((folder / "checkpoint.safetensors").read_bytes()[:-100])
    try:
        exported.load(torn)
    except Exception as error:
        print(f"a torn checkpoint: {type(error).__name__}")
    else:
        raise SystemExit("a torn checkpoint was loaded")


def check_integers(exported, folder):
    """Checks that a file of traces can be read, whose tokens are integers."""
    header = json.dumps({"n2.tokens": {"dtype": "I32", "shape": [1, 2], "data_offsets": [0, 8]}}).encode()
    path = folder / "trace.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<2i", 3, -1))
    tokens = exported.read(path)["n2.tokens"]
    assert tokens.dtype == torch.int32 and tokens.tolist() == [[3, -1]]


def check_model(folder):
    torch.set_default_dtype(torch.float32)
    exported = import_model(folder / "model.py")
    print(f"{folder.name}: ", end="")
    assert exported.check()
    model, tokens = exported.load(), check_tokens(exported)
    if tokens is not None:
        given = check_draws(exported, model, tokens)
        if hasattr(exported, "decode"):
            check_decoding(exported, model, given)
        check_gradients(model, tokens, list_needed(model, given))
    check_damage(exported, folder)
    check_integers(exported, folder)


assert sys.argv[1:]
for name in sys.argv[1:]:
    check_model(pathlib.Path(name))
