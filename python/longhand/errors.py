"""Exceptions. The exit codes of ./longhand and of trainers are those of `longhand --help`."""


class LonghandError(Exception):
    """A file is missing, damaged or invalid; or a request cannot be fulfilled."""


class LonghandWarning(UserWarning):
    """A part of the result was left out, and the call continues."""


class CommandError(LonghandError):
    """A command failed.

    command  its words
    code     its exit code; below 0 the signal that ended it
    output   its standard output
    said     its standard error
    """

    def __init__(self, message, command=(), code=None, output="", said=""):
        super().__init__(message)
        self.command, self.code, self.output, self.said = list(command), code, output, said


class InputError(CommandError):
    """Exit code 1: the input is wrong, or a run failed."""


class UsageError(CommandError):
    """Exit code 2: no such flag, or no such value of one."""


class MachineError(CommandError):
    """Exit code 4: something is missing here: a compiler, a package, a GPU, space on the disk."""


class StoppedError(CommandError):
    """Exit code 75: stopped by a signal. Finished work is on the disk; the same call with resume=True continues."""


class SpecError(InputError):
    """Errors that `longhand check` finds in a spec.

    errors  a dict for each: what; and, if they apply, field, path, line, col, expected, hint, notes
    field, hint     of the first error, or None
    """

    def __init__(self, message, errors, **command):
        super().__init__(message, **command)
        self.errors = errors
        self.field, self.hint = errors[0].get("field"), errors[0].get("hint")


BY_CODE = {1: InputError, 2: UsageError, 4: MachineError, 75: StoppedError}
