"""Sweeping, reporting and exporting from Python: python3 tests/python/test_studies.py STUDY RUNS

STUDY is sweep.lua of tests/system/test_sweep.sh, RUNS the folder with its runs, so nothing is trained here. Features
that need other packages are checked if those are installed.
"""

import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import warnings

from support import ROOT, FolderCase, is_installed
import longhand
from longhand import events, functions as f, launcher

STUDY, RUNS = (pathlib.Path(path) for path in sys.argv[1:3])
CELLS = [("parity", 0), ("parity", 1), ("sort", 0), ("sort", 1)]


class TestStudies(FolderCase):
    def test_a_sweep_returns_its_runs(self):
        said = []
        runs = longhand.sweep(STUDY, out=RUNS, progress=said.append)
        self.assertEqual([(run.axes["task"], run.seed) for run in runs], CELLS)
        self.assertEqual(runs[0].axes["study"], "sweep")
        self.assertIn("4 done, 0 to do", said[0])

    def test_a_sweep_passes_on_metrics_of_its_runs(self):
        shutil.copytree(RUNS, self.folder / "runs")
        lost, lines = longhand.runs(self.folder / "runs")[1], []
        shutil.rmtree(lost.path)
        longhand.sweep(STUDY, out=self.folder / "runs", progress=launcher.ignore_line, metrics=lines.append)
        name = pathlib.Path(lost.path).name
        self.assertEqual(lines, [{"id": "parity", "digest": lost.digest, "run": name, **line}
                                 for line in lost.metrics()])
        self.assertTrue(lines)
        rows = longhand.evaluations(RUNS, study=STUDY).where(task="sort", seed=1)
        self.assertEqual([row["length"] for row in rows], [3, 4, 5, 6])
        self.assertIn("4 of", longhand.call(["sweep", "status", STUDY, "--out", RUNS], launcher.ignore_line))

    def test_a_sweep_may_select_cells(self):
        said = []
        runs = longhand.sweep(f"{STUDY}:sort,parity", out=RUNS, only="task=sort", progress=said.append)
        self.assertIn("1 of 2 cells, 2 runs: 2 done, 0 to do", said[0])
        self.assertEqual(len(runs), 4)

    def test_a_study_in_python_equals_that_of_its_file(self):
        written = dict(re.findall(r"(steps|examples|learning_rates) = ({ .*? }|\d+)", STUDY.read_text()))
        study = longhand.Study(
            self.folder / "sweep.lua", title="two cells", base={
                "model": {"use": "small_encoder", "layers": 1, "feedforward": 16},
                "train": {"batch": 4, "steps": int(written["steps"]), "lengths": range(1, 5), "log_every": 500},
                "eval": {"lengths": [3, 6], "examples": int(written["examples"]),
                         "validation": {"examples": 0}},
                "encoding": {"score": lambda x: x.score - f.exp(x.speed) * abs(x.distance),
                             "parameters": {"speed": {"per": "head", "init": 0, "learned": True}}}},
            axes={"task": {"parity": {"task": {"kind": "parity_check"}}, "sort": {"task": {"kind": "bucket_sort"}}}},
            seeds=range(2), learning_rates=[float(rate) for rate in re.findall(r"[\d.e-]+", written["learning_rates"])])
        said = []
        runs = longhand.sweep(study, out=RUNS, progress=said.append)
        self.assertEqual([(run.axes["task"], run.seed) for run in runs], CELLS)
        self.assertIn("4 done, 0 to do", said[0])
        self.assertEqual(len(longhand.evaluations(RUNS, study=study)), 16)

    def test_attempts_of_tasks_are_not_listed_as_runs(self):
        shutil.copytree(RUNS, self.folder / "runs")
        run = longhand.runs(self.folder / "runs")[0]
        path = pathlib.Path(run.path)
        shutil.copytree(path, path.parent / ".attempts" / "7_1-1" / run.id / run.digest / path.name)
        self.assertEqual(len(longhand.runs(self.folder / "runs")), 4)

    def test_a_report_is_written(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may report that gnuplot is missing
            report = longhand.report(RUNS, out=self.folder / "report", progress=launcher.ignore_line)
        self.assertEqual(report.folder, self.folder / "report")
        self.assertIn("two cells", report.text)
        self.assertTrue(report.page.exists())
        one, other = longhand.runs(RUNS)[:2]
        self.assertIn("seed", longhand.compare(one, other))
        with self.assertRaisesRegex(longhand.InputError, "there is no folder"):
            longhand.report(self.folder / "none", progress=launcher.ignore_line)

    def read_csv(self, folder, name):
        with open(folder / name, newline="") as file:
            return list(csv.DictReader(file))

    def test_tables_of_a_report_have_the_values_that_python_reads(self):
        longhand.call(["export", "csv", RUNS, "--out", self.folder / "csv"], launcher.ignore_line)
        table, mine = self.read_csv(self.folder / "csv", "evaluations.csv"), longhand.evaluations(RUNS)
        self.assertEqual(len(table), 16)
        for row, wanted in zip(table, mine):
            self.assertEqual((row["study"], row["task"], row["id"], row["digest"], row["split"]),
                             ("sweep", wanted["id"], wanted["id"], wanted["digest"], wanted["split"]))
            for name in ("seed", "learning_rate", "step", "length", "examples", "accuracy", "exact_match", "loss"):
                self.assertAlmostEqual(float(row[name]), wanted[name], places=7, msg=name)
        self.assertEqual([(row["state"], row["task"], int(row["seed"]))
                          for row in self.read_csv(self.folder / "csv", "runs.csv")],
                         [("evaluated", *cell) for cell in CELLS])

    def test_damaged_runs_are_left_out_of_studies(self):
        damaged = self.folder / "damaged"
        shutil.copytree(RUNS, damaged)
        pathlib.Path(longhand.runs(damaged)[0].path, "run.json").write_text("{")
        with self.assertRaisesRegex(longhand.InputError, r"damaged and left out:\n  .*run\.json"):
            longhand.call(["export", "csv", damaged], launcher.ignore_line)
        self.assertEqual(len(self.read_csv(damaged / "csv", "evaluations.csv")), 12)
        with self.assertWarns(longhand.LonghandWarning):
            runs = longhand.runs(damaged, study=STUDY)
        self.assertEqual([(run.axes["task"], run.seed) for run in runs], CELLS[1:])

    def test_events_are_exported_until_ctrl_c(self):
        out = self.folder / "events"
        words = ["export", "tensorboard", RUNS, "--out", out]
        os.environ["LONGHAND_PYTHON"] = sys.executable
        self.addCleanup(os.environ.pop, "LONGHAND_PYTHON")
        command = [ROOT / "longhand", *words, "--follow"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            self.assertIn("follows", process.stdout.readline())
            while len(list(out.glob("*/*/*/events.out.*"))) < 4 and process.poll() is None:
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGINT)
            self.assertIn("events of 4 runs", process.stdout.read())
        self.assertIn(process.returncode, (0, -signal.SIGINT))  # the shell of ./longhand may end by the signal
        self.assertIn("events of 4 runs", longhand.call(words, launcher.ignore_line))
        os.environ["LONGHAND_PYTHON"] = "no-such-python"
        with self.assertRaisesRegex(longhand.MachineError, "there is no no-such-python"):
            longhand.call(words, launcher.ignore_line)

    def test_tensorboard_reads_the_events(self):
        if not is_installed("tensorboard"):
            self.skipTest("no tensorboard")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        run = longhand.runs(RUNS)[0]
        events.export(RUNS, self.folder)
        found = EventAccumulator(str(self.folder.joinpath(*pathlib.Path(run.path).parts[-3:]))).Reload()
        self.assertEqual([event.step for event in found.Scalars("training/loss")],
                         [line["step"] for line in run.metrics()])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
