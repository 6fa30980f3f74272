"""Longhand from Python: write specs, train models and read the results.

    import longhand
    from longhand import functions as f

    spec = longhand.Spec("own_bias.lua", task={"kind": "bucket_sort"}, model={"use": "ruoss_encoder"},
                         encoding={"score": lambda x: x.score - x.slope * f.log1p(abs(x.distance)),
                                   "parameters": {"slope": {"per": "layer_head", "init": "alibi_slopes"}}},
                         train={"use": "quick", "steps": 600}, eval={"use": "quick"})
    runs = longhand.train(spec, seed=3)
    runs.evaluations().plot()                              # needs matplotlib
    longhand.evaluations("runs").to_pandas()               # evaluations of all runs in a folder; needs pandas

    for run in longhand.runs("runs"):
        print(run.id, run.seed, [line["accuracy"] for line in run.evaluations()])

    with longhand.Tensors("checkpoint.safetensors") as tensors:
        weight = tensors["output.weight"]                  # [width][classes]

The package needs only Python 3.9 or later. To read runs and tensors, a copy of this folder is enough; all other
functions need a clone of Longhand. docs/python.md is the guide.
"""

from .commands import Report, Trainer, build, compare, estimate, plan, report, sweep, train
from .errors import (CommandError, InputError, LonghandError, LonghandWarning, MachineError, SpecError, StoppedError,
                     UsageError)
from .examples import Examples
from .fields import Encoding, Eval, Model, Task, Train
from .files import read_lines
from .launcher import call
from .lua import Table
from .reading import Rows, Run, Runs, evaluations, rows, runs
from .specs import Spec, Study, check
from .tensors import Tensors, Trace

__version__ = "0.1.0.dev0"

__all__ = ["CommandError", "Encoding", "Eval", "Examples", "InputError", "LonghandError", "LonghandWarning",
           "MachineError", "Model", "Report", "Rows", "Run", "Runs", "Spec", "SpecError", "StoppedError", "Study",
           "Table", "Task", "Tensors", "Trace", "Train", "Trainer", "UsageError", "build", "call", "check", "compare",
           "estimate", "evaluations", "plan", "read_lines", "report", "rows", "runs", "sweep", "train"]
