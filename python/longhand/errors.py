"""Exceptions, one class for each exit code of ./longhand and of trainers, which `longhand --help` lists."""


class LonghandError(Exception):
    """A file is missing, damaged or invalid, or a request cannot be fulfilled."""


class LonghandWarning(UserWarning):
    """A part of the result is left out; the call continues without it."""


class CommandError(LonghandError):
    """A command failed.

    command  program and arguments of the command, a list
    code     exit code of the command; -N if signal N ended it; None if it could not be started
    output   standard output of the command
    said     last lines of the command's standard error
    """

    def __init__(self, message, command=(), code=None, output="", said=""):
        super().__init__(message)
        self.command, self.code, self.output, self.said = list(command), code, output, said


class InputError(CommandError):
    """Exit code 1: the input is wrong, or a run failed."""


class UsageError(CommandError):
    """Exit code 2: an unknown flag, or an invalid value of a flag."""


class MachineError(CommandError):
    """Exit code 4: this machine lacks a compiler, a package, a GPU or space on the disk."""


class StoppedError(CommandError):
    """Exit code 75: a signal stopped the command. Finished work is on the disk; the same call with resume=True
    continues it."""


class SpecError(InputError):
    """Errors that `longhand check` finds in a spec.

    errors       a dict for each error, with the key "what" and, if they apply, field, path, line, col, expected, hint
                 and notes
    field, hint  field and hint of the first error, or None
    """

    def __init__(self, message, errors, **command):
        super().__init__(message, **command)
        self.errors = errors
        self.field, self.hint = errors[0].get("field"), errors[0].get("hint")


BY_CODE = {1: InputError, 2: UsageError, 4: MachineError, 75: StoppedError}
