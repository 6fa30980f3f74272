"""Functions of formulas: abs, exp, less, select, lookup, ... dir() of this module lists them all, and so does
`./longhand fields --json`.

    from longhand import functions as f

    def score(x):
        return x.score - x.slope * f.log1p(abs(x.distance))
"""

from . import launcher, tracing


def __dir__():
    return launcher.read_facts()["formulas"]["functions"]


def __getattr__(name):
    if name == "__all__":
        return __dir__()
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in __dir__():
        raise AttributeError(f"a formula has no function {name!r}; expected: {', '.join(__dir__())}")

    def call(*arguments):
        return tracing.Traced("call", name, arguments)

    call.__name__ = name
    return call
