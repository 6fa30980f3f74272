"""Compares exported models that have the weights of tests/reference with JAX: their logits, the sequences that they
build, the positions that they sample: python3 tests/python/check_reference.py FOLDER

FOLDER has NAME.py for every model; NAME is that of the stored vectors, followed by the model's other properties,
separated by dots.
"""

import pathlib
import sys

import torch

from support import ROOT, import_model
import longhand

LENGTHS = (1, 5, 18)


def read_tensor(vectors, name):
    return torch.tensor(vectors[name].tolist())


def list_draws(model, vectors, n, least):
    """The stored positions and distances of length n as arguments of a model; positions are counted from `least`."""
    draws = {}
    if hasattr(model, "draw_positions"):
        draws["positions"] = read_tensor(vectors, f"data.n{n}.positions")[0] + least
    if hasattr(model, "draw_distances"):
        draws["distances"] = read_tensor(vectors, f"data.n{n}.drawn")[0]
    return draws


def check_logits(exported, vectors, least):
    exported.read = lambda path: {name: read_tensor(vectors, name) for name in vectors}
    model = exported.load()
    worst = 0.0
    for n in LENGTHS:
        inputs = read_tensor(vectors, f"data.n{n}.input")
        if hasattr(exported, "with_target"):
            tokens = exported.with_target(inputs, read_tensor(vectors, f"data.n{n}.target"))
        else:
            tokens = exported.with_outputs(inputs, n)
        wanted = read_tensor(vectors, f"result.n{n}.logits")
        with torch.no_grad():
            found = model(tokens, **list_draws(exported, vectors, n, least))[:, -wanted.shape[1]:]
        worst = max(worst, float((found - wanted).abs().max()))
    assert worst < 1e-12, worst
    return worst


def check_draw(drawn, count, least, largest, ascending=True):
    numbers = drawn.tolist()
    assert len(numbers) == len(set(numbers)) == count, numbers
    assert least <= min(numbers) and max(numbers) <= largest, numbers
    assert (numbers == sorted(numbers)) == ascending, numbers


def check_positions(exported, words, first):
    """Samples the whole range, so that both ends occur, then a part of it, which shows the order and the randomness."""
    by_sequence, ascending, range_ = "sequence" in words, "unsorted" not in words, exported.MAX_POSITION
    for count in (range_, 20):
        drawn = exported.draw_positions(torch.zeros(3, count, dtype=torch.int64), None)
        drawn = drawn if by_sequence else drawn[None]
        for sequence in drawn:
            check_draw(sequence, count, first, range_ - 1 + first, ascending)
    assert not by_sequence or not torch.equal(drawn[0], drawn[1])


def check_distances(exported, words, first):
    independent, most = "sides" in words, exported.MAX_POSITION + first
    for count in (most, 20):
        drawn = exported.draw_distances(torch.zeros(1, count, dtype=torch.int64), None)
        for side in drawn if independent else drawn[None]:
            assert side[0] == 0
            check_draw(side[1:], count - 1, 1, most - 1)
    assert not independent or not torch.equal(drawn[0], drawn[1])
    pairs = exported.pair_distances(drawn)
    right, left = drawn if independent else (drawn, drawn)
    assert pairs[3, 7] == right[4] and pairs[7, 3] == -left[4] and pairs[5, 5] == 0


def check_computation(exported):
    tokens = exported.with_outputs([[4, 2]], 3).tolist()
    assert tokens == [[4, 2] + 4 * [exported.COMPUTATION] + 3 * [exported.EMPTY]], tokens


def check(path):
    name, *words = path.stem.split(".")
    exported, first = import_model(path), int("one_based" in words)
    torch.manual_seed(1)
    if hasattr(exported, "draw_positions"):
        check_positions(exported, words, first)
    if hasattr(exported, "draw_distances"):
        check_distances(exported, words, first)
    if "computation" in words:
        check_computation(exported)
        return
    vectors = longhand.Tensors(ROOT / "tests/reference" / f"{name}.safetensors")
    moved = first if "learned" in name else 0  # rows of a learned table begin at the first position
    print(f"{path.stem}: {check_logits(exported, vectors, moved):.1e}")


def check_nothing_matches(exported):
    """Checks that logits at which no key matches, also of one token alone, give weights of 0 and gradients of 0."""
    for tokens in (1, 4):
        score = torch.full((1, exported.HEADS, tokens, tokens), -2000.0, requires_grad=True)
        weight = exported.match_first(score)
        weight.sum().backward()
        assert (weight == 0).all() and (score.grad == 0).all()


paths = sorted(pathlib.Path(sys.argv[1]).glob("*.py"))
assert paths
for each in paths:
    check(each)
check_nothing_matches(import_model(pathlib.Path(sys.argv[1]) / "geometric.py"))
