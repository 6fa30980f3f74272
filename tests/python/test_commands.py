"""Building and training from Python: python3 tests/python/test_commands.py SPEC

SPEC is plain.lua of tests/system/test_analyze.sh. Its trainer is already built, so nothing is compiled here.
"""

import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import unittest

from support import ROOT
import longhand
from longhand import launcher

SPEC = pathlib.Path(sys.argv[1])


class TestCommands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def train(self, out="runs", **flags):
        return longhand.train(SPEC, out=self.folder / out, threads=1, **{"progress": launcher.ignore_line, **flags})

    def test_build_returns_a_working_trainer(self):
        printed = []
        trainer = longhand.build(SPEC, levels="best", progress=printed.append)
        self.assertEqual([trainer.info()["id"], printed], ["plain", []])
        self.assertEqual(trainer.path.parent.parent, ROOT / "build" / "trainers")
        lines = trainer.run("sample", length=3, count=2).splitlines()
        self.assertEqual([len(json.loads(line)["input"]) for line in lines], [3, 3])
        with self.assertRaisesRegex(longhand.UsageError, "no such flag: --long"):
            trainer.run("sample", long=3, progress=launcher.ignore_line)

    def test_train_returns_its_runs(self):
        printed = []
        runs = self.train(seeds=range(0, 2), steps=10, no_eval=True, progress=printed.append)
        self.assertEqual([(run.id, run.seed, run.info["exit"]) for run in runs], [("plain", 0, 0), ("plain", 1, 0)])
        self.assertTrue(any("2 runs" in line for line in printed), printed)
        with self.assertRaisesRegex(longhand.InputError, "there is a trained run here"):
            self.train(steps=10, no_eval=True)
        runs = self.train(seed=1, resume=True)
        self.assertEqual([(run.seed, run.info["step"]) for run in runs], [(1, 30)])
        self.assertEqual([row["length"] for row in runs.evaluations()], [4, 8])

    def test_metrics_are_passed_on_while_runs_train(self):
        lines, flags = [], {"seeds": range(0, 2), "log_every": 3, "no_eval": True}

        def stop(line):
            lines.append(line)
            if {line["run"] for line in lines} == {"lr0.001-seed0", "lr0.001-seed1"}:
                raise ArithmeticError  # the runs have not ended

        with self.assertRaises(ArithmeticError):
            self.train("live", steps=10**8, metrics=stop, **flags)
        steps = {}
        for run in longhand.runs(self.folder / "live"):
            self.assertEqual(run.info["exit"], 75)
            own = [line for line in lines if line["run"] == pathlib.Path(run.path).name]
            self.assertEqual(own, [{"id": "plain", "digest": run.digest, "run": own[0]["run"], **line}
                                   for line in run.metrics()[:len(own)]])
            steps[own[0]["run"]] = run.info["step"]
        lines.clear()
        # Lines of the first call are not new.
        self.train("live", steps=max(steps.values()) + 4, resume=True, metrics=lines.append, **flags)
        for name, step in steps.items():
            run = longhand.Run(self.folder / "live" / "plain" / lines[0]["digest"] / name)
            self.assertEqual([line["step"] for line in lines if line["run"] == name],
                             [line["step"] for line in run.metrics() if line["step"] > step])

    def test_ctrl_c_leaves_a_checkpoint(self):
        def interrupt(line):
            if "threads 1" in line:
                while not list((self.folder / "stopped").glob("*/*/*/metrics.jsonl")):
                    time.sleep(0.02)
                os.kill(os.getpid(), signal.SIGINT)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have set it to be ignored
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.assertRaises(KeyboardInterrupt):
            self.train("stopped", steps=10**8, no_eval=True, progress=interrupt)
        run, = longhand.runs(self.folder / "stopped")
        self.assertEqual(run.info["exit"], 75)
        with run.checkpoint() as tensors:
            step = int(tensors.metadata["step"])
        self.assertLess(step, 10**8)
        run, = self.train("stopped", steps=step + 1, resume=True, no_eval=True)
        self.assertEqual(run.info["exit"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
