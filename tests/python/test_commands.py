"""Building, training, sweeping, reporting and exporting from Python: python3 tests/python/test_commands.py SPEC

SPEC is plain.lua of tests/system/test_analyze.sh, whose trainer is built: nothing is compiled here. Standard library
only; what other packages add is checked where they are installed.
"""

import csv
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import longhand  # noqa: E402
from longhand import launcher  # noqa: E402

SPEC = pathlib.Path(sys.argv[1])
STUDY = """return {
  title = "one cell",
  base = { use = "./plain.lua", train = { steps = 20 } },
  axes = { { name = "bias", values = { { name = "plain", spec = {} } } } },
  seeds = { 0, 1 },
  learning_rates = { 1e-3 },
}
"""


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.out = cls.folder / "runs"

    def train(self, out="runs", **flags):
        return longhand.train(SPEC, out=self.folder / out, threads=1, **{"progress": launcher.quiet, **flags})

    def test_a_build_is_a_trainer(self):
        said = []
        trainer = longhand.build(SPEC, levels="best", progress=said.append)
        self.assertEqual([trainer.info()["id"], said], ["plain", []])
        self.assertEqual(trainer.path.parent.parent, ROOT / "build" / "trainers")
        lines = trainer.run("sample", length=3, count=2).splitlines()
        self.assertEqual([len(json.loads(line)["input"]) for line in lines], [3, 3])
        with self.assertRaisesRegex(longhand.UsageError, "no such flag: --long"):
            trainer.run("sample", long=3, progress=launcher.quiet)

    def test_runs_come_back(self):
        said = []
        runs = self.train(seeds=range(0, 2), steps=10, no_eval=True, progress=said.append)
        self.assertEqual([(run.id, run.seed, run.info["exit"]) for run in runs], [("plain", 0, 0), ("plain", 1, 0)])
        self.assertTrue(any("2 runs" in line for line in said), said)
        with self.assertRaisesRegex(longhand.InputError, "there is a trained run here"):
            self.train(steps=10, no_eval=True)
        runs = self.train(seed=1, resume=True)
        self.assertEqual([(run.seed, run.info["step"]) for run in runs], [(1, 30)])
        self.assertEqual([row["length"] for row in runs.evaluations()], [4, 8])

    def test_ctrl_c_leaves_a_checkpoint(self):
        def interrupt(line):
            if "threads 1" in line:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.train("stopped", steps=10**8, no_eval=True, progress=interrupt)
        run, = longhand.runs(self.folder / "stopped")
        self.assertEqual(run.info["exit"], 75)
        with run.checkpoint() as tensors:
            step = int(tensors.metadata["step"])
        self.assertLess(step, 10**8)
        run, = self.train("stopped", steps=step + 1, resume=True, no_eval=True)
        self.assertEqual(run.info["exit"], 0)

    def test_a_study_has_axes(self):
        out = self.folder / "swept"
        study = SPEC.with_name("study.lua")
        study.write_text(STUDY)
        runs = longhand.sweep(study, out=out, progress=launcher.quiet)
        place = {"study": "study", "bias": "plain"}
        self.assertEqual([(run.seed, run.axes) for run in runs], [(0, place), (1, place)])
        row = longhand.evaluations(out, study=study)[0]
        self.assertEqual([row["bias"], row["seed"], row["length"]], ["plain", 0, 4])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there may be no gnuplot
            report = longhand.report(out, progress=launcher.quiet)
        self.assertEqual(report.folder, out / "report-study")
        self.assertIn("one cell", report.text)
        self.assertTrue(report.page.exists())
        self.assertIn("seed", longhand.compare(*runs))
        self.csv_of_a_study(out)
        self.events(out)

    def csv_of_a_study(self, out):
        """Both tables, damaged runs left out; what they say is what we read."""
        longhand.call(["export", "csv", out, "--out", self.folder / "csv"], launcher.quiet)
        table = list(csv.DictReader((self.folder / "csv" / "evaluations.csv").open()))
        mine = longhand.evaluations(out)
        self.assertEqual(len(table), 4)
        for row, wanted in zip(table, mine):
            self.assertEqual((row["study"], row["bias"], row["id"], row["digest"], row["split"]),
                             ("study", "plain", wanted["id"], wanted["digest"], wanted["split"]))
            for name in ("seed", "learning_rate", "step", "length", "examples", "accuracy", "exact_match", "loss"):
                self.assertAlmostEqual(float(row[name]), wanted[name], places=7, msg=name)
        self.assertEqual([(row["state"], row["bias"]) for row in csv.DictReader(
            (self.folder / "csv" / "runs.csv").open())], [("evaluated", "plain")] * 2)
        damaged = self.folder / "damaged"
        shutil.copytree(out, damaged)
        path = pathlib.Path(longhand.runs(damaged)[0].path, "run.json")
        path.write_text("{")
        with self.assertRaisesRegex(longhand.InputError, r"damaged and left out:\n  .*run\.json"):
            longhand.call(["export", "csv", damaged], launcher.quiet)
        self.assertEqual(len((damaged / "csv" / "evaluations.csv").read_text().splitlines()), 3)
        with self.assertWarns(longhand.LonghandWarning):
            self.assertEqual([run.seed for run in longhand.runs(damaged, study=SPEC.with_name("study.lua"))], [1])

    def events(self, out):
        """Event files where a package writes them, else the line that installs one."""
        words = ["export", "tensorboard", out, "--out", self.folder / "events"]
        if importlib.util.find_spec("tensorboardX"):
            environment = {**os.environ, "LONGHAND_PYTHON": sys.executable}
            for _ in range(2):  # the second export takes the place of the first
                subprocess.run([ROOT / "longhand", *words], check=True, capture_output=True, env=environment)
                self.assertEqual(len(list((self.folder / "events").glob("plain/*/lr0.001-seed*/events.out.*"))), 2)
        elif not importlib.util.find_spec("torch"):
            os.environ["LONGHAND_PYTHON"] = sys.executable
            with self.assertRaisesRegex(longhand.MachineError, "-m pip install tensorboardX"):
                longhand.call(words, launcher.quiet)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
