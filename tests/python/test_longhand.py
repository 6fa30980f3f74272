"""Reading the files of trained runs: python3 tests/python/test_longhand.py RUNS TRACE

RUNS has the runs `plain` and `drawn` of tests/system/test_analyze.sh, TRACE is a file of `trainer trace`. The standard
library is enough; differences with numpy are checked if it is installed.
"""

import errno
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import unittest
import unittest.mock
import warnings

from support import ROOT, FolderCase, is_installed
import longhand
from longhand import files, following

RUNS, TRACE = (pathlib.Path(path) for path in sys.argv[1:3])

os.environ.setdefault("MPLBACKEND", "Agg")


class Files(FolderCase):
    def copy_run(self):
        shutil.copytree(longhand.runs(RUNS)[0].path, self.folder / "run")
        return self.folder / "run"

    def expect_refusal(self, what, call, *arguments):
        """Checks that a call raises an error that names the folder of the test and contains `what`."""
        with self.assertRaises(longhand.LonghandError) as caught:
            call(*arguments)
        self.assertIn(str(self.folder), str(caught.exception))
        self.assertIn(what, str(caught.exception))


class TestRuns(Files):
    def test_runs_are_found_in_order(self):
        found = longhand.runs(RUNS)
        self.assertEqual([run.id for run in found], ["drawn", "plain"])
        for run in found:
            self.assertEqual((run.seed, run.learning_rate, len(run.digest)), (0, 0.001, 16))
            self.assertEqual(run.spec["train"]["steps"], 30)
            self.assertEqual(run.info["exit"], 0)

    def test_metrics_and_evaluations_are_read(self):
        run = longhand.runs(RUNS)[0]
        metrics = run.metrics()
        self.assertEqual([line["step"] for line in metrics], [10, 20, 30])
        self.assertTrue(all(line["loss"] > 0 for line in metrics))
        evaluations = run.evaluations()
        self.assertEqual([line["by"] for line in evaluations], [{"length": 4}, {"length": 8}])
        self.assertTrue(all(0 <= line["accuracy"] <= 1 for line in evaluations))

    def test_measured_numbers_are_floats(self):
        path = self.copy_run()
        (path / "eval.jsonl").write_text('{"step":30,"split":"beyond","by":{"length":8},"accuracy":1,"loss":null,'
                                         '"exact_match":0,"examples":5}\n')
        row, = longhand.Runs([longhand.Run(path)]).evaluations()
        self.assertEqual([repr(row[name]) for name in ("accuracy", "loss", "exact_match", "examples", "learning_rate")],
                         ["1.0", "nan", "0.0", "5", "0.001"])
        (path / "eval.jsonl").write_text('{"step":30,"accuracy":"1"}\n')
        self.expect_refusal("line 1: accuracy: found '1'; expected a number", longhand.Run(path).evaluations)
        info = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps({**info, "learning_rate": 1}))
        rates = [longhand.Run(path).learning_rate, longhand.runs(self.folder).rows()[0]["learning_rate"]]
        self.assertEqual(repr(rates), "[1.0, 1.0]")

    def test_numbers_that_fit_no_double_are_refused(self):
        path, huge, most = self.copy_run(), 10**400, sys.float_info.max
        for name, read in (("metrics", (run := longhand.Run(path)).metrics), ("eval", run.evaluations)):
            for field, value in (("loss", huge), ("loss", -huge), ("step", huge), ("by", {"length": huge})):
                (path / f"{name}.jsonl").write_text(json.dumps({"step": 30, field: value}) + "\n")
                self.expect_refusal(f"{name}.jsonl: line 1: {field}: found ", read)
            (path / f"{name}.jsonl").write_text(json.dumps({"step": 30, "loss": int(most)}) + "\n")
            self.assertEqual([repr(line["loss"]) for line in read()], [repr(most)])
        shutil.copytree(path, self.folder / "other")
        (path / "run.json").write_text(json.dumps({**run.info, "train_seconds": huge}))
        (self.folder / "other" / "run.json").write_text(json.dumps({**run.info, "learning_rate": huge}))
        with self.assertWarnsRegex(longhand.LonghandWarning, "other/run.json: learning_rate: found '1000.*skipped"):
            runs = longhand.runs(self.folder)
        self.assertEqual([row["train_seconds"] for row in runs.rows()], [huge])  # kept as it is

    def test_the_last_evaluation_of_a_condition_counts(self):
        path = self.copy_run()
        again = {**longhand.Run(path).evaluations()[0], "accuracy": 0.125}
        with open(path / "eval.jsonl", "a") as file:
            file.write(json.dumps(again) + "\n")
        run = longhand.Run(path)
        self.assertEqual(run.evaluations()[0]["accuracy"], 0.125)
        self.assertEqual([len(run.evaluations()), len(run.evaluations(every=True))], [2, 3])
        with open(path / "eval.jsonl", "a") as file:  # another axis during training
            for name in ("train", "test", "test"):
                line = {"step": 5, "split": "during", "set": name, "by": {"vectors": 1, "puzzle": 7}, "accuracy": 1}
                file.write(json.dumps(line) + "\n")
        self.assertEqual(len(run.evaluations()), 4)
        self.assertEqual([longhand.rows([run])[-1][key] for key in ("vectors", "puzzle", "set")], [1, 7, "test"])

    def test_decodings_are_not_mixed(self):
        path = self.copy_run()
        info = json.loads((path / "run.json").read_text())
        info["spec"]["model"]["kind"] = "decoder"
        (path / "run.json").write_text(json.dumps(info))
        forced = {"step": 30, "split": "beyond", "by": {"length": 8}, "decoding": "teacher_forced",
                  "accuracy_teacher_forced": 0.5, "exact_match": 0.25}
        greedy = {**forced, "decoding": "greedy", "accuracy": 0.125}
        (path / "eval.jsonl").write_text(json.dumps(forced) + "\n")
        run = longhand.Run(path)
        self.assertEqual(run.evaluations(), [forced])
        (path / "eval.jsonl").write_text(json.dumps(greedy) + "\n" + json.dumps(forced) + "\n")
        self.assertEqual(run.evaluations(), [greedy])
        self.assertEqual(len(run.evaluations(every=True)), 2)
        run.spec["eval"]["decoding"] = "teacher_forced"
        self.assertEqual([line["decoding"] for line in run.evaluations()], ["teacher_forced"])

    def test_rows_are_flat(self):
        rows = longhand.rows(longhand.runs(RUNS))
        self.assertEqual([(row["id"], row["length"]) for row in rows],
                         [("drawn", 4), ("drawn", 8), ("plain", 4), ("plain", 8)])
        self.assertTrue(all(not isinstance(value, (dict, list)) for row in rows for value in row.values()))
        self.assertEqual({(row["task"], row["encoding"]) for row in rows},
                         {("reverse_string", "drawn"), ("reverse_string", "plain")})
        self.assertEqual(len(longhand.rows(longhand.runs(RUNS), "metrics")), 6)
        with self.assertRaises(ValueError):
            longhand.rows([], "losses")

    def test_a_run_without_an_evaluation_has_no_rows(self):
        path = self.copy_run()
        (path / "eval.jsonl").unlink()
        (path / "metrics.jsonl").unlink()
        runs = longhand.runs(self.folder)
        self.assertEqual([longhand.rows(runs), longhand.rows(runs, "metrics")], [[], []])
        rows = longhand.rows(runs + longhand.runs(RUNS))
        self.assertEqual(len(rows), 4)

    def test_tasks_and_encodings_have_names(self):
        path = self.copy_run()
        info = json.loads((path / "run.json").read_text())
        for spec, name, task, encoding in (({"kind": "copy"}, "copy_rand_rope", "copy", "rand_rope"),
                                           ({"kind": "copy"}, "copy", "copy", "copy"),
                                           ({"data": "a/b.jsonl"}, "sums_rope", "sums_rope", "sums_rope"),
                                           ({"data": "a/b.jsonl", "name": "sums"}, "sums_rope", "sums", "rope"),
                                           (None, "sums", "?", "sums")):
            (path / "run.json").write_text(json.dumps({**info, "id": name, "spec": {"task": spec}}))
            run = longhand.Run(path)
            self.assertEqual((run.task, run.encoding), (task, encoding))

    def test_a_torn_last_line_is_skipped_and_reported(self):
        path = self.copy_run() / "metrics.jsonl"
        text = path.read_text()
        third = text.rindex("\n", 0, -1) + 1
        for torn in (text[third:-20], "\0\0", "1"):
            path.write_text(text[:third] + torn)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                lines = longhand.read_lines(path)
            self.assertEqual([line["step"] for line in lines], [10, 20])
            self.assertEqual([str(entry.message) for entry in caught], [f"{path}: line 3 is torn and was skipped"])
        path.write_text(text[:-1])  # only the newline at the end is missing
        self.assertEqual([line["step"] for line in longhand.read_lines(path)], [10, 20, 30])

    def test_a_bad_line_elsewhere_is_an_error(self):
        path = self.folder / "lines.jsonl"
        path.write_text('{"step":1}\n{"step":\n{"step":3}\n')
        self.expect_refusal("line 2: ", longhand.read_lines, path)
        path.write_text('{"step":1}\n{"step":\n')
        self.expect_refusal("line 2: ", longhand.read_lines, path)
        path.write_text('{"step":1}\n[2]\n')
        self.expect_refusal("line 2 is not a JSON object", longhand.read_lines, path)

    def test_a_tail_reads_whole_new_lines(self):
        path = self.folder / "metrics.jsonl"
        tail = following.Tail(path)
        self.assertEqual(tail.read(), (0, []))
        for text, expected in (("a\nb\nc", (0, [b"a\n", b"b\n"])), ("a\nb\ncc\nd\n", (2, [b"cc\n", b"d\n"])),
                               ("a\nb\ncc\nd\n", (4, [])), ("a\nb\n", (2, [])), ("a\nb\ne\nf\n", (2, [b"e\n", b"f\n"])),
                               ("a\nb\ne\ng\nh\n", (3, [b"g\n", b"h\n"])), ("", (0, [])), ("e\n", (0, [b"e\n"]))):
            path.write_text(text)
            self.assertEqual(tail.read(), expected)
        path.unlink()
        self.assertEqual(tail.read(), (1, []))

    def test_damaged_new_lines_are_reported_and_skipped(self):
        paths = [self.folder / "plain" / "d" / name / "metrics.jsonl" for name in ("a", "b")]
        for path in paths:
            path.parent.mkdir(parents=True)
            path.write_text('{"step":1}\n')
        metrics = following.Metrics(self.folder, "*/*/*")

        def read(*texts):
            for path, text in zip(paths, texts):
                path.write_text(path.read_text() + text)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                return [(line["run"], line["step"], line["loss"]) for line in metrics.read()], \
                    [str(entry.message).rpartition("; ")[0] for entry in caught]

        self.assertEqual(read('\n{"step":2,"loss":1}\n', '{"step":2,"loss":3}\n'), ([("a", 2, 1), ("b", 2, 3)], []))
        found = read('\n{"step":3,"loss":"x"}\n{"st\n[]\n{"step":4,"loss":2}\n', '{"step":5,"loss":4}\n')
        self.assertEqual(found, ([("a", 4, 2), ("b", 5, 4)],
                                 [f"{paths[0]}: line 5: loss: found 'x'; expected a number"]))
        self.assertEqual(read('{}\n{"step":6,"loss":5}\n', '[]\n'),
                         ([("a", 6, 5)], [f"{paths[1]}: line 4 is not a JSON object"]))

    def test_folders_without_a_complete_run_are_refused(self):
        self.expect_refusal("No such file", longhand.Run, self.folder)
        (self.folder / "run.json").write_text("{")
        self.expect_refusal("no JSON", longhand.Run, self.folder)
        (self.folder / "run.json").write_text('{"id":"x"}')
        self.expect_refusal("'digest' is missing", longhand.Run, self.folder)
        self.expect_refusal("no such folder", longhand.runs, self.folder / "none")

    def test_other_folders_are_reported_and_runs_are_read(self):
        good = self.copy_run()
        for name, text in (("foreign", '{"project":"x"}'), ("list", "[]"), ("torn", '{"id":')):
            (self.folder / name).mkdir()
            (self.folder / name / "run.json").write_text(text)
        with self.assertWarnsRegex(longhand.LonghandWarning, "foreign.*not a run of Longhand; skipped"):
            runs = longhand.runs(self.folder)
        self.assertEqual([run.path for run in runs], [str(good)])
        self.assertEqual([pathlib.Path(path).name for path, _ in runs.skipped], ["foreign", "list", "torn"])
        (good / "eval.jsonl").write_text('{"step":1}\n{\n{"step":3}\n')
        with self.assertWarnsRegex(longhand.LonghandWarning, "eval.jsonl: line 2: .*skipped"):
            self.assertEqual(runs.evaluations(), [])

    def test_limits_are_those_of_the_generator(self):
        text = (ROOT / "lab/study/read/run_shapes.lua").read_text()
        sizes = re.findall(r'\b([a-zA-Z_.]+)(?:"\])? = (\d+) << (\d+)', text)
        numbers = {name: int(size) << int(shift) for name, size, shift in sizes}
        self.assertLessEqual({**files.MAX_BYTES, "M.MAX_LINE_BYTES": files.MAX_LINE_BYTES}.items(), numbers.items())

    def test_only_regular_files_are_opened(self):
        """A reader would wait for a pipe, and read a device without end."""
        path = self.copy_run()
        run = longhand.Run(path)
        for name, read in (("metrics.jsonl", run.metrics), ("eval.jsonl", run.evaluations),
                           ("checkpoint.safetensors", run.checkpoint), ("run.json", lambda: longhand.Run(path))):
            (path / name).unlink()
            os.mkfifo(path / name)
            self.expect_refusal("found no regular file", read)
            (path / name).unlink()
            (path / name).symlink_to("/dev/zero")
            self.expect_refusal("found no regular file", read)

    def test_large_files_and_lines_are_refused(self):
        path = self.copy_run()
        run = longhand.Run(path)
        (path / "eval.jsonl").write_text('{"step":1,"x":"' + "x" * files.MAX_LINE_BYTES + '"}\n')
        self.expect_refusal(f"line 1: found {files.MAX_LINE_BYTES} bytes or more", run.evaluations)
        for name, read in (("metrics.jsonl", run.metrics), ("eval.jsonl", run.evaluations),
                           ("run.json", lambda: longhand.Run(path))):
            os.truncate(path / name, files.MAX_BYTES[name] + 1)  # a sparse file of zeros
            self.expect_refusal(f"expected at most {files.MAX_BYTES[name]}", read)

    def test_fields_of_other_types_are_refused(self):
        path = self.copy_run()
        run, info = longhand.Run(path), json.loads((path / "run.json").read_text())
        for field, value in (("by", [4]), ("by", {"length": [4]}), ("split", {}), ("set", 3), ("step", "x"),
                             ("step", None), ("beyond", "length"), ("seed", []), ("decoding", ["greedy"]),
                             ("novel", "yes")):
            (path / "eval.jsonl").write_text(json.dumps({"step": 1, field: value}) + "\n")
            self.expect_refusal(f"line 1: {field}: found", run.evaluations)
        for field, value in (("id", 3), ("digest", None), ("seed", True), ("seed", 10**400), ("learning_rate", []),
                             ("learning_rate", 10**400), ("spec", []), ("seeds_apart", 3)):
            (path / "run.json").write_text(json.dumps({**info, field: value}))
            self.expect_refusal(f"run.json: {field}: found", longhand.Run, path)
        for seed in [5], "5", 0.5, True, None, 10**400:
            (path / "run.json").write_text(json.dumps({**info, "seeds_apart": {"data": seed}}))
            self.expect_refusal("run.json: seeds_apart.data: found", longhand.Run, path)
        (path / "run.json").write_text(json.dumps({**info, "spec": {"model": []}}))
        self.expect_refusal("spec.model is not a JSON object", longhand.Run, path)
        for text in ("[" * 100000, '{"a":' * 100000, "1" * 5000):
            (path / "run.json").write_text(text)
            self.expect_refusal("no", longhand.Run, path)
            (path / "eval.jsonl").write_text(text[:60000] + "\n")
            self.expect_refusal("line 1", run.evaluations)

    def test_seeds_that_are_set_apart(self):
        path = self.copy_run()
        info = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps({**info, "seeds_apart": {"init": 5}}))
        run = longhand.Run(path)
        self.assertEqual(run.seeds, {"init": 5, "data": 0, "draws": 0})
        self.assertEqual([(row["seed"], row["seed_init"], row["seed_data"]) for row in longhand.Runs([run]).rows()],
                         [(0, 5, 0)])

    def test_runs_are_rows(self):
        row = longhand.runs(RUNS).rows()[0]
        names = ("id", "task", "encoding", "seed", "exit", "learning_rate", "layers", "width", "heads")
        self.assertEqual([row[key] for key in names], ["drawn", "reverse_string", "drawn", 0, 0, 0.001, 2, 16, 2])
        self.assertTrue(all(isinstance(value, (str, int, float)) for value in row.values()))

    def test_rows_of_a_table_are_selected_by_column(self):
        table = longhand.evaluations(RUNS)
        self.assertEqual(table, longhand.rows(longhand.runs(RUNS)))
        self.assertEqual([row["length"] for row in table.where(id="plain")], [4, 8])
        self.assertEqual(table.columns()[:8], ["id", "digest", "task", "encoding", "seed", "seed_init", "seed_data",
                                               "seed_draws"])
        self.assertEqual(table.where(id="other"), [])
        self.assertEqual(longhand.Rows().where(splt="test"), [])
        with self.assertRaisesRegex(ValueError, "no row has 'splt'; the rows have id, digest, task, "):
            table.where(splt="test")
        with self.assertRaisesRegex(ValueError, "no row has both 'width'") if is_installed("matplotlib") else \
                self.assertRaisesRegex(longhand.LonghandError, "plot.. needs matplotlib.*pip install matplotlib"):
            table.plot(x="width")
        if is_installed("matplotlib"):
            self.assertEqual(len(table.plot(by="id").get_lines()), 2)
            self.assertEqual(len(table.plot(by=None).get_lines()), 1)
            with self.assertRaisesRegex(ValueError, "no row has 'encodng'"):
                table.plot(by="encodng")
        if is_installed("pandas"):
            self.assertEqual(list(table.to_pandas()["length"]), [4, 8, 4, 8])
        else:
            with self.assertRaisesRegex(longhand.LonghandError, "pip install pandas"):
                table.to_pandas()

    def test_values_of_an_axis_are_numbers_if_their_names_are(self):
        for names, values in ((["32", "64"], [32, 64]), (["0.1", "1", "1e-05"], [0.1, 1.0, 1e-5]),
                              (["32", "wide"], ["32", "wide"]), (["01", "02"], ["01", "02"]), (["nan"], ["nan"])):
            self.assertEqual(longhand.reading._convert_numbers(names), values)

    def test_evaluations_with_another_seed_are_separate_rows(self):
        path = self.copy_run()
        line = {"step": 30, "split": "train", "by": {"length": 4}, "accuracy": 0.5, "seed": 7}
        with open(path / "eval.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")
        rows = longhand.rows([longhand.Run(path)])
        self.assertEqual([(row["seed"], row.get("evaluation_seed")) for row in rows], [(0, None), (0, None), (0, 7)])


class TestTensors(Files):
    def test_a_checkpoint_is_read(self):
        run = longhand.runs(RUNS)[1]
        with run.checkpoint() as tensors:
            self.assertEqual(repr(tensors), f"Tensors({tensors.path!r})")
            self.assertEqual(tensors.metadata["step"], "30")
            self.assertEqual(tensors.metadata["plan_digest"], run.digest)
            self.assertEqual(tensors.shape("output.weight"), (16, 2))
            self.assertEqual(tensors.dtype("output.weight"), "F32")
            self.assertIn("layers.1.attention.query.weight", tensors)
            with self.assertRaises(KeyError):
                tensors["layers.2.attention.query.weight"]
            weight, scale = tensors["output.weight"], tensors["layers.0.norm1.scale"].tolist()
            parameters = sum(len(bytes(tensors[name])) // 4 for name in tensors if not name.startswith("optimizer."))
        self.assertEqual(parameters, run.info["parameters"])
        self.assertEqual((tuple(weight.shape), len(weight.tolist()), len(weight.tolist()[0])), ((16, 2), 16, 2))
        self.assertEqual(weight.tolist()[3][1], weight[3, 1])
        self.assertTrue(all(0.9 < value < 1.1 for value in scale))

    def test_tensors_are_read_without_numpy(self):
        numpy, longhand.tensors.numpy = longhand.tensors.numpy, None
        try:
            with longhand.runs(RUNS)[0].checkpoint() as tensors:
                plain = tensors["output.weight"]
        finally:
            longhand.tensors.numpy = numpy
        self.assertIsInstance(plain, memoryview)
        self.assertEqual((plain.shape, plain.format), ((16, 2), "f"))
        if numpy is not None:
            with longhand.runs(RUNS)[0].checkpoint() as tensors:
                self.assertTrue((tensors["output.weight"] == numpy.array(plain)).all())

    def test_a_trace_is_read(self):
        with longhand.Trace(TRACE) as trace:
            self.assertEqual(trace.lengths(), [4, 8])
            self.assertEqual(tuple(trace.tokens(8).shape), (2, 16))
            attention = trace.attention(8, 1)
            self.assertEqual(tuple(attention.shape), (2, 2, 16, 16))
            self.assertAlmostEqual(sum(attention.tolist()[1][0][5]), 1, places=5)
            self.assertEqual(tuple(trace.activations(4).shape), (2, 8, 16))
            self.assertEqual(tuple(trace.activations(4, 1).shape), (2, 8, 16))
            self.assertEqual(trace.sites(8), ["layers.0", "layers.1"])
            self.assertEqual(trace.sites(4, "activations"), ["embedding", "layers.0.output", "layers.1.output"])
            self.assertEqual(trace.attention(8, "layers.1").tolist(), attention.tolist())
            for read in trace.attention, trace.activations:
                for index in -1, 2:
                    with self.assertRaisesRegex(KeyError, f"found 2 sites, index {index}; traced lengths: 4, 8"):
                        read(8, index)

    def test_a_trace_of_two_streams_is_read(self):
        sites = [("tokens.source", 2), ("tokens.target", 3), ("memory", 2), ("encoder.0.attention", 4), ("input", 3),
                 ("decoder.0.attention", 9), ("cross.0.attention", 6), ("decoder.0.output", 3), ("answers", 2),
                 ("targets", 2)]
        header, end = {}, 0
        for name, count in sites:
            header["n7." + name] = {"dtype": "U8", "shape": [1, count], "data_offsets": [end, end + count]}
            end += count
        with longhand.Trace(self.write_tensors(header, bytes(range(end)))) as trace:
            self.assertEqual(trace.sites(7), ["encoder.0", "decoder.0", "cross.0"])
            self.assertEqual(trace.sites(7, "activations"), ["memory", "input", "decoder.0.output"])
            self.assertEqual(trace.attention(7, 2).tolist(), trace.attention(7, "cross.0").tolist())
            self.assertEqual(trace.attention(7, 2).tolist(), [list(range(23, 29))])
            self.assertEqual(trace.activations(7).tolist(), [[5, 6]])
            self.assertEqual(trace.tokens(7, stream="target").tolist(), [[2, 3, 4]])
            self.assertEqual([trace.answers(7).tolist(), trace.targets(7).tolist()], [[[32, 33]], [[34, 35]]])

    def test_all_types_and_empty_tensors_are_read(self):
        data = struct.pack("<d", 0.5) + struct.pack("<2q", -1, 2**40) + b"\x01"
        entries = {"f": ["F64", [1], 0, 8], "i": ["I64", [2, 1], 8, 24], "b": ["BOOL", [1], 24, 25],
                   "e": ["F32", [0, 3], 25, 25]}
        header = {name: {"dtype": e[0], "shape": e[1], "data_offsets": e[2:]} for name, e in entries.items()}
        with longhand.Tensors(self.write_tensors(header, data)) as tensors:
            self.assertEqual([tensors[name].tolist() for name in "fibe"], [[0.5], [[-1], [2**40]], [True], []])

    def write_tensors(self, header, data):
        text = json.dumps(header).encode()
        path = self.folder / "some.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
        return path

    def test_torn_and_damaged_files_are_refused(self):
        whole = (pathlib.Path(longhand.runs(RUNS)[0].path) / "checkpoint.safetensors").read_bytes()
        path = self.folder / "torn.safetensors"
        for length, what in ((0, "0 bytes"), (7, "7 bytes"), (200, "cut short"), (len(whole) - 1, "are not those of")):
            path.write_bytes(whole[:length])
            self.expect_refusal(what, longhand.Tensors, path)
        path.write_bytes(whole + b"x")
        self.expect_refusal("the tensors end at byte", longhand.Tensors, path)
        path.write_bytes(whole[:8] + b"!" + whole[9:])
        self.expect_refusal("the header is not JSON", longhand.Tensors, path)
        self.expect_refusal("No such file", longhand.Tensors, self.folder / "none")

    def test_files_that_cannot_be_mapped_are_reported(self):
        with unittest.mock.patch("mmap.mmap", side_effect=OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))):
            self.expect_refusal("some.safetensors: cannot map its 28 bytes into memory: Cannot allocate memory",
                                longhand.Tensors, self.write_tensors({"__metadata__": {}}, b""))

    def test_headers_with_wrong_entries_are_refused(self):
        for entry, what in (({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}, "bytes 0 to 4 are not those"),
                            ({"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}, "elements are BF16"),
                            ({"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}, "dtype, shape"),
                            ({"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}, "dtype, shape"),
                            ({"dtype": "F32", "shape": "1", "data_offsets": [0, 4]}, "dtype, shape"),
                            ({"dtype": "F32", "shape": [1 << 70], "data_offsets": [0, 4]}, "dtype, shape"),
                            ({"shape": [1]}, "dtype, shape"), ([], "dtype, shape"), (3, "dtype, shape")):
            self.expect_refusal(what, longhand.Tensors, self.write_tensors({"a": entry}, b"1234"))
        self.expect_refusal("not a JSON object", longhand.Tensors, self.write_tensors([1], b""))
        self.expect_refusal("not a JSON object", longhand.Tensors, self.write_tensors({"__metadata__": [1]}, b""))
        text = b"[" * 100000
        path = self.folder / "deep.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text)
        self.expect_refusal("nested too deep", longhand.Tensors, path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
