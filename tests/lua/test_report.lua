-- Reports: reading run folders, statistics, tables in every form, figures, the page, two runs against each other.

local support = dofile("tests/lua/support.lua")
package.path = "generator/study/?.lua;" .. package.path

local cells = require("cells")
local colours = require("colours")
local compare = require("compare")
local curves = require("curves")
local figures = require("figures")
local html = require("html")
local items = require("items")
local json = require("dkjson")
local lfs = require("lfs")
local lu = require("luaunit")
local published = require("published")
local readings = require("readings")
local report = require("report")
local report_csv = require("report_csv")
local runs = require("runs")
local settings = require("settings")
local statistics = require("statistics")
local table_latex = require("table_latex")
local table_text = require("table_text")
local views = require("views")

local project = require("project").new(lfs.currentdir())
local GOLDEN = "tests/golden/report/"

-- Compares with a file of tests/golden/report, or writes it.
local function assert_golden(name, text)
  if os.getenv("LH_UPDATE_GOLDEN") then
    local file = assert(io.open(GOLDEN .. name, "wb"))
    file:write(text)
    file:close()
  end
  lu.assertEquals(text, support.read(GOLDEN .. name))
end

local function eval_line(step, split, length, accuracy, more)
  return ('{"step":%d,"split":"%s","by":{"length":%d},"examples":50,"draws":1,"accuracy":%.17g,"exact_match":0.25,'
    .. '"loss":0.5,"sd_over_draws":0%s}\n'):format(step, split, length, accuracy, more or "")
end

local function spec_of(task)
  return { task = { kind = task }, encoding = { positions = { kind = "index" } }, precision = "float32",
    model = { layers = 2, heads = 2, width = 16, feedforward = 32 },
    train = { batch = 8, steps = 100, lengths = { first = 1, last = 10, step = 1 } },
    eval = { examples = 50, lengths = { list = { 5, 20, 30 } } } }
end

-- Writes the folder of a run; options = { exit, eval, metrics, facts }. Returns the folder.
local function write_run(root, id, seed, rate, options)
  local dir = ("%s/%s/0123456789abcdef/lr%g-seed%d"):format(root, id, rate, seed)
  local facts = { id = id, digest = "0123456789abcdef", seed = seed, learning_rate = rate, exit = options.exit,
    spec = spec_of("bucket_sort"), flags = { "--seed", tostring(seed) }, compiler = "gcc 12", level = "x86-64",
    variant = "cpu", precision = "float32", source_digest = "aa" }
  for key, value in pairs(options.facts or {}) do
    facts[key] = value
  end
  local path = support.write(dir .. "/run.json", json.encode(facts) .. "\n")
  support.write(dir .. "/eval.jsonl", options.eval or "")
  if options.metrics then
    support.write(dir .. "/metrics.jsonl", options.metrics)
  end
  return path:match("^(.*)/run%.json$")
end

-- The lines of a run whose score is `percent`, spread over two lengths.
local function scored(percent)
  return eval_line(100, "train", 5, 0.99) .. eval_line(100, "test", 20, percent / 100 + 0.01)
    .. eval_line(100, "test", 30, percent / 100 - 0.01)
end

TestStatistics = {}

function TestStatistics.test_known_numbers()
  local values = { 4, 1, 3, 2 }
  lu.assertEquals(statistics.mean(values), 2.5)
  lu.assertAlmostEquals(statistics.sd(values), math.sqrt(5 / 3), 1e-15)
  lu.assertEquals(statistics.max(values), 4)
  lu.assertEquals({ statistics.quantile(values, 0.25), statistics.quantile(values, 0.5),
    statistics.quantile(values, 0.75) }, { 1.75, 2.5, 3.25 })
  lu.assertEquals(statistics.share_above(values, 2), 0.5)
  lu.assertEquals(values, { 4, 1, 3, 2 })
end

function TestStatistics.test_too_few_give_nothing()
  lu.assertNil(statistics.mean({}))
  lu.assertNil(statistics.sd({ 7 }))
  lu.assertNil(statistics.max({}))
  lu.assertNil(statistics.quantile({}, 0.5))
  lu.assertNil(statistics.share_above({}, 0))
end

TestRuns = {}

function TestRuns.test_score_is_the_mean_beyond_training_at_the_last_step()
  local text = eval_line(50, "test", 20, 0.1) .. eval_line(100, "during", 20, 0.3) .. eval_line(100, "during", 30, 0.5)
    .. eval_line(100, "train", 5, 1) .. eval_line(100, "test", 30, 0.5) .. eval_line(100, "test", 20, 0.75)
    .. eval_line(100, "test", 30, 0.625) .. eval_line(100, "test", 20, 0, ',"seed":7')
  local run = runs.read(write_run("score", "r", 1, 0.1, { exit = 0, eval = text }))
  lu.assertEquals(run.state, "evaluated")
  lu.assertEquals(run.test.lengths, { 20, 30 })
  lu.assertEquals(run.test.accuracy, { 0.75, 0.625 })
  lu.assertEquals(run.train.accuracy, { 1.0 })
  lu.assertEquals(run.during, { { step = 100, accuracy = 0.4 } })
  lu.assertEquals(runs.score(run), 68.75)
  lu.assertEquals(run.notes, {})
end

-- The pattern for lines as the runtime writes them, and the JSON decoder for all others.
function TestRuns.test_both_ways_of_reading_agree()
  local fast, slow = {}, {}
  for i, accuracy in ipairs({ 0.5, 1, 0, 1e-05, 0.968585365853658536 }) do
    fast[i] = eval_line(100, "test", 20 + i, accuracy)
    slow[i] = fast[i]:gsub('"step":100,', ""):gsub("}\n$", ',"step":100}\n')
  end
  local a = runs.read(write_run("fast", "r", 1, 0.1, { exit = 0, eval = table.concat(fast) }))
  local b = runs.read(write_run("slow", "r", 1, 0.1, { exit = 0, eval = table.concat(slow) }))
  lu.assertEquals(#a.test.lengths, 5)
  a.dir, b.dir = nil, nil
  lu.assertEquals(a, b)
end

function TestRuns.test_states()
  local cases = {
    { "evaluated", { exit = 0, eval = scored(50) } },
    { "evaluated", { eval = scored(50) } },
    { "not evaluated", { exit = 0, eval = eval_line(100, "train", 5, 1) } },
    { "unfinished", { eval = eval_line(100, "test", 20, 1) } },
    { "unfinished", { exit = 75 } },
    { "failed", { exit = 1, eval = scored(50) } },
  }
  for i, case in ipairs(cases) do
    local run = runs.read(write_run("states", "r", i, 0.1, case[2]))
    lu.assertEquals(run.state, case[1])
    lu.assertEquals(runs.score(run) ~= nil, case[1] == "evaluated")
  end
  lu.assertNil(runs.read("no/such/folder"))
end

function TestRuns.test_a_run_of_training_lengths_alone_is_scored_there()
  local spec = spec_of("bucket_sort")
  spec.train.lengths.last = 40
  local run = runs.read(write_run("within", "r", 1, 0.1, { exit = 0, facts = { spec = spec },
    eval = eval_line(100, "train", 20, 0.5) .. eval_line(100, "train", 30, 0.25) }))
  lu.assertEquals({ run.state, run.within, run.test.split, runs.score(run) }, { "evaluated", true, "train", 37.5 })
end

function TestRuns.test_torn_lines_are_skipped_and_told()
  local line = eval_line(100, "test", 20, 0.5)
  local run = runs.read(write_run("torn", "r", 1, 0.1, { exit = 0, eval = line .. "rubbish\n" .. line:sub(1, 60) }))
  lu.assertEquals(run.test.accuracy, { 0.5 })
  lu.assertEquals(run.notes, { "eval.jsonl: line 2 is not as a trainer writes it, skipped",
    "eval.jsonl: line 3 is torn, skipped" })
end

function TestRuns.test_broken_facts()
  local path = support.write("broken/run.json", '{"id":"r","spec":{')
  local run = runs.read(path:match("^(.*)/"))
  lu.assertEquals({ run.state, run.notes }, { "unreadable", { "run.json: no JSON" } })
end

function TestRuns.test_a_brace_in_a_string_of_the_spec()
  local spec = spec_of("bucket_sort")
  spec.source = "odd}name.lua"
  local run = runs.read(write_run("brace", "r", 1, 0.1, { exit = 0, eval = scored(50), facts = { spec = spec } }))
  lu.assertEquals(run.facts.spec.source, "odd}name.lua")
  lu.assertEquals(run.facts.compiler, "gcc 12")
end

function TestRuns.test_facts_of_another_type()
  local run = runs.read(write_run("types", "r", 1, 0.1, { exit = 0, eval = scored(50),
    facts = { compiler = 12, spec = "none" } }))
  lu.assertEquals(run.notes, { "run.json: compiler is no string", "run.json: spec is no table" })
  lu.assertEquals({ run.state, run.facts.compiler, run.facts.spec }, { "evaluated", nil, nil })
end

function TestRuns.test_clock()
  local dir = write_run("clock", "r", 1, 0.1, { exit = 0,
    metrics = '{"step":10,"loss":1,"seconds":2.5}\n{"step":20,"loss":1,"seconds":5}\n{"step":30,"sec' })
  lu.assertEquals(runs.clock({ dir = dir }), { { 10, 2.5 }, { 20, 5 } })
end

-- A study of two tasks and two encodings, two rates, three seeds; `scores[task .. " " .. encoding][rate][seed]`: a
-- score, "failed", or nothing for a run that is not there.
local function make_study(root, scores)
  local study = { name = "s", title = "Study", path = "s.lua", cells = {},
    axes = { { name = "task", values = { "even_pairs", "bucket_sort" } },
      { name = "encoding", values = { "rope", "rand-rope" } } } }
  support.write(root .. "/here", "")
  for _, task in ipairs(study.axes[1].values) do
    for _, encoding in ipairs(study.axes[2].values) do
      local id = task .. "_" .. encoding:gsub("-", "_")
      local cell = { key = { task = task, encoding = encoding }, id = id, runs = {},
        spec = { plan = { digest = "0123456789abcdef" } } }
      for _, rate in ipairs({ 0.1, 0.2 }) do
        for seed = 0, 2 do
          local score = ((scores[task .. " " .. encoding] or {})[rate] or {})[seed + 1]
          if score then
            write_run(root, id, seed, rate, score == "failed" and { exit = 1 }
              or { exit = 0, eval = scored(score), facts = { train_seconds = 3600 * (seed + 1) } })
          end
          table.insert(cell.runs, { seed = seed, learning_rate = rate,
            dir = ("%s/0123456789abcdef/lr%g-seed%d"):format(id, rate, seed) })
        end
      end
      study.cells[#study.cells + 1] = cell
    end
  end
  local here = support.write(root .. "/here", ""):match("^(.*)/")
  return cells.of_study(study, here)
end

local SCORES = {
  ["even_pairs rope"] = { [0.1] = { 50, 52, 54 }, [0.2] = { 60, 40, 44 } },
  ["even_pairs rand-rope"] = { [0.1] = { 95, 99, 97 }, [0.2] = { 70, 70, 70 } },
  ["bucket_sort rope"] = { [0.1] = { 30, "failed" } },
}

TestCells = {}

function TestCells.test_summary()
  local s = make_study("summary", SCORES).cells[1].summary
  lu.assertEquals({ s.asked, s.evaluated, s.best.rate }, { 6, 6, 0.1 })
  lu.assertAlmostEquals(s.max, 60, 1e-9)
  lu.assertAlmostEquals(s.best.mean, 52, 1e-9)
  lu.assertAlmostEquals(s.best.sd, 2, 1e-9)
  lu.assertAlmostEquals(s.median, 51, 1e-9)
  lu.assertAlmostEquals(s.lower, 45.5, 1e-9)
  lu.assertAlmostEquals(s.upper, 53.5, 1e-9)
  lu.assertEquals(s.good, 0)
  lu.assertEquals({ s.hours.mean, s.hours.count }, { 2, 6 })
  lu.assertEquals(s.differences, {})
end

function TestCells.test_missing_and_failed_runs()
  local study = make_study("missing", SCORES)
  local s = study.cells[3].summary
  lu.assertEquals({ s.asked, s.evaluated, s.states }, { 6, 1, { evaluated = 1, failed = 1, missing = 4 } })
  lu.assertNil(s.best.sd)
  lu.assertEquals(views.count_text(study.cells[3]), "1 of 6 runs: 4 missing, 1 failed")
  local empty = study.cells[4].summary
  lu.assertNil(empty.max)
  lu.assertNil(empty.best)
  lu.assertEquals(views.count_text(study.cells[4]), "0 of 6 runs: 6 missing")
end

function TestCells.test_runs_that_should_be_alike_are_flagged()
  local study = make_study("flags", SCORES)
  local dir = study.cells[1].runs[1].dir
  write_run("flags", "even_pairs_rope", 0, 0.1, { exit = 0, eval = scored(50), facts = { compiler = "clang 14" } })
  study.cells[1].runs[1] = runs.read(dir)
  local again = cells.of_folder(dir:match("^(.*)/[^/]*/[^/]*/[^/]*$"))
  lu.assertEquals(again.cells[3].key, { task = "bucket_sort", encoding = "even_pairs_rope" })
  lu.assertEquals(again.cells[3].summary.differences, { "compiler: clang 14; gcc 12" })
end

TestViews = {}

local TABLE = { kind = "table", value = "mean", rows = "task", columns = "encoding",
  published = "ruoss_2023/table4" }

local function mean_table(name)
  local model = views.table(make_study(name, SCORES), TABLE, published.read(project, "ruoss_2023/table4"))
  model.name = "table1"
  return model
end

function TestViews.test_ours_the_papers_and_the_difference()
  local model = mean_table("views")
  lu.assertEquals(model.rows[1].cells[1].texts, { "52.0 ± 2.0", "50.4 ± 0.3", "+1.6" })
  lu.assertEquals(model.rows[2].cells[1].texts[1], "30.0*")
  lu.assertEquals(model.rows[2].cells[2].texts[1], "missing")
  lu.assertEquals(model.rows[2].cells[2].texts[3], "")
  lu.assertEquals(model.rows[3].cells[2].texts[1], "missing")
  lu.assertEquals({ model.rows[1].cells[1].best, model.rows[1].cells[2].best }, { false, true })
  lu.assertEquals({ model.rows[2].cells[1].best, model.rows[2].cells[2].best }, { false, false })
end

function TestViews.test_hours()
  local model = views.table(make_study("hours", SCORES), { kind = "table", value = "hours", rows = "task",
    columns = "encoding" })
  lu.assertEquals(model.rows[1].cells[1].texts, { "2.00 ± 0.89" })
end

local RANDOMIZED = { "rand-sincos", "rand-relative", "rand-alibi", "rand-rope", "rand-learned" }
local PLAIN = { "none", "sincos", "relative", "alibi", "rope", "learned" }

-- A study without runs: what a table then shows is the paper's.
local function paper_only()
  local tasks, seen = {}, {}
  for _, row in ipairs(assert(published.read(project, "ruoss_2023/table1")).rows) do
    tasks[#tasks + 1] = not seen[row.task] and row.task or nil
    seen[row.task] = true
  end
  local encodings = table.move(PLAIN, 1, #PLAIN, #RANDOMIZED + 1, table.move(RANDOMIZED, 1, #RANDOMIZED, 1, {}))
  return { cells = {}, axes = { { name = "task", values = tasks }, { name = "encoding", values = encodings } } }
end

local function best_of(item)
  local file = type(item.published) == "table" and item.published.file or item.published
  item.kind, item.value, item.rows = "best", "max", "task"
  return views.best(paper_only(), item, assert(published.read(project, file)))
end

-- The figures that the paper's text draws from its tables.
function TestViews.test_headline_figures_follow_from_the_published_tables()
  local gain = best_of({ axis = "encoding", of = RANDOMIZED, against = PLAIN, published = "ruoss_2023/table1" })
  lu.assertEquals(#gain.rows, 17)
  lu.assertEquals(gain.rows[16].cells[3].texts[2], "+11.95")
  lu.assertEquals(gain.rows[17].cells[3].texts[2], "+43.5")
  local sorting = best_of({ axis = "encoding", of = { "rand-sincos" }, against = { "unsorted" },
    published = "ruoss_2023/table3", names = { encoding = {
      ["rand-sincos"] = { encoding = "rand-sincos", sorted = 1 }, unsorted = { encoding = "rand-sincos", sorted = 0 },
    } } })
  lu.assertEquals(sorting.rows[16].cells[3].texts[2], "+15.67")
  lu.assertEquals(sorting.rows[17].cells[3].texts[2], "+76.3")
  local geometric = best_of({ axis = "encoding", of = RANDOMIZED, against = { "geometric" },
    published = { file = "ruoss_2023/table5", of = "table1_best_max", against = "geometric_max" } })
  lu.assertEquals(geometric.rows[16].cells[3].texts[2], "+9.70")
  for _, model in ipairs({ gain, sorting, geometric }) do
    lu.assertEquals(model.rows[16].cells[3].texts[1], "missing")
  end
end

TestItems = {}

local function problem_of(item)
  local study = paper_only()
  study.path, study.report = "s.lua", { item }
  local list, message = items.check(study)
  lu.assertNil(list)
  return message
end

function TestItems.test_mistakes_name_the_field()
  local cases = {
    { { kind = "tabel" }, 'report[1].kind: no such kind: "tabel"\n  expected: one of: axis, best, curves, table, time\n'
      .. "  hint: did you mean table?" },
    { { kind = "curves" }, 'report[1].lines: missing\n  expected: kind "curves" needs it' },
    { { kind = "curves", lines = "encoding", panels = "task", setting = 3 }, "report[1].setting: no name of a file" },
    { { kind = "curves", lines = "encodng" }, 'report[1].lines: no axis of the study: "encodng"' },
    { { kind = "curves", lines = "encoding" }, "report[1].where: the axis task has 15 values" },
    { { kind = "curves", lines = "encoding", pannels = "task" }, 'report[1].pannels: no field of kind "curves"' },
    { { kind = "table", value = "best", rows = "task", columns = "encoding" },
      'report[1].value: no value of a table: "best"' },
    { { kind = "best", value = "max", rows = "task", axis = "encoding", of = { "rop" }, against = { "none" } },
      'report[1].of: not on the axis encoding: "rop"' },
    { { kind = "curves", lines = "encoding", where = { task = "sort" } },
      'report[1].where.task: not on this axis: "sort"' },
  }
  for _, case in ipairs(cases) do
    lu.assertStrContains(problem_of(case[1]), "s.lua: error: " .. case[2])
  end
end

function TestItems.test_a_scale_may_leave_values_out()
  local study = paper_only()
  study.axes[2].values, study.scale, study.path = { "none", "rand-rope" }, "small", "s.lua"
  study.report = { { kind = "best", value = "max", rows = "task", axis = "encoding", of = RANDOMIZED,
    against = PLAIN } }
  local list = assert(items.check(study))
  lu.assertEquals({ list[1].of, list[1].against }, { { "rand-rope" }, { "none" } })
end

function TestItems.test_defaults()
  local study = paper_only()
  local kinds = {}
  for i, item in ipairs(assert(items.check(study))) do
    kinds[i] = item.kind .. " " .. (item.value or "")
  end
  lu.assertEquals(kinds, { "table max", "table mean", "curves " })
end

TestRenderers = {}

function TestRenderers.test_text()
  local model = mean_table("text")
  assert_golden("table.txt", table_text.render(model, 60))
  for line in table_text.render(model, 60):gmatch("[^\n]+") do
    lu.assertTrue(utf8.len(line) <= 60, line)
  end
end

function TestRenderers.test_latex()
  assert_golden("table.tex", table_latex.render(mean_table("latex")))
  lu.assertEquals(table_latex.escape("a_b & 50% {x} \\ ~^ #1 $ <|>"),
    "a\\_b \\& 50\\% \\{x\\} \\textbackslash{} \\textasciitilde{}\\textasciicircum{} \\#1 \\$ \\textless{}\\textbar{}"
      .. "\\textgreater{}")
end

function TestRenderers.test_html()
  assert_golden("table.html", html.table(mean_table("html")) .. "\n")
  lu.assertEquals(html.escape('<a href="x">&</a>'), "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;")
end

function TestRenderers.test_csv_fields_survive()
  for _, field in ipairs({ "plain", "a,b", 'say "x"', "", '"', "a,\"b\",c" }) do
    local line = published.quote(field) .. "," .. published.quote("end")
    lu.assertEquals(published.fields(line), { field, "end" })
  end
  lu.assertNil(published.fields('"open'))
end

function TestRenderers.test_csv_files()
  local study = make_study("csv", SCORES)
  local dir = support.write("csv_out/x", ""):match("^(.*)/")
  lu.assertTrue(report_csv.write(dir, study))
  local all = assert(published.parse(support.read(dir .. "/runs.csv")))
  lu.assertEquals(#all.rows, 24)
  lu.assertEquals({ all.rows[1].task, all.rows[1].encoding, all.rows[1].state, all.rows[1].score },
    { "even_pairs", "rope", "evaluated", "50" })
  lu.assertEquals({ all.rows[14].state, all.rows[14].score }, { "failed", "" })
  local lengths = assert(published.parse(support.read(dir .. "/report.csv")))
  lu.assertEquals(#lengths.rows, 13 * 3)
  lu.assertEquals({ lengths.rows[2].split, lengths.rows[2].length, lengths.rows[2].accuracy },
    { "test", "20", "0.51" })
end

TestFigures = {}

local CURVES = { kind = "curves", panels = "task", lines = "encoding" }

function TestFigures.test_curves_by_length()
  local figure = figures.by_length(make_study("figure", SCORES), CURVES)
  lu.assertEquals(#figure.panels, 2)
  local panel = figure.panels[1]
  lu.assertEquals(panel.marks, { { 10 } })
  lu.assertEquals(#panel.curves, 8)
  local bold = {}
  for _, curve in ipairs(panel.curves) do
    bold[#bold + 1] = not curve.faint and curve.title or nil
  end
  lu.assertEquals(bold, { "rope", "rand-rope" })
  local mean = panel.curves[4].points
  lu.assertEquals({ mean[1][1], mean[2][1], mean[3][1] }, { 5, 20, 30 })
  lu.assertAlmostEquals(mean[2][2], 53, 1e-9)
end

function TestFigures.test_runs_evaluated_beyond_training_alone()
  local text = eval_line(100, "test", 20, 0.5) .. eval_line(100, "test", 30, 0.25)
  local dir = write_run("beyond", "bucket_sort_rope", 1, 0.1, { exit = 0, eval = text })
  local figure = figures.by_length(cells.of_folder(dir:match("^(.*)/[^/]*/[^/]*/[^/]*$")), CURVES)
  lu.assertEquals(figure.panels[1].curves[1].points, { { 20, 50.0 }, { 30, 25.0 } })
end

function TestFigures.test_script_is_whole()
  local figure = figures.by_length(make_study("script", SCORES), CURVES)
  figure.name = "curves1"
  local text = curves.script(figure)
  lu.assertStrContains(text, "set output 'curves1.svg'")
  lu.assertStrContains(text, "set output 'curves1.png'")
  local blocks = select(2, text:gsub("%$curve%d+ << EOD", ""))
  lu.assertEquals(blocks, 8 + #figure.panels[2].curves)
end

function TestFigures.test_long_curves_are_thinned()
  local points = {}
  for i = 1, 250 do
    points[i] = { i, 2 * i }
  end
  local thin, group = curves.thin(points)
  lu.assertEquals({ #thin, group, thin[1], thin[84] }, { 84, 3, { 2, 4 }, { 250, 500 } })
  lu.assertEquals(select(2, curves.thin({ { 1, 1 } })), 1)
end

-- Two encodings, three seeds; accuracy passes 90% at known seconds.
local function timed_study()
  local study = { name = "t", title = "T", path = "t.lua", cells = {},
    axes = { { name = "encoding", values = { "relative", "rand-relative" } } } }
  local pace = { relative = 10, ["rand-relative"] = 1 }
  local here
  for _, encoding in ipairs(study.axes[1].values) do
    local id = encoding:gsub("-", "_")
    local cell = { key = { encoding = encoding }, id = id, runs = {}, spec = { plan = {} } }
    for seed = 0, 2 do
      local during, metrics = {}, {}
      for i = 1, 4 do
        during[i] = eval_line(25 * i, "during", 20, (seed == 2 and 0.5 or 0.8) + 0.05 * i)
        metrics[i] = ('{"step":%d,"seconds":%g}\n'):format(25 * i, 25 * i * pace[encoding])
      end
      here = write_run("timed", id, seed, 0.1, { exit = 0, eval = table.concat(during) .. scored(90),
        metrics = table.concat(metrics) })
      cell.runs[seed + 1] = { seed = seed, learning_rate = 0.1, dir = here:match("([^/]+/[^/]+/[^/]+)$") }
    end
    study.cells[#study.cells + 1] = cell
  end
  return cells.of_study(study, here:match("^(.*)/[^/]+/[^/]+/[^/]+$"))
end

function TestFigures.test_time_to_a_threshold()
  local figure, model = figures.by_time(timed_study(), { kind = "time", lines = "encoding", slow = "relative",
    fast = "rand-relative", published = 35.4, threshold = 90 })
  lu.assertEquals(#figure.panels[1].curves, 8)
  local texts = {}
  for i, row in ipairs(model.rows) do
    texts[i] = { row.cells[1].texts[1], row.cells[2].texts[1], row.cells[3].texts[1] }
  end
  lu.assertEquals(texts, { { "2 of 3", "500 s", "500 s" }, { "2 of 3", "50 s", "50 s" },
    { "", "10.0 times", "10.0 times" } })
end

function TestFigures.test_scores_along_an_axis()
  local study = make_study("axis", SCORES)
  study.axes[2] = { name = "range", values = { "1024", "2048" } }
  for i, cell in ipairs(study.cells) do
    cell.key = { task = cell.key.task, range = ({ "1024", "2048" })[(i - 1) % 2 + 1] }
  end
  local figure = figures.along_axis(study, { kind = "axis", x = "range", lines = "task" })
  local curve = figure.panels[1].curves[1]
  lu.assertEquals({ curve.title, #curve.points, curve.points[1][1], curve.points[2][1] },
    { "even_pairs, maximum", 2, 1024, 2048 })
  lu.assertAlmostEquals(curve.points[2][2], 99, 1e-9)
end

-- Anchors that stand twice or lead nowhere.
local function problem_of_anchors(page)
  local anchors = {}
  for id in page:gmatch(' id=["\']([^"\']+)') do
    if anchors[id] then
      return "twice: " .. id
    end
    anchors[id] = true
  end
  for target in page:gmatch('href=["\']([^"\']+)') do
    if not anchors[target:match("^#(.*)$") or 0] then
      return "leads nowhere: " .. target
    end
  end
end

-- Elements that open and close in order, headers with scope, nothing from elsewhere: what is wrong, or nil.
local function problem_in(page)
  local open, bad_anchor = {}, problem_of_anchors(page)
  if bad_anchor then
    return bad_anchor
  end
  for slash, name, rest in page:gsub("<style>.-</style>", ""):gmatch("<(/?)([%a][%w]*)([^>]*)>") do
    if slash == "/" then
      if table.remove(open) ~= name then
        return "closes what is not open: " .. name
      end
    elseif name == "th" and not rest:find("scope=") then
      return "a header without scope"
    elseif rest:sub(-1) ~= "/" then
      open[#open + 1] = name
    end
  end
  return #open > 0 and "left open: " .. open[#open] or page:match("<script") or page:match('src="[^"]*') or nil
end

TestPage = {}

function TestPage.test_the_checker_finds_mistakes()
  lu.assertStrContains(problem_in("<p><b>x</p></b>"), "closes")
  lu.assertStrContains(problem_in("<p>"), "left open")
  lu.assertStrContains(problem_in("<th>x</th>"), "without scope")
  lu.assertStrContains(problem_in('<a href="#x">x</a>'), "leads nowhere")
  lu.assertStrContains(problem_in('<p id="a"/><p id="a"/>'), "twice")
  lu.assertNil(problem_in('<p id="a"><a href="#a">x</a></p>'))
end

-- The whole verb on the runs of a folder; without gnuplot all but the pictures is written.
function TestPage.test_report_of_a_folder()
  local study = make_study("whole", SCORES)
  local root = study.cells[1].runs[1].dir:match("^(.*)/[^/]+/[^/]+/[^/]+$")
  local said = {}
  local code, message = report.run({ project = project, runs = root, say = function(text)
    said[#said + 1] = text
  end })
  lu.assertTrue(code == 0 or code == 4 and message:find("gnuplot is not installed", 1, true) ~= nil, message)
  local page = support.read(root .. "/report/index.html")
  lu.assertNil(problem_in(page))
  lu.assertStrContains(page, "even_pairs_rope/0123456789abcdef/lr0.1-seed0")
  lu.assertStrContains(page, "<code>--seed 0</code>")
  lu.assertEquals(page:find("<svg", 1, true) ~= nil, code == 0)
  local text = support.read(root .. "/report/report.txt")
  lu.assertStrContains(text, "13 of 14 runs have a score (1 failed)")
  lu.assertStrContains(text, "lr0.1-seed1: failed, exit code 1")
  lu.assertStrContains(said[1], "13 of 14 runs have a score (1 failed)")
  lu.assertStrContains(support.read(root .. "/report/tables.tex"), "\\toprule")
end

function TestPage.test_a_folder_without_runs()
  local empty = support.write("empty/x", ""):match("^(.*)/")
  local code, message = report.run({ project = project, runs = empty })
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "there are no runs")
  code, message = report.run({ project = project, runs = "no/such" })
  lu.assertEquals({ code, message }, { 1, "longhand report: there is no folder no/such\n  expected: a folder of runs" })
end

TestColours = {}

function TestColours.test_all_differ_and_names_have_spellings()
  local seen, names = {}, colours.names()
  lu.assertEquals(#names, 13)
  for _, name in ipairs(names) do
    local style = colours.of(name)
    lu.assertNil(seen[style.colour])
    seen[style.colour] = true
    lu.assertEquals(style.dash == "solid", not name:find("^rand%-"))
  end
  lu.assertEquals(colours.of("rand_sinusoid"), colours.of("rand-sincos"))
  lu.assertEquals(colours.of("relative-500"), colours.of("relative"))
  local styles = colours.all({ "reverse_string", "missing_duplicate_string", "rope" })
  lu.assertNotEquals(styles.reverse_string.colour, styles.missing_duplicate_string.colour)
  lu.assertEquals(styles.rope, colours.of("rope"))
  lu.assertEquals(colours.of("my_bias"), colours.of("my_bias"))
end

TestReadings = {}

local function answers_of(spec)
  local map = {}
  for _, item in ipairs(readings.of({ facts = { spec = spec } })) do
    map[item.question] = item.answer
  end
  return map
end

function TestReadings.test_absent_fields_count_as_defaults()
  local plain = answers_of(spec_of("bucket_sort"))
  lu.assertEquals({ plain["dropout in evaluation"], plain["spare token"], plain["arithmetic"] },
    { "off", "one", "float32" })
  lu.assertNil(plain["randomized distances"])
  lu.assertEquals(answers_of(nil), {})
end

function TestReadings.test_the_other_reading_is_named()
  local spec = spec_of("odds_first")
  spec.encoding = { relative = { kind = "transformer_xl" }, positions = { kind = "randomized", max_position = 2048,
    reading = "clamped", draw = "layer", sorted = false, range = "one_based" } }
  spec.eval.dropout, spec.eval.batch, spec.task.options = true, 64, { order = "even" }
  local got = answers_of(spec)
  lu.assertEquals({ got["randomized distances"], got["positions are drawn"], got["range of the draws"],
    got["dropout in evaluation"], got["evaluation batch"], got["order of the outputs"] },
    { "clamped to one side", "once per layer", "up to 2048, from 1, unsorted", "on",
      "batches of 64, 50 examples per length", "even" })
end

TestSettings = {}

function TestSettings.test_beside_the_papers()
  local list = settings.of(make_study("settings", SCORES), published.read(project, "ruoss_2023/setting"))
  local map = {}
  for _, item in ipairs(list) do
    map[item.what] = item
  end
  lu.assertEquals({ map.steps.ours, map.steps.paper, map.steps.differs }, { "100", "2000000", true })
  lu.assertEquals({ map["learning rates"].ours, map["learning rates"].paper },
    { "0.1, 0.2", "0.0001, 0.0003, 0.0005" })
  lu.assertEquals(map["test lengths"].ours, "2 of 20 to 30")
  lu.assertFalse(map.precision.differs)
  lu.assertEquals(map.seeds.ours, "3")
end

TestCompare = {}

local function metrics_of(losses, rate)
  local lines = {}
  for i, loss in ipairs(losses) do
    lines[i] = ('{"step":%d,"loss":%g,"steps_per_second":%g,"seconds":%g}\n'):format(10 * i, loss, rate, i / rate)
  end
  return table.concat(lines)
end

function TestCompare.test_what_differs_and_where_first()
  local spec = spec_of("bucket_sort")
  spec.model.layers = 3
  local a = write_run("compare", "a", 1, 0.1, { exit = 0, eval = scored(50), metrics = metrics_of({ 3, 2, 1 }, 10) })
  local b = write_run("compare", "b", 1, 0.1, { exit = 0, eval = scored(60), metrics = metrics_of({ 3, 2, 1.5 }, 20),
    facts = { spec = spec, id = "a" } })
  local result = assert(compare.result(a, b .. "/run.json"))
  lu.assertEquals(result.differences, { { field = "spec: model.layers", a = "2", b = "3" } })
  lu.assertEquals(result.first, "The first logged step that differs is 30: loss 1 and 1.5.")
  local text = compare.text(result)
  lu.assertStrContains(text, "30    1.0000  1.5000  +0.5000")
  lu.assertStrContains(text, "20      51.0  61.0  +10.0")
end

function TestCompare.test_the_same_run_twice()
  local a = write_run("compare", "c", 1, 0.1, { exit = 0, eval = scored(50), metrics = metrics_of({ 3, 2 }, 10) })
  local result = assert(compare.result(a, a))
  lu.assertEquals(result.differences, {})
  lu.assertEquals(result.first, "All 2 steps that both logged have the same numbers, times aside.")
  local nothing, message = compare.result(a, a .. "/..")
  lu.assertNil(nothing)
  lu.assertStrContains(message, "is no folder of a run")
end

support.run()
