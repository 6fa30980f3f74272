"""Tests exported models on the meta device, in other types, by torch.export for lengths from 2 to 64, by
torch.jit.trace, and in ONNX: python3 tests/python/travel.py FOLDER

FOLDER has NAME.py for every model (tests/support/render_presets.lua); weights are sampled here. NO_ONNX lists the
models that PyTorch itself cannot export as ONNX. Their export must fail, so that the list shrinks with newer versions.
"""

import copy
import inspect
import io
import pathlib
import sys
import warnings

import torch

from support import import_model

LENGTHS = (2, 5, 33, 64)
TYPES = {torch.bfloat16: 0.1, torch.float16: 0.02, torch.float64: 1e-4}  # largest errors, relative to the largest logit

# Models that PyTorch cannot write as ONNX, with part of its message.
NO_ONNX = {"geometric": "prims.prod"}


def make_network(exported):
    """Makes a model with weights that are large enough to make every score and every gate visible."""
    classes = [c for c in vars(exported).values() if isinstance(c, type) and issubclass(c, torch.nn.Module)]
    model = classes[-1]().eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape))
    return model


class Caller(torch.nn.Module):
    """Wraps the model so that its draws, if any, are one more argument."""

    def __init__(self, model, draw):
        super().__init__()
        self.model, self.draw = model, draw

    def forward(self, *arguments):
        if self.draw is None:
            return self.model(*arguments)
        return self.model(*arguments[:-1], **{self.draw: arguments[-1]})


class Case:
    """A model; has_two_streams: it reads two; draw: the name of its argument for positions or distances, or None;
    samples: whether it samples them if they are not given."""

    def __init__(self, path):
        self.name, exported = path.stem, import_model(path)
        self.has_two_streams = path.stem.startswith("abc_")
        network = make_network(exported)
        parameters = inspect.signature(network.forward).parameters
        self.draw = next((name for name in ("positions", "distances") if name in parameters), None)
        self.samples = self.draw is not None and parameters[self.draw].default is None
        self.model = Caller(network, self.draw).eval()

    def make_arguments(self, length, **where):
        """Random tokens of each stream, and draws if the model has any."""
        tokens = torch.randint(0, 2, (3, length), generator=torch.Generator().manual_seed(length))
        drawn = torch.arange(length) if self.draw else None
        streams = [tokens, tokens] if self.has_two_streams else [tokens]
        return [x.to(**where) for x in streams + ([drawn] if self.draw else [])]

    @torch.no_grad()
    def compute_logits(self, length):
        return self.model(*self.make_arguments(length))

    def check_equal(self, what, length, found, tolerance=1e-4):
        wanted = self.compute_logits(length)
        error = float((found.double() - wanted.double()).abs().max() / wanted.abs().max())
        assert error < tolerance, f"{self.name}: {what} of length {length}: {error:.1e}"

    @torch.no_grad()
    def check_meta(self):
        model = copy.deepcopy(self.model).to("meta")
        arguments = self.make_arguments(9, device="meta")
        for omits_draws in (False, True) if self.samples else (False,):
            found = model.model(*arguments[:-1]) if omits_draws else model(*arguments)
            assert found.device.type == "meta" and found.shape[:2] == (3, 9), (self.name, found)

    @torch.no_grad()
    def check_types(self):
        for kind, tolerance in TYPES.items():
            found = copy.deepcopy(self.model).to(kind)(*self.make_arguments(40))
            assert found.dtype == kind, (self.name, kind, found.dtype)
            self.check_equal(kind, 40, found, tolerance)

    def make_dynamic_shapes(self):
        length = torch.export.Dim("length", min=2, max=64)
        return tuple({0: length} if self.draw and i == self.has_two_streams + 1 else {1: length} for i in range(
            1 + self.has_two_streams + bool(self.draw)))

    def check_export(self):
        program = torch.export.export(self.model, tuple(self.make_arguments(8)),
                                      dynamic_shapes=(self.make_dynamic_shapes(),))
        for length in LENGTHS:
            self.check_equal("torch.export", length, program.module()(*self.make_arguments(length)))

    @torch.no_grad()
    def check_trace(self):
        traced = torch.jit.trace(self.model, tuple(self.make_arguments(8)), check_trace=False)
        self.check_equal("torch.jit.trace", 40, traced(*self.make_arguments(40)))

    def check_onnx(self):
        import onnxruntime

        out = io.BytesIO()
        torch.onnx.export(self.model, tuple(self.make_arguments(8)), out, dynamo=True,
                          dynamic_shapes=(self.make_dynamic_shapes(),), verbose=False)
        session = onnxruntime.InferenceSession(out.getvalue())
        names = [one.name for one in session.get_inputs()]
        for length in LENGTHS:
            given = dict(zip(names, (x.numpy() for x in self.make_arguments(length))))
            self.check_equal("ONNX", length, torch.tensor(session.run(None, given)[0]))


def has_onnx():
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        print(f"skip ONNX: {error}")
        return False
    return True


def main(folder, pattern="*.py"):
    warnings.simplefilter("ignore")
    onnx, failed = has_onnx(), 0
    print(f"PyTorch {torch.__version__}")
    for path in sorted(pathlib.Path(folder).glob(pattern)):
        case = Case(path)
        for what in ["meta", "types", "export", "trace"] + ["onnx"] * onnx:
            reason = NO_ONNX.get(case.name) if what == "onnx" else None
            try:
                getattr(case, f"check_{what}")()
            except Exception as error:
                if reason is None or reason not in str(error):
                    print(f"{case.name}: {what}: {type(error).__name__}: {str(error)[:600]}")
                    failed += 1
            else:
                failed += reason is not None
                print(f"{case.name}: {what}: ok" + (" (NO_ONNX names it)" if reason else ""))
    return failed


sys.exit(1 if main(*sys.argv[1:]) else 0)
