"""An exported model in use, its own draws, gradients, a damaged checkpoint: python3 tests/python/use_model.py FOLDER"""

import inspect
import pathlib
import sys

import torch

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
import model as exported  # noqa: E402

model = exported.load()
tokens = exported.with_outputs([[0, 1, 1, 0], [1, 1, 0, 0]], 4)
assert tokens.shape == (2, 8) and (tokens[:, 4:] == exported.EMPTY).all()
logits = model(tokens)
assert logits.shape == (2, 8, exported.CLASSES) and logits.isfinite().all()

draws = "distances" in inspect.signature(model.forward).parameters
torch.manual_seed(1)
again = [model(tokens) for _ in range(4)]
assert draws != all(torch.equal(again[0], other) for other in again[1:])
if draws:
    drawn = exported.draw_distances(8, None).tolist()
    assert drawn[0] == 0 and drawn == sorted(set(drawn)) and drawn[-1] < exported.MAX_POSITION
    given = {"distances": [0, 2, 3, 5, 7, 11, 13, 17]}
    assert torch.equal(model(tokens, **given), model(tokens, **given))

model.train()(tokens).square().mean().backward()
assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0
           for name, parameter in model.named_parameters())

data = (folder / "checkpoint.safetensors").read_bytes()
(folder / "torn.safetensors").write_bytes(data[:-100])
try:
    exported.load(folder / "torn.safetensors")
except Exception as error:
    print(f"a torn checkpoint: {type(error).__name__}")
else:
    raise SystemExit("a torn checkpoint was loaded")
