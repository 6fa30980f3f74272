"""Specs, formulas and commands from Python, without a trainer: python3 tests/python/test_specs.py"""

import contextlib
import io
import math
import os
import signal
import time
import unittest

from support import ROOT, FolderCase, is_installed
import longhand
from longhand import functions as f, launcher, lua, specs, tracing

REST = {"model": {"use": "ruoss_encoder"}, "train": {"use": "quick"}, "eval": {"use": "quick"}}


def own_bias(x):
    penalty = x.slope * f.log1p(abs(x.distance))
    bonus = f.select(f.less(x.distance, 0), x.left, 0)
    return x.score - penalty + bonus


OWN_BIAS = {
    "task": {"kind": "bucket_sort"},
    "encoding": {"score": own_bias, "parameters": {"slope": {"per": "layer_head", "init": "alibi_slopes"},
                                                   "left": {"per": "layer_head", "init": 0}}},
    "model": {"use": "ruoss_encoder"}, "train": {"use": "quick", "steps": 600}, "eval": {"use": "quick"},
}


class SpecCase(FolderCase):
    def expect_refusal(self, *texts, call, kind=longhand.LonghandError):
        """Checks that a call raises an error of this kind with all of the texts, and returns the error."""
        with self.assertRaises(kind) as caught:
            call()
        for text in texts:
            self.assertIn(text, str(caught.exception))
        return caught.exception


class TestStudies(SpecCase):
    def test_axes_may_be_fields_presets_or_fragments(self):
        study = longhand.Study(
            self.folder / "grid.lua", base=longhand.Spec(**{"task": {"kind": "bucket_sort"}, **REST}),
            axes={"encoding": ["none", "rope"], "model.width": [32, 64], "task": ["parity_check"],
                  "bias": {"plain": {}, "mine": {"train": {"steps": 5}}}}, seeds=range(4), learning_rates=[1e-3])
        self.assertEqual(study.write().read_text(), study.text)
        for line in ('{ name = "encoding", values = {', '{ name = "rope", spec = { encoding = { use = "rope" } } }',
                     '{ name = "width", values = {', '{ name = 32, spec = { model = { width = 32 } } }',
                     '{ name = "parity_check", spec = { task = { kind = "parity_check" } } }',
                     '{ name = "mine", spec = { train = { steps = 5 } } }', "seeds          = { 0, 3 }",
                     'task = { kind = "bucket_sort" }', "learning_rates = { 0.001 }"):
            self.assertIn(" ".join(line.split()), " ".join(study.text.split()))
        cell = f"{study.path}:rope_64_parity_check_mine"
        self.assertEqual(longhand.check(cell, progress=launcher.ignore_line)["id"], "rope_64_parity_check_mine")

    def test_mistakes_are_named(self):
        self.expect_refusal("axes: model.width: 64", "expected a list",
                            call=lambda: longhand.Study(axes={"model.width": 64}))
        self.expect_refusal("axes: train.lengths: (1, 40) cannot be the name of a value", "or a dict",
                            call=lambda: longhand.Study(axes={"train.lengths": [(1, 40)]}))
        for seeds in (5, [0, 4], range(0, 10, 2), [], ["a"]):
            self.expect_refusal("seeds: ", "expected consecutive seeds", call=lambda: longhand.Study(axes={}, seeds=seeds))
        self.assertEqual(longhand.Study(axes={}, seeds=[2, 3, 4]).text, longhand.Study(axes={}, seeds=range(2, 5)).text)
        self.assertIn("seeds = { init = { 0, 3 }, data = { 2, 2 } }",
                      longhand.Study(axes={}, seeds={"init": range(4), "data": [2]}).text.replace("  ", ""))
        self.expect_refusal("the study has no file", 'Study("NAME.lua"', call=longhand.Study(axes={}).write)
        study = longhand.Study(self.folder / "bad.lua", base=REST, axes={"model.widht": [1]})
        self.expect_refusal("bad.lua", "widht", call=lambda: longhand.estimate(study, out=self.folder / "runs",
                                                                               progress=launcher.ignore_line))


class TestText(SpecCase):
    def test_values_become_lua_text(self):
        for given, text in ((True, "true"), (3, "3"), (0.05, "0.05"), (2e6, "2000000"), (1e-05, "1e-5"),
                            (1e20, "1e20"), (0.0, "0"), (-0.0, "-0.0"), (-2.0, "-2"),
                            ('a"\\\n\x01é', '"a\\"\\\\\\n\\001é"'), ([], "{}"), ((1, 40), "{ 1, 40 }"),
                            (range(1, 41), "{ 1, 40 }"), (range(20, 201, 20), "{ 20, 200, step = 20 }"),
                            (longhand.Table(1, 2, step=3), "{ 1, 2, step = 3 }"),
                            ({"kind": "rope", "end": 1, "2d": 2}, '{ kind = "rope", ["end"] = 1, ["2d"] = 2 }')):
            self.assertEqual(lua.format_value(given), text)

    def test_none_leaves_a_field_out(self):
        self.assertEqual(lua.format_value({"a": {"b": None}, "c": longhand.Table(1, d=None)}), "{ a = {}, c = { 1 } }")
        spec = longhand.Spec(task={"kind": "bucket_sort", "seed": None}, encoding=None)
        self.assertEqual(spec.text, longhand.Spec(task={"kind": "bucket_sort"}).text)
        self.assertEqual(specs.make_sets({"train.steps": None, "eval.draws": 2}), ["--set", "eval.draws=2"])
        self.assertEqual(longhand.Study(axes={}, seeds=None).text, longhand.Study(axes={}).text)

    def test_long_tables_are_broken(self):
        text = lua.format_value({"values": list(range(100)), "name": "x" * 100})
        self.assertTrue(all(len(line) <= 120 for line in text.split("\n")))
        self.assertEqual(text.split("\n")[1], "  values = {")

    def test_values_without_a_form_in_lua_are_refused(self):
        self.expect_refusal("train.lengths[2]: None is a NoneType",
                            call=lambda: lua.format_value({"train": {"lengths": [1, None]}}))
        self.expect_refusal("nan: expected a finite number", call=lambda: lua.format_value(float("nan")))
        self.expect_refusal("found range(3, 1); expected a range of ascending lengths",
                            call=lambda: lua.format_value(range(3, 1), "train.lengths"))
        self.expect_refusal("--lengths: range(0, 0) has no numbers", "at least one number",
                            call=lambda: longhand.train("bucket_sort_rope", lengths=range(0)))
        self.expect_refusal("1 is not the name of a field", call=lambda: lua.format_value({1: 2}, "task"))


class TestFormulas(SpecCase):
    def test_names_in_python_become_names_in_lua(self):
        self.assertEqual(lua.format_value(own_bias), "function(x)\n"
                         "  local penalty = x.slope * log1p(abs(x.distance))\n"
                         "  local bonus = select(less(x.distance, 0), x.left, 0)\n"
                         "  return x.score - penalty + bonus\nend")

    def test_operators_bind_as_in_lua(self):
        for score, text in ((lambda x: (x.score - (x.a - x.b)) * -x.c, "(x.score - (x.a - x.b)) * -x.c"),
                            (lambda x: (-x.a) ** 2 + 2 ** -x.b ** 2, "(-x.a) ^ 2 + 2 ^ -x.b ^ 2"),
                            (lambda x: (x.a ** 2) ** 3 - -1, "(x.a ^ 2) ^ 3 - -1"),
                            (lambda x: x.a // 2 % (x.b / 3), "x.a // 2 % (x.b / 3)"),
                            (lambda x: -(-x.a), "-(-x.a)"), (lambda x: 1 - x["end"], '1 - x["end"]')):
            self.assertEqual(lua.format_value(score), f"function(x) return {text} end")

    def test_a_formula_that_is_used_twice_is_written_once(self):
        def score(x):
            total = x.score
            for _ in range(40):
                total = total + total * x.a
            return total

        self.assertLess(len(lua.format_value(score)), 4000)

    def test_sums_have_variables_of_their_own(self):
        def score(x):
            far = f.log1p(abs(x.distance))

            def term(m):
                angle = far * (m + 1)
                return f.cos(angle) + f.sum(2, lambda m: f.sin(angle * m) * far)

            return x.score + f.sum(4, term) / 8

        self.assertEqual(lua.format_value(score), "function(x)\n"
                         "  local far = log1p(abs(x.distance))\n"
                         "  return x.score + sum(4, function(m)\n"
                         "    local angle = far * (m + 1)\n"
                         "    return cos(angle) + sum(2, function(m_2) return sin(angle * m_2) * far end)\n"
                         "  end) / 8\nend")

    def test_a_long_chain_is_written_without_nesting(self):
        def score(x):
            total = x.score
            for place in range(3000):
                total = total + place
            return total

        text = lua.format_value(score)
        self.assertTrue(text.endswith(" + 2999\nend"))
        self.assertTrue(all(len(line) <= 120 for line in text.split("\n")))

    def test_operations_that_python_would_execute_are_refused(self):
        for score, text in ((lambda x: x.score if x.distance < 0 else 0, "less(a, b)"),
                            (lambda x: x.score and x.a, "select(condition, a, b)"),
                            (lambda x: max(x.score, 0), "less(a, b)"), (lambda x: x.a == 1, "equal(a, b)"),
                            (lambda x: x.a[0], "lookup(table, i)"), (lambda x: sum(x.a), "lookup(table, i)"),
                            (lambda x: x.score(), "x.score is not a call"),
                            (lambda x, y: x.score, "(x, y): missing a required argument: 'y'"),
                            (lambda x: f.sum(3, lambda: x.a), "a function of one argument"),
                            (lambda x: ~x.a, "negate(a)"), (lambda x: float(x.a), "in place of math's"),
                            (lambda x: round(x.score), "floor(a + 0.5)"),
                            (lambda x: math.trunc(x.score), "floor of longhand.functions"),
                            (lambda x: x.score if x.distance in {0, 1} else 0, "in a set or a dict"),
                            (lambda x: {0: 1.0}.get(x.distance, 0.0), "in a set or a dict")):
            self.expect_refusal("a formula cannot be traced", text, call=lambda: lua.format_value(score))
        kept = []
        lua.format_value(lambda x: kept.append(x) or x.score)
        self.expect_refusal("x.a is used outside", call=lambda: lua.format_value(lambda x: x.score + kept[0].a))

    def test_operators_are_those_of_the_generator(self):
        events = {"__idiv": "__floordiv__", "__div": "__truediv__", "__unm": "__neg__", "__band": "__and__",
                  "__bor": "__or__", "__bxor": "__xor__", "__bnot": "__invert__", "__shl": "__lshift__",
                  "__shr": "__rshift__"}
        facts = launcher.read_facts()["formulas"]
        a, b = (tracing.Traced("symbol", name, None) for name in "ab")
        for event, word in facts["operators"].items():
            node = getattr(tracing.Traced, events.get(event, event + "__"))(*([a] if event == "__unm" else [a, b]))
            self.assertEqual((node.kind, node.word), ("operator", word))
        for event in facts["refused"]:
            if event != "__concat":  # Python lacks this operator
                self.expect_refusal(facts["refused"][event]["expected"],
                                    call=lambda: getattr(a, events.get(event, event + "__"))(b))

    def test_functions_are_those_of_the_generator(self):
        self.assertIn("log1p", dir(f))
        with self.assertRaisesRegex(AttributeError, "no function 'lgo'; expected: abs, all, "):
            f.lgo
        self.assertEqual([name for name in dir(f) if not callable(getattr(f, name))], [])


class TestSpecs(SpecCase):
    def test_a_spec_equals_its_form_in_lua(self):
        spec = longhand.Spec(self.folder / "own_bias.lua", **OWN_BIAS)
        self.assertEqual(spec.check()["digest"],
                         longhand.check(ROOT / "examples/own_bias/own_bias.lua")["digest"])
        text = spec.path.read_text()
        self.assertEqual(text, spec.text)
        self.assertIn("return {\n  task     = { kind = \"bucket_sort\" },\n  encoding = {\n    score = function(x)\n"
                      "      local penalty = ", text)

    def test_the_example_of_the_guide_runs(self):
        guide = (ROOT / "docs" / "python.md").read_text()
        source = guide.split("```python\n")[1].split("```")[0]
        os.chdir(self.folder)
        try:
            exec(compile(source, "docs/python.md", "exec"), names := {})
        finally:
            os.chdir(ROOT)
        self.assertEqual(names["spec"].text, guide.split("```lua\n")[1].split("```")[0])

    def test_mistakes_have_fields_and_hints(self):
        spec = longhand.Spec(task={"kind": "bucket_srt"}, encoding={"score": lambda x: x.score - x.slpe}, **REST)
        error = self.expect_refusal('task.kind: there is no task "bucket_srt"', "x.slpe", kind=longhand.SpecError,
                                    call=spec.check)
        self.assertEqual([error.field, error.hint], ["task.kind", 'did you mean "bucket_sort"?'])
        self.assertEqual([(e["field"], e["line"]) for e in error.errors], [("task.kind", 2), ("encoding.score", 3)])
        error = self.expect_refusal("expected: ", kind=longhand.SpecError,
                                    call=lambda: longhand.build("bucket_sort_rope", set={"model.widht": 5}))
        self.assertEqual(error.field, "model.widht")
        self.expect_refusal("no such spec: bucket_srt", kind=longhand.SpecError,
                            call=lambda: longhand.check("bucket_srt"))

    def test_set_changes_fields_of_a_spec(self):
        self.assertNotEqual(longhand.check("bucket_sort_rope")["digest"],
                            longhand.check("bucket_sort_rope", set={"precision": "float64",
                                                                    "train.lengths": range(1, 21)})["digest"])
        self.expect_refusal("'train.steps=5' is a str", "expected a dict",
                            call=lambda: longhand.check("bucket_sort_rope", set="train.steps=5"))

    def test_sections_take_fields_as_keywords(self):
        task = longhand.Task(kind="bucket_sort", computation=1, loss=None)
        self.assertEqual(task, {"kind": "bucket_sort", "computation": 1})
        spec = longhand.Spec(eval=longhand.Eval(use="quick"), train=longhand.Train(use="quick", steps=5),
                             model=longhand.Model(layers=2), encoding=longhand.Encoding(use="rope"), task=task,
                             precision="float32")
        self.assertEqual([line.split()[0] for line in spec.text.splitlines()[1:-1]],
                         ["task", "encoding", "model", "train", "eval", "precision"])
        self.assertEqual(len(spec.check()["digest"]), 16)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'widht'"):
            longhand.Model(widht=32)
        self.assertRegex(longhand.Model.__doc__, "embedding_dropout [^:]*: share of")

    def test_a_file_is_written_only_when_it_changes(self):
        spec = longhand.Spec(self.folder / "new" / "plain.lua", task={"kind": "bucket_sort"}, **REST)
        self.assertEqual((str(spec), spec.text.count("bucket_sort"), os.listdir(self.folder)),
                         (f"Spec({str(spec.path)!r})", 1, []))
        spec.write()
        before = spec.path.stat().st_ino
        spec.check()
        self.assertEqual(spec.path.stat().st_ino, before)
        spec.fields["train"] = {"use": "quick", "steps": 7}
        spec.write()
        self.assertEqual((spec.path.read_text(), os.listdir(spec.path.parent)), (spec.text, ["plain.lua"]))
        (self.folder / "file").touch()
        self.expect_refusal("/file: File exists",
                            call=lambda: spec.write(self.folder / "file" / "plain.lua"))

    def test_a_spec_without_a_file_is_refused(self):
        self.expect_refusal("the spec has no file", call=lambda: longhand.train(longhand.Spec(**OWN_BIAS)))

    def test_a_plan_has_the_number_of_parameters(self):
        self.assertEqual(longhand.plan("bucket_sort_rope")["parameters"], 249413)


class Frame:
    """A table with the methods of a pandas.DataFrame that the package calls."""

    def __init__(self, columns):
        self.columns = columns

    def to_dict(self, orient):
        assert orient == "records"
        return [dict(zip(self.columns, row)) for row in zip(*self.columns.values())]


class TestExamples(SpecCase):
    def make_spec(self, data, **task):
        return longhand.Spec(self.folder / "sums.lua", task={"data": data, **task}, model={"use": "ruoss_encoder"},
                             encoding={"kind": "none"}, train={"batch": 4, "epochs": 5, "log_every": 1})

    def test_objects_become_lines_of_a_file(self):
        lines = '{"input":"1 0 +","target":["1"]}\n{"input":[0,1],"target":"é","mask":[0],"digits":2}\n'
        dicts = [{"input": "1 0 +", "target": ("1",), "digits": None, "mask": float("nan")},
                 {"input": range(2), "target": "é", "mask": [False], "digits": 2.0}]
        columns = {"a": ["1 0 +", [0, 1]], "b": [["1"], "é"], "mask": [None, [0]], "digits": [float("nan"), 2.0]}
        frames = [Frame] + ([__import__("pandas").DataFrame] if is_installed("pandas") else [])
        for examples in (longhand.Examples(dicts), longhand.Examples(example for example in dicts),
                         longhand.Examples([("1 0 +", ["1"]), dicts[1]]),
                         *(longhand.Examples(frame(columns), input="a", target="b") for frame in frames)):
            self.assertEqual(examples.content.decode(), lines)
        placed = longhand.Examples([{"input": "a b", "target": "c", "positions": range(1, 4)}])
        self.assertEqual(placed.content, b'{"input":"a b","target":"c","positions":[1,2,3]}\n')
        self.assertRegex(repr(longhand.Examples(dicts)), r"<2 Examples: examples-[0-9a-f]{16}\.jsonl>")

    def test_files_are_written_with_the_spec(self):
        pairs = [("1 0", "1"), ("1 1", "0")]
        spec = self.make_spec((pair for pair in pairs), eval=[("1 1 1", "1")], validation=None)
        names = [longhand.Examples(given).name for given in (pairs, [("1 1 1", "1")])]
        self.assertIn('data = "{}", eval = "{}" }}'.format(*names), spec.text)
        self.assertEqual(os.listdir(self.folder), [])
        digest = spec.check()["digest"]
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([*names, "sums.lua"]))
        before = [(self.folder / name).stat().st_ino for name in names]
        self.assertEqual(self.make_spec(pairs, eval=longhand.Examples([("1 1 1", "1")])).check()["digest"], digest)
        self.assertEqual([(self.folder / name).stat().st_ino for name in names], before)
        self.assertEqual(longhand.Spec(**spec.fields).check()["digest"], digest)  # in a temporary folder
        (self.folder / names[0]).write_text("mine")
        self.expect_refusal(names[0], "found content that does not match", "delete the found file, or rename it",
                            call=spec.check)
        study = longhand.Study(self.folder / "grid.lua", base={**spec.fields, "task": {"data": pairs}},
                               axes={"size": {"one": {"task": longhand.Table(eval=pairs[:1])}}})
        self.assertEqual(study.text.count("examples-"), 2)
        value = {"name": "one", "spec": {"task": {"eval": pairs[1:]}}}
        for axes in ([{"name": "size", "values": [value]}], longhand.Table(longhand.Table(name="size", values=[value])),
                     [{"name": "size", "values": (longhand.Table(**value),)}]):
            study = longhand.Study(self.folder / "grid.lua", base=REST, axes=axes)
            self.assertIn(f'task = {{ eval = "{longhand.Examples(pairs[1:]).name}" }}', study.text)
            study.write()
            self.assertTrue((self.folder / longhand.Examples(pairs[1:]).name).is_file())
            (self.folder / longhand.Examples(pairs[1:]).name).unlink()
        for name, sets in (("data", {"task.data": pairs}), ("eval", {"task.eval": longhand.Examples(pairs)}),
                           ("validation", {"task": {"validation": pairs}})):
            self.expect_refusal(f"set: task.{name}: ", "expected the path of a file",
                                f"as task.{name} of a Spec, which writes their file",
                                call=lambda: longhand.check("bucket_sort_rope", set=sets))
        self.assertEqual(specs.make_sets({"task.data": self.folder / "a.tsv"}),
                         ["--set", f'task.data="{self.folder}/a.tsv"'])
        self.assertEqual(self.make_spec(self.folder / "a.tsv").text.count(f'data = "{self.folder}/a.tsv"'), 1)

    def test_mistakes_are_named(self):
        for given, texts in ((5, ["task.data: 5 is an int", "expected pairs"]), ([], ["task.data: found no examples"]),
                             ({"a": "b"}, ["is a dict", "expected pairs"]),
                             ([("a", "b"), "cd"], ["task.data[1]: 'cd' is a str; expected a pair (input, target)"]),
                             ([("a", "b", "c")], ["task.data[0]: ('a', 'b', 'c') is a tuple; expected a pair"]),
                             ([("a", 5)], ["task.data[0]: target: 5 is an int; expected a text, or a list"]),
                             ([("", "b")], ["task.data[0]: input: '' is empty"]),
                             ([("a", [])], ["task.data[0]: target: [] is empty"]),
                             ([("a", ["x", None])], ["task.data[0]: target[1]: None is a NoneType"]),
                             ([("a", [-1])], ["task.data[0]: target[0]: -1 is an int; expected", "from 0"]),
                             ([("a", "\ud800")], ["task.data[0]: found text with half a surrogate pair"]),
                             ([{"input": "a", "answer": "b"}], ["found 'input', 'answer'; expected 'target'"]),
                             ([{"input": "a", "target": "b", "digits": 1.5}], ["digits: 1.5 is a float; expected an"]),
                             ([{"input": "a", "target": "b", "mask": "01"}], ["mask: '01' is not a mask"]),
                             ([{"input": "a", "target": "b", "positions": [1, -2]}],
                              ["positions: [1, -2] is not a list"]),
                             ([{"input": "a", "target": "b", "positions": 7}],
                              ["positions: 7 is not a list of positions"])):
            self.expect_refusal(*texts, call=lambda: self.make_spec(given))


class TestCommands(SpecCase):
    def test_exit_codes_are_exceptions(self):
        said = []
        for code, kind in ((1, longhand.InputError), (2, longhand.UsageError), (4, longhand.MachineError),
                           (75, longhand.StoppedError), (9, longhand.CommandError)):
            script = f"echo out; echo why >&2; exit {code}"
            error = self.expect_refusal("why", kind=kind, call=lambda: launcher.run(["sh", "-c", script], said.append))
            self.assertEqual((type(error), error.code, error.output, error.said), (kind, code, "out\n", "why"))
        self.assertEqual(said, ["why"] * 5)
        self.expect_refusal("ended by signal 9", kind=longhand.CommandError,
                            call=lambda: launcher.run(["sh", "-c", "kill -9 $$"]))
        with self.assertRaisesRegex(TypeError, r"expected a list of words, \['list', 'tasks'\]"):
            longhand.call("list tasks")
        self.expect_refusal("hint: did you mean --steps?", kind=longhand.UsageError,
                            call=lambda: longhand.train("bucket_sort_rope", stepz=5, progress=launcher.ignore_line))

    def test_lines_of_a_command_go_to_stderr_at_once(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(launcher.run(["sh", "-c", "echo one >&2; echo two; echo three >&2"]), "two\n")
        self.assertEqual(said.getvalue(), "one\nthree\n")

    def test_interrupts_end_the_command_and_wait(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have set it to be ignored
        self.addCleanup(signal.signal, signal.SIGINT, before)
        mark = self.folder / "mark"
        script = f"trap 'sleep 0.3; echo saved >{mark}; exit 75' INT; echo ready >&2; while :; do sleep 0.05; done"

        def interrupt(_):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

        def fail(_):
            raise RuntimeError("no more of this")

        for progress, kind in ((interrupt, KeyboardInterrupt), (fail, RuntimeError)):
            with self.assertRaises(kind):
                launcher.run(["sh", "-c", script], progress)
            self.assertEqual(mark.read_text(), "saved\n")
            mark.unlink()

    def test_the_root_is_found_or_set_by_a_variable(self):
        self.assertEqual(launcher.find_root(), ROOT)
        os.environ["LONGHAND_ROOT"] = str(self.folder)
        try:
            self.expect_refusal(f"there is no Longhand in {self.folder}", "LONGHAND_ROOT", call=launcher.find_root)
        finally:
            del os.environ["LONGHAND_ROOT"]


if __name__ == "__main__":
    unittest.main()
