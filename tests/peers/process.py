"""The process of a worker (worker.py): it answers lines of JSON, and is stopped while others are measured."""

import json
import os
import select
import signal
import subprocess
import sys

ENDING = (signal.SIGTERM, signal.SIGHUP)  # SIGINT: Python's own exception


class Failed(Exception):
    """An error of a worker; its text is the reason."""


def leave_at_signals():
    """Lets a signal end this program by an exception, so that the code that started workers ends them: they are in
    sessions of their own, and a stopped worker handles no signal. Ignored signals (nohup) stay ignored."""

    def leave(*_):
        for number in (*ENDING, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # a second signal would interrupt the ending of workers
        sys.exit(75)

    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, leave)


class Process:
    """A process that starts with the first question, and starts again with the next question after it was ended."""

    def __init__(self, command, environment, log):
        self.command, self.environment, self.log = command, environment, log
        self.running, self.rest, self.version = None, b"", None

    def start(self, patience):
        with self.log.open("a") as log:
            self.running = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        self.rest = b""
        first = self.read(patience)
        if "version" not in first:
            self.fail_at(first)
        self.version = first["version"]

    def signal(self, number):
        """Sends a signal to the worker and its child processes."""
        os.killpg(self.running.pid, number)

    def end(self):
        if self.running:
            self.signal(signal.SIGKILL)
            self.running.wait()
            self.running = None

    def fail_at(self, text):
        """Ends a worker that printed something other than an answer: answers no longer belong to questions."""
        self.end()
        raise Failed(f"printed {str(text)[:80]!r}, expected an answer; see {self.log}")

    def read(self, patience):
        """Returns the next answer. Ends a worker that prints nothing for `patience` seconds."""
        pipe = self.running.stdout
        while b"\n" not in self.rest:
            ready, _, _ = select.select([pipe], [], [], patience)
            more = os.read(pipe.fileno(), 1 << 16) if ready else b""
            if not more:
                self.end()
                raise Failed(f"ended by itself; see {self.log}" if ready else f"took longer than {patience} s")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self.fail_at(line.decode(errors="replace"))
        return answer

    def ask(self, question, patience):
        """Returns the answer; raises Failed if it takes longer than `patience` seconds, or is an error."""
        if self.running is None:
            self.start(patience)
        self.signal(signal.SIGCONT)
        try:
            self.running.stdin.write(json.dumps(question).encode() + b"\n")
            self.running.stdin.flush()
        except BrokenPipeError:
            self.end()
            raise Failed(f"ended by itself; see {self.log}") from None
        answer = self.read(patience)
        self.signal(signal.SIGSTOP)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer
