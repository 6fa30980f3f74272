-- lab/study/grid/study.lua and grid.lua: expansion of a study to cells and runs, and the messages (goldens).
--
-- Each tests/golden/studies/<case>.lua is expanded and its errors compared with <case>.err, byte for byte. A first line
-- `-- scale: NAME` means --scale NAME. LH_UPDATE_GOLDEN=1 updates the .err files.

local support = dofile("tests/lua/support.lua")

local bench_rows = require("lab.study.run.bench_rows")
local failures = require("lab.study.run.failures")
local grid = require("lab.study.grid.grid")
local jobs = require("lab.study.run.jobs")
local json = require("dkjson")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lu = require("luaunit")
local project = require("project").new(".")
local reports = require("reports")
local shell = require("base.shell")
local stages = require("lab.study.grid.stages")

local function expand(argument, options)
  local study, message = grid.expand(project, argument, options)
  lu.assertNil(message)
  return study
end

local SMALL = [[
return {
  title = "probe",
  base = { model = { use = "small_encoder", layers = 3 }, train = { steps = 70, learning_rate = 0.004 },
    eval = { lengths = { 3, 9, step = 3 }, examples = 8, draws = 2 } },
  axes = {
    { name = "task", use = "ruoss_tasks", only = { "reverse_string", "parity_check" } },
    { name = "encoding", values = {
      { name = "tilted", spec = { encoding = { score = function(x)
        return x.score + 0.25 * x.distance
      end } } },
      { name = "rand-rope", spec = { encoding = { kind = "rope", positions = { kind = "randomized",
        max_position = 128 } }, train = { batch = 12 } } },
    } },
  },
  seeds = { 2, 4 },
  report = { { kind = "table", rows = "task" } },
  scales = {
    short = { base = { model = { use = "ruoss_encoder" }, train = { steps = 5 } }, seeds = { 0, 0 },
      learning_rates = { 1e-4, 5e-3 }, axes = { encoding = { "rand-rope" } } },
    other = { base = { train = { steps = 9 } } },
  },
}]]

local function probe()
  return support.write("probe.lua", SMALL)
end

TestGrid = {}

function TestGrid.test_cells_are_the_product()
  local study = expand(probe())
  lu.assertEquals({ study.name, study.title, study.cells[1].seeds }, { "probe", "probe", { 2, 3, 4 } })
  lu.assertEquals(study.axes, { { name = "task", values = { "reverse_string", "parity_check" } },
    { name = "encoding", values = { "tilted", "rand-rope" } } })
  lu.assertEquals(study.report, { { kind = "table", rows = "task" } })
  local ids = {}
  for i, cell in ipairs(study.cells) do
    ids[i] = cell.id
  end
  lu.assertEquals(ids, { "reverse_string_tilted", "reverse_string_rand_rope", "parity_check_tilted",
    "parity_check_rand_rope" })
  lu.assertEquals(study.ids, ids)
  lu.assertEquals(study.cells[4].key, { task = "parity_check", encoding = "rand-rope" })
end

function TestGrid.test_fragments_lie_upon_each_other()
  local cells = expand(probe()).cells
  local tilted, rope = cells[1].spec, cells[2].spec
  lu.assertEquals(tilted.resolved.model.layers, 3)
  lu.assertEquals({ tilted.resolved.model.width, tilted.resolved.train.steps, tilted.resolved.train.batch },
    { 16, 70, 128 })
  lu.assertEquals(rope.resolved.train.batch, 12)
  lu.assertStrContains(tilted.plan.attentions[1].score_text, "0.25")
  lu.assertEquals(rope.resolved.encoding.rotation.kind, "rope")
  lu.assertEquals(rope.source, "probe.lua:reverse_string_rand_rope")
end

function TestGrid.test_runs_have_the_folders_of_the_trainer()
  local cell = expand(probe(), { scale = "short" }).cells[2]
  local digest = cell.spec.plan.digest
  lu.assertEquals(cell.runs, {
    { seed = 0, learning_rate = 1e-4, dir = ("parity_check_rand_rope/%s/lr0.0001-seed0"):format(digest) },
    { seed = 0, learning_rate = 5e-3, dir = ("parity_check_rand_rope/%s/lr0.005-seed0"):format(digest) },
  })
  lu.assertEquals(expand(probe()).cells[1].runs[3].dir:match("[^/]*$"), "lr0.004-seed4")
end

-- A value may be combined with only some values of another axis; a scale without these leaves it without a cell.
function TestGrid.test_values_may_stand_with_some_others_alone()
  local text = SMALL:gsub("train = { batch = 12 } }", "%0, with = { task = { 'parity_check' } }")
  local file, ids = support.write("with.lua", text), {}
  for i, cell in ipairs(expand(file).cells) do
    ids[i] = cell.id
  end
  lu.assertEquals(ids, { "reverse_string_tilted", "parity_check_tilted", "parity_check_rand_rope" })
  for wrong, expected in pairs({ ["task = { 'parity' }"] = '"parity" is no value of this axis',
    ["encoding = { 'tilted' }"] = "axes[2].values[2].with.encoding: no such field" }) do
    local nothing, message = grid.expand(project, support.write("with.lua", (text:gsub("task = { 'parity_check' }",
      wrong))))
    lu.assertNil(nothing)
    lu.assertStrContains(message, expected)
  end
end

-- Cells of a value with its own rates have those rates at every scale.
function TestGrid.test_values_may_have_learning_rates()
  local text = SMALL:gsub("train = { batch = 12 } }", "%0, learning_rates = { 0.1, 0.01 }")
  local file = support.write("rates.lua", text)
  local cells = expand(file).cells
  lu.assertEquals({ cells[1].learning_rates, cells[2].learning_rates }, { { 0.004 }, { 0.1, 0.01 } })
  lu.assertEquals({ #cells[1].runs, #cells[2].runs, cells[2].runs[4].learning_rate }, { 3, 6, 0.01 })
  lu.assertEquals(expand(file, { scale = "short" }).cells[1].learning_rates, { 0.1, 0.01 })
  local nothing, message = grid.expand(project, support.write("rates.lua", (text:gsub("0.01 }", "-1 }"))))
  lu.assertNil(nothing)
  lu.assertStrContains(message, "axes[2].values[2].learning_rates[2]: -1 does not fit here")
end

-- An error in a range of seeds is reported once, with its position.
function TestGrid.test_seeds_are_refused_once_and_by_what_they_are()
  for wrong, expected in pairs({ ["3"] = "seeds: is 3\n", ["{}"] = "seeds: is empty\n",
    ["{ 0, 1, 5 }"] = "seeds: is a list of length 3\n", ["{ 4, 2 }"] = "seeds: ends at 2, before it starts\n",
    ["{ 0, 4096 }"] = "seeds: are 4097 seeds\n", ["{ 0, 0.5 }"] = "seeds[2]: 0.5 is no seed\n",
    ["{ '1', 2 }"] = 'seeds[1]: "1" is no seed\n', ["{ -1, 2 }"] = "seeds[1]: -1 is no seed\n" }) do
    local nothing, message = grid.expand(project, support.write("seeds.lua", (SMALL:gsub("{ 2, 4 }", wrong, 1))))
    lu.assertNil(nothing)
    lu.assertStrContains(message, "error: " .. expected)
    lu.assertStrContains(message, "1 error; nothing was written")
  end
end

local WIDTHS = [[
return {
  title = "widths",
  base = { task = { kind = "reverse_string" }, model = { use = "small_encoder" }, train = { use = "quick" },
    eval = { use = "quick" } },
  axes = { { name = "width", values = {
    { name = 32, spec = { model = { width = 32 } } },
    { name = "16", spec = { model = { width = 16 } } },
    { name = 64, spec = { model = { width = 64 } } },
  } } },
  scales = { small = { axes = { width = { 16, "32" } } } },
}]]

function TestGrid.test_scale_of_a_study_without_scales()
  local plain = WIDTHS:gsub("  scales = [^\n]*\n", "")
  local _, message = grid.expand(project, support.write("plain.lua", plain), { scale = "small" })
  lu.assertStrContains(message, "has no scale small\n  expected: no --scale, since this study has no scales\n")
end

-- In the order of the file; an id cannot begin with a digit, so the axis' name precedes it.
function TestGrid.test_values_may_be_numbers()
  local study = expand(support.write("widths.lua", WIDTHS))
  lu.assertEquals(study.axes[1].values, { "32", "16", "64" })
  lu.assertEquals(study.ids, { "width_32", "width_16", "width_64" })
  lu.assertEquals(study.cells[1].spec.resolved.model.width, 32)
  lu.assertEquals(expand(support.write("widths.lua", WIDTHS), { scale = "small" }).ids, { "width_16", "width_32" })
  local rates = WIDTHS:gsub("name = 32", "name = 0.5"):gsub("name = 64", "name = 1e-3"):gsub('"32"', "5e-1")
  lu.assertEquals(expand(support.write("rates.lua", rates)).ids, { "width_0_5", "width_16", "width_0_001" })
  local nothing, message = grid.expand(project, support.write("twice.lua", (WIDTHS:gsub("= 64,", "= 32,"))))
  lu.assertNil(nothing)
  lu.assertStrContains(message, '"32" is there twice')
end

-- A report names the scored set and, optionally, the set that chooses the learning rate.
function TestGrid.test_what_a_report_scores()
  local function scored(report)
    return grid.expand(project, support.write("scored.lua", (SMALL:gsub("report = %b{}", "report = " .. report))))
  end
  lu.assertEquals(expand(probe()).scored, { split = "test" })
  local study = assert(scored('{ split = "validation" }'))
  lu.assertEquals(study.scored, { split = "validation" })
  lu.assertNil(study.report)
  study = assert(scored('{ select = "train", { kind = "curves", lines = "encoding" } }'))
  lu.assertEquals(study.scored, { split = "test", select = "train" })
  lu.assertEquals(study.report, { { kind = "curves", lines = "encoding" } })
  study = assert(scored('{ metric = "exact_match" }'))
  lu.assertEquals(study.scored, { split = "test", metric = "exact_match" })
  study = assert(scored('{ generalises = { metric = "accuracy", above = 95.5 } }'))
  lu.assertEquals(study.scored.generalises, { metric = "accuracy", above = 95.5 })
  for report, expected in pairs({
    ['{ generalises = 90 }'] = "report.generalises: is 90\n",
    ['{ generalises = { above = 90 } }'] = "report.generalises.metric: is missing",
    ['{ generalises = { metric = "loss", above = 90 } }'] = 'report.generalises.metric: "loss" is no metric of shares',
    ['{ generalises = { metric = "accuracy", above = 0.9 } }'] = "hint: percent, not a share",
    ['{ generalises = { metric = "accuracy", above = 100 } }'] = "report.generalises.above: 100 is no number of",
    ['{ generalises = { metric = "accuracy", above = "90" } }'] = 'report.generalises.above: "90" is no number of',
    ['{ generalises = { metric = "accuracy", over = 90, above = 90 } }'] = "report.generalises.over: no such field",
    ['{ split = "tests" }'] = 'report.split: "tests" is no set',
    ['{ select = 3 }'] = "report.select: 3 is no set",
    ['{ metric = "exact" }'] = 'report.metric: "exact" is no metric',
    ['{ slect = "train" }'] = 'report.slect: no such field',
  }) do
    local nothing, message = scored(report)
    lu.assertNil(nothing)
    lu.assertStrContains(message, expected)
  end
end

-- Texts equal to those of the runtime's lh_shortest.
function TestGrid.test_rates_in_names()
  local texts = { [1e-4] = "0.0001", [3e-4] = "0.0003", [1e-5] = "1e-05", [0.1 + 0.2] = "0.30000000000000004",
    [1] = "1", [100] = "1e+02", [12] = "12", [1.5e-7] = "1.5e-07" }
  for rate, text in pairs(texts) do
    lu.assertEquals(grid.shortest(rate), text)
  end
end

function TestGrid.test_scales_lie_between_base_and_axes()
  local study = expand(probe(), { scale = "short" })
  lu.assertEquals({ #study.cells, study.scale, study.cells[2].learning_rates }, { 2, "short", { 1e-4, 5e-3 } })
  local resolved = study.cells[1].spec.resolved
  lu.assertEquals({ resolved.model.layers, resolved.train.steps, resolved.train.batch }, { 5, 5, 12 })
  lu.assertEquals(#expand(probe(), { scale = "other" }).cells, 4)
end

-- Options of a base without a task are those of the axis' tasks.
function TestGrid.test_options_stay_where_an_axis_has_the_task()
  local study = expand("abc_controls", { scale = "small" })
  local options = study.cells[1].spec.resolved.task.options
  lu.assertEquals({ options.width, options.numbers }, { 30, 4096 })
end

function TestGrid.test_set_lies_upon_all()
  local cells = expand(probe(), { set = { "train.batch=20", "encoding.kind=alibi" } }).cells
  for _, cell in ipairs(cells) do
    lu.assertEquals(cell.spec.resolved.train.batch, 20)
    lu.assertStrContains(cell.spec.plan.attentions[1].score_text, "slope")
  end
  local study, message = grid.expand(project, probe(), { set = { "train.batch=none" } })
  lu.assertNil(study)
  lu.assertStrContains(message, "--set train.batch=none")
end

function TestGrid.test_one_cell_as_a_spec()
  local path = probe()
  local whole = expand(path).cells[3].spec
  local spec = grid.cell(project, path .. ":parity_check_tilted", {})
  lu.assertEquals(spec.plan.digest, whole.plan.digest)
  lu.assertEquals(grid.cell(project, path .. ":short:parity_check_rand_rope", {}).resolved.train.steps, 5)
  local nothing, message = grid.cell(project, path .. ":parity_check_titled", {})
  lu.assertNil(nothing)
  lu.assertStrContains(message, "did you mean parity_check_tilted?")
end

function TestGrid.test_unknown_studies()
  local study, message = grid.expand(project, "ruoss_tabel1")
  lu.assertNil(study)
  lu.assertStrContains(message, "hint: did you mean ruoss_table1?")
end

-- Two teachers; three students of each build upon its run, one of them upon another student's.
local STAGED = [[
return {
  title = "staged",
  base = { task = { kind = "parity_check" }, model = { use = "small_encoder" }, train = { steps = 7, batch = 12 },
    eval = { lengths = { 3, 4 }, examples = 8 } },
  axes = {
    { name = "teacher", values = {
      { name = 0, spec = {}, seeds = { 0, 0 } }, { name = 1, spec = {}, seeds = { 1, 1 } },
    } },
    { name = "bias", values = {
      { name = "plain", spec = {} }, { name = "loose", spec = {} },
      { name = "taken", spec = { train = { steps = 9 } } },
      { name = "again", spec = {}, learning_rates = { 1e-3, 2e-3 } },
    } },
  },
  stages = {
    { name = "teach", cells = { bias = { "plain" } } },
    { name = "student", cells = { bias = { "taken" } }, from = "teach", verb = "probe", options = { few_lines = 3 },
      seeds = { 4, 4 } },
    { name = "next", cells = { bias = { "again" } }, from = "student", verb = "probe", seeds = { 2, 3 } },
  },
}]]

local function staged(text)
  local path = support.write("staged.lua", text or STAGED)
  local out = path:match("^(.*)/") .. "/staged_runs"
  return path, out
end

TestStages = {}

function TestStages.setUp()
  stages.VERBS.probe = { options = { "few_lines" }, flags = { "briefly" } }
  os.execute("rm -rf " .. select(2, staged()))
end

function TestStages.tearDown()
  stages.VERBS.probe = nil
end

local function by_id(study)
  local cells = {}
  for _, cell in ipairs(study.cells) do
    cells[cell.id] = cell
  end
  return cells
end

function TestStages.test_a_cell_waits_for_the_run_of_its_teacher()
  local path, out = staged()
  local study = expand(path, { out = out })
  local cells = by_id(study)
  local taken, again = cells.teacher_0_taken, cells.teacher_1_again
  lu.assertEquals({ cells.teacher_1_plain.seeds, taken.seeds, again.seeds }, { { 1 }, { 4 }, { 2, 3 } })
  lu.assertEquals({ cells.teacher_0_plain.stage, taken.stage, cells.teacher_0_loose.stage }, { "teach", "student" })
  lu.assertEquals({ taken.spec, #taken.runs, taken.runs[1].dir }, { nil, 1 })
  lu.assertEquals({ taken.source.id, taken.source.run }, { "teacher_0_plain", cells.teacher_0_plain.runs[1].dir })
  lu.assertStrMatches(taken.source.file, "teacher_0_taken/probe_%x+/teacher_0_taken%.lua")
  lu.assertEquals({ again.source.id, #again.runs }, { "teacher_1_taken", 4 })
  lu.assertNil(again.source.file)
  lu.assertNotEquals(taken.source.file:match("probe_(%x+)/"), cells.teacher_1_taken.source.file:match("probe_(%x+)/"))
  ledger.survey(study, out)
  lu.assertEquals({ taken.runs[1].state, again.runs[4].state, #taken.missing }, { "waiting", "waiting", 0 })
  lu.assertEquals(cells.teacher_0_plain.runs[1].state, "absent")
end

-- Its spec is the verb's, with the study's fragments laid over it: base and values have priority.
function TestStages.test_what_the_verb_made_lies_under_the_cell()
  local path, out = staged()
  local source = by_id(expand(path, { out = out })).teacher_0_taken.source
  support.write("staged_runs/" .. source.file, [[
    return { encoding = { kind = "alibi" }, train = { steps = 100, log_every = 3 }, precision = "float64" }]])
  local cells = by_id(expand(path, { out = out }))
  local resolved = cells.teacher_0_taken.spec.resolved
  lu.assertEquals({ resolved.train.steps, resolved.train.batch, resolved.train.log_every, resolved.precision },
    { 9, 12, 3, "float64" })
  lu.assertStrContains(cells.teacher_0_taken.spec.plan.attentions[1].score_text, "slope")
  lu.assertStrContains(cells.teacher_0_taken.runs[1].dir, "teacher_0_taken/" .. cells.teacher_0_taken.spec.plan.digest)
  lu.assertEquals(cells.teacher_0_again.source.run, cells.teacher_0_taken.runs[1].dir)
  lu.assertNil(cells.teacher_1_taken.spec)
  lu.assertEquals(by_id(expand(path)).teacher_0_taken.spec, nil) -- the runs are in another folder
end

function TestStages.test_a_cell_that_waits_is_no_spec()
  local path = staged()
  local nothing, message = grid.cell(project, path .. ":teacher_1_taken", {})
  lu.assertNil(nothing)
  lu.assertStrContains(message, "the cell teacher_1_taken waits for teacher_1_plain")
  lu.assertEquals(grid.cell(project, path .. ":teacher_1_plain", {}).resolved.train.steps, 7)
end

function TestStages.test_what_a_verb_made_is_read_like_a_spec()
  local path, out = staged()
  local source = by_id(expand(path, { out = out })).teacher_0_taken.source
  support.write("staged_runs/" .. source.file, "return { encoding = { kind = 'alibbi' } }")
  local nothing, message = grid.expand(project, path, { out = out })
  lu.assertNil(nothing)
  lu.assertStrContains(message, "there is no alibbi.lua in spec/encodings")
end

function TestStages.test_mistakes()
  for wrong, expected in pairs({
    [ [[from = "teach", verb = "probe", options = { few_lines = 3 }]] ] = { [[from = "teech", verb = "probe"]],
      'stages[2].from: "teech" is no earlier stage', 'did you mean "teach"?' },
    [ [[cells = { bias = { "taken" } }, from]] ] = { [[cells = { bias = { "taken", "plain" } }, from]],
      "teacher 0, bias plain is in this stage and in teach" },
    [ [[cells = { bias = { "plain" } } },]] ] = { [[cells = { bias = { "plain", "loose" } } },]],
      "several cells of teach, or none, on the axis bias" },
    [ [[{ name = "plain", spec = {} }, ]] ] = { [[{ name = "plain", spec = {}, with = { teacher = { 0 } } }, ]],
      "several cells of teach, or none", "expected: values that stand with each other" },
    [ [[seeds = { 4, 4 } },]] ] = { [[seeds = { 4, 5 } },]], "the cell teacher_0_taken has 2 runs" },
    [ [[verb = "probe", options]] ] = { [[verb = "prone", options]], '"prone" is no verb of a stage' },
    [ "few_lines = 3" ] = { "few_line = 3", 'stages[2].options.few_line: no such field' },
    [ "{ few_lines = 3 }" ] = { "{ briefly = 3 }", "stages[2].options.briefly: is 3", "expected: true" },
    [ "options = { few_lines = 3 }" ] = { "options = { few_lines = { x = 3 } }",
      "stages[2].options.few_lines: is a table" },
    [ [[name = "next", ]] ] = { [[name = "teach", ]], 'a second stage "teach"' },
    [ [[{ name = "teach", cells = { bias = { "plain" } } },]] ] = { [[{ name = "teach" },]],
      "stages[1].cells: is missing" },
  }) do
    local at, to = STAGED:find(wrong, 1, true)
    local nothing, message = grid.expand(project, (staged(STAGED:sub(1, at - 1) .. expected[1] .. STAGED:sub(to + 1))))
    lu.assertNil(nothing, expected[1])
    for i = 2, #expected do
      lu.assertStrContains(message, expected[i])
    end
  end
end

TestErrors = {}

local function check_golden(case)
  local path = ("tests/golden/studies/%s.lua"):format(case)
  local scale = support.read(path):match("^%-%- scale: (%S+)")
  local study, message = grid.expand(project, path, { scale = scale })
  lu.assertNil(study)
  local golden = path:gsub("%.lua$", ".err")
  if os.getenv("LH_UPDATE_GOLDEN") then
    local file = assert(io.open(golden, "wb"))
    file:write(message)
    file:close()
  end
  lu.assertEquals(message, support.read(golden))
end

for name in lfs.dir("tests/golden/studies") do
  local case = name:match("^(.*)%.lua$")
  if case then
    TestErrors["test_" .. case] = function()
      check_golden(case)
    end
  end
end

TestStudies = {}

local function studies()
  return project:names("spec/studies", ".lua")
end

-- Cells that two studies share have the same runs.
function TestStudies.test_of_one_paper_share_their_runs()
  local dirs = {}
  for _, cell in ipairs(expand("ruoss_table1", { scale = "small" }).cells) do
    dirs[cell.runs[1].dir] = true
  end
  for _, name in ipairs({ "ruoss_table2", "ruoss_figure4" }) do
    for _, cell in ipairs(expand(name, { scale = "small" }).cells) do
      lu.assertTrue(dirs[cell.runs[1].dir], cell.id)
    end
  end
end

-- A checkpoint can be resumed if the source digest is equal.
function TestStudies.test_that_share_a_cell_have_its_source_digest()
  local digests, cuda = {}, {}
  for i, name in ipairs({ "ruoss_table1", "ruoss_figure4" }) do
    local spec = grid.cell(project, name .. ":small:parity_check_rand_relative", {})
    local files
    files, digests[i] = project:files(spec.plan, true)
    for _, file in ipairs(files) do
      cuda[i] = file.path == "cuda.c" and file.text:match('source_digest = "(%x+)"') or cuda[i]
      if file.path == "step.c" then
        lu.assertStrContains(file.text, name)
      end
    end
  end
  lu.assertEquals(digests[1], digests[2])
  lu.assertNotNil(cuda[1])
  lu.assertEquals(cuda[1], cuda[2])
end

-- A report joins the runs of two cells that differ in their seed alone.
function TestStudies.test_cells_of_other_names_have_one_source_digest()
  local digests, cuda = {}, {}
  for seed = 0, 1 do
    local spec = grid.cell(project, "duan_table1:small:successor_vanilla_" .. seed, {})
    local files
    files, digests[seed] = project:files(spec.plan, true)
    for _, file in ipairs(files) do
      cuda[seed] = file.path == "cuda.c" and file.text:match('source_digest = "(%x+)"') or cuda[seed]
    end
  end
  lu.assertNotNil(cuda[0])
  lu.assertEquals({ digests[0], cuda[0] }, { digests[1], cuda[1] })
end

-- A scale cannot change an axis's training: the teachers have the base's epochs.
function TestStudies.test_teachers_train_as_long_as_the_scale_says()
  for _, name in ipairs({ "abc_controls", "abc_ablations", "duan_table1" }) do
    local taught = 0
    for _, cell in ipairs(expand(name, { scale = "small" }).cells) do
      local epochs = cell.spec and cell.spec.resolved.train.epochs -- otherwise it waits for its stage
      lu.assertTrue(not epochs or epochs <= 16, cell.id)
      taught = taught + (epochs == 9 and 1 or 0)
    end
    lu.assertTrue(taught > 0)
  end
  local cell = grid.cell(project, "abc_controls:successor_teacher_0", {})
  lu.assertEquals(cell.resolved.train.epochs, 256)
end

function TestStudies.test_have_a_small_scale()
  for _, name in ipairs(studies()) do
    local text = support.read("spec/studies/" .. name .. ".lua")
    lu.assertStrContains(text, "small = {")
    lu.assertStrContains(text:match("^[^\n]*"), "-- ")
  end
end

TestLedger = {}

local LINE = '{"step":%d,"split":"%s","by":{"length":%d},"examples":8,"draws":%d,"accuracy":0.5,"exact_match":0,'
  .. '"loss":1,"sd_over_draws":0%s}\n'

-- Writes run.json of the cell's first run: its end, or none while it runs; kind: of its model.
local function ended(cell, step, code, kind)
  local run, spec = cell.runs[1], reports.spec_of("bucket_sort")
  spec.model.kind = kind
  return json.encode({ id = cell.id, digest = cell.spec.plan.digest, seed = run.seed,
    learning_rate = run.learning_rate, spec = spec, step = step or json.null,
    exit = code or json.null }) .. "\n"
end

local function state(cell, files)
  local run = "ledger/" .. cell.runs[1].dir .. "/"
  for name, text in pairs(files) do
    support.write(run .. name, text)
  end
  local dir = support.write(run .. "lock", ""):match("^(.*)/")
  local now, words = ledger.state(dir, ledger.wanted(cell), {})
  return now, words, dir
end

function TestLedger.test_a_run_is_done_when_all_is_there()
  local cell = expand(probe()).cells[2]
  local all = ""
  for _, n in ipairs({ 3, 6, 9 }) do
    all = all .. LINE:format(70, "in_distribution", n, 2, "")
  end
  lu.assertEquals(state(cell, {}), "absent")
  lu.assertEquals(state(cell, { ["run.json"] = ended(cell, 70, 0), ["eval.jsonl"] = all }), "done")
  local older = all:gsub("in_distribution", "train")
  lu.assertEquals(state(cell, { ["run.json"] = ended(cell, 70, 0), ["eval.jsonl"] = older }), "done")
  for what, text in pairs({
    ["one missing"] = LINE:format(70, "in_distribution", 3, 2, "") .. LINE:format(70, "in_distribution", 6, 2, ""),
    ["of validation"] = all:gsub("in_distribution", "validation"),
    ["of an earlier step"] = all:gsub('"step":70', '"step":60'),
    ["of other examples"] = all:gsub('"examples":8', '"examples":4'),
    ["torn"] = all:sub(1, -3),
    ["of another seed"] = all:gsub('"sd_over_draws":0', '"sd_over_draws":0,"seed":5'),
  }) do
    lu.assertEquals(state(cell, { ["eval.jsonl"] = text }), "to evaluate", what)
  end
  lu.assertEquals(state(cell, { ["eval.jsonl"] = all, ["run.json"] = ended(cell, 60, 0) }), "to train on")
  lu.assertEquals(state(cell, { ["run.json"] = ended(cell, 80, 0) }), "trained further")
  lu.assertEquals(state(cell, { ["run.json"] = ended(cell, 80, 75) }), "trained further")
  lu.assertEquals(state(cell, { ["run.json"] = ended(cell, 70, 1) }), "failed")
  lu.assertEquals(state(cell, { ["run.json"] = ended(cell, 70, 75) }), "stopped")
  lu.assertEquals(state(cell, { ["run.json"] = ended(cell) }), "stopped")
end

local function pair(cell, files)
  local now, words = state(cell, files)
  return { now, words }
end

-- Lines of an earlier version belong to the teacher-forced pass. If there are no others, and no checkpoint, they count
-- unchanged.
function TestLedger.test_answers_of_generative_models()
  local file = probe()
  local cell = expand(file, { set = { "model.kind='decoder'" } }).cells[2]
  local given = expand(file, { set = { "model.kind='decoder'", "eval.decoding=teacher_forced" } }).cells[2]
  local lines, greedy = "", ""
  for _, n in ipairs({ 3, 6, 9 }) do
    local line = LINE:format(70, "in_distribution", n, 2, "")
    lines = lines .. line
    greedy = greedy .. line:gsub('"accuracy"', '"decoding":"greedy","accuracy"')
  end
  local run = { ["run.json"] = ended(cell, 70, 0, "decoder"), ["checkpoint.safetensors"] = "" }
  run["eval.jsonl"] = lines
  lu.assertEquals(pair(cell, run), { "to evaluate", "greedy decoding is requested" })
  lu.assertEquals(pair(given, run), { "done" })
  run["eval.jsonl"] = lines .. greedy
  lu.assertEquals(pair(cell, run), { "done" })
  run["eval.jsonl"] = greedy
  lu.assertEquals(pair(given, run), { "to evaluate", "teacher-forced decoding is requested" })
  run["eval.jsonl"] = lines:match("^[^\n]*\n")
  lu.assertEquals(pair(cell, run), { "to evaluate", "3 lengths are not evaluated as requested" })
  run["eval.jsonl"] = lines
  local _, words, dir = state(cell, run)
  lu.assertEquals(words, "greedy decoding is requested")
  os.remove(dir .. "/checkpoint.safetensors")
  lu.assertEquals({ ledger.state(dir, ledger.wanted(cell), {}) }, { "done", "greedy decoding is requested, but there "
    .. "is no checkpoint to evaluate" })
end

-- Task lengths below 41 are training lengths; a model without random positions has one draw.
function TestLedger.test_conditions()
  local cell = expand(probe(), { set = { "eval.lengths={ 39, 42 }" } }).cells[1]
  lu.assertEquals(ledger.wanted(cell).conditions, { ["in_distribution 39 8 1"] = true,
    ["in_distribution 40 8 1"] = true, ["beyond 41 8 1"] = true, ["beyond 42 8 1"] = true })
end

-- The validation stream is evaluated first: it takes time, but a run is done without its lines, which older runs lack.
function TestLedger.test_validation_costs_and_is_not_wanted()
  local function wanted_with(examples)
    return ledger.wanted(expand(probe(), { set = { "eval.validation.examples=" .. examples } }).cells[2])
  end
  local without, with = wanted_with(0), wanted_with(5)
  lu.assertEquals(with.conditions, without.conditions)
  local more = with.eval_work[1] - without.eval_work[1]
  lu.assertTrue(more > 0)
  lu.assertEquals(with.eval_work[3] - without.eval_work[3], more)
  local cell = expand(probe()).cells[2]
  local _, _, dir = state(cell, { ["metrics.jsonl"] = '{"step":70,"accuracy":0.75}\n',
    ["eval.jsonl"] = LINE:format(70, "validation", 9, 2, "") })
  lu.assertNil(ledger.progress(dir, ledger.wanted(cell)).evaluated)
end

function TestLedger.test_progress_is_counted_in_operations()
  local cell = expand(probe()).cells[2]
  local wanted = ledger.wanted(cell)
  local _, _, dir = state(cell, { ["metrics.jsonl"] = '{"step":35,"accuracy":0.75}\n{"step":7', ["eval.jsonl"] = "" })
  local far = ledger.progress(dir, wanted)
  lu.assertEquals({ far.step, far.accuracy, far.work }, { 35, 0.75, wanted.train_work / 2 })
  lu.assertEquals(wanted.train_work, 70 * cell.spec.plan.flops_per_step)
  state(cell, { ["metrics.jsonl"] = '{"step":35,"accuracy_teacher_forced":0.5}\n', ["eval.jsonl"] = "" })
  lu.assertEquals(ledger.progress(dir, wanted).accuracy, 0.5) -- of a generative model
end

TestJobs = {}

-- A name with a newline is one name, and no second command.
function TestJobs.test_commands_are_whatever_names_they_hold()
  local folder = support.write("jobs/x", ""):match("^(.*)/")
  local names, commands, codes = { "a\n: >b; exit", "c\\nd\\\\e", "f'g\\0101" }, {}, {}
  for i, name in ipairs(names) do
    commands[i] = shell.line({ "touch", folder .. "/" .. name })
  end
  local how = jobs.run(project, commands, 2, {
    start = function() end,
    tick = function() end,
    finish = function(i, status) codes[i] = status end,
  })
  lu.assertEquals({ how, codes }, { "done", { 0, 0, 0 } })
  for _, name in ipairs(names) do
    lu.assertEquals(lfs.attributes(folder .. "/" .. name, "mode"), "file", name)
  end
  lu.assertNil(lfs.attributes(folder .. "/b", "mode"))
end

TestFailures = {}

-- Messages of three runs of a group, each with a warning and an error.
local WARNED, FAILED = {}, {}
for i, name in ipairs({ "rate 0.001, seed 9", "rate 0.001, seed 10", "rate 1e+06, seed 0" }) do
  WARNED[i] = "learning " .. name .. ": warning: step 1: the training may be running away\n"
    .. "  there is no checkpoint yet\n  training continues; hint: a lower --learning-rate\n"
  FAILED[i] = "learning " .. name .. ": error: step 2: the loss is nan\n  task length 3\n  parameters: all zero\n"
    .. "  gradient: all zero\n  there is no checkpoint yet\n  hint: a lower --learning-rate\n"
end
local CLOSING = "trainer: error: 3 of 3 runs failed\n"
local PROGRESS = "[###.................] 3 runs  step 0 to 10 of 99  1.0 model-steps/s\n"

local function told(...)
  return failures.text(support.write("log.txt", table.concat({ ... })), 0, 8)
end

function TestFailures.test_runs_of_a_group_are_told_in_any_order_of_writing()
  local text = "    " .. FAILED[1]:gsub("\n", "\n    ")
    .. "learning rate 0.001, seed 10: error: step 2: the loss is nan\n"
    .. "    learning rate 1e+06, seed 0: error: step 2: the loss is nan"
  lu.assertEquals(told(WARNED[1], WARNED[2], WARNED[3], FAILED[1], FAILED[2], FAILED[3], CLOSING), text)
  lu.assertEquals(told(WARNED[1], FAILED[1], WARNED[2], PROGRESS, FAILED[2], WARNED[3], FAILED[3], CLOSING), text)
  lu.assertEquals(told(WARNED[3], FAILED[3], WARNED[2], FAILED[2], WARNED[1], FAILED[1], CLOSING), text)
end

-- Failures of one part of a cell, whose other parts write to the same log.
function TestFailures.test_runs_of_another_part_are_left_out()
  local log = support.write("log.txt", FAILED[1] .. FAILED[2])
  lu.assertEquals(failures.text(log, 0, 1, { { learning_rate = 1e-3, seed = 10 } }),
    "    learning rate 0.001, seed 10: error: step 2: the loss is nan")
end

function TestFailures.test_a_run_that_failed_early_is_told()
  lu.assertStrContains(told(FAILED[1], PROGRESS:rep(1000)), "seed 9: error: step 2")
end

function TestFailures.test_other_failures_are_told_by_the_end_of_the_log()
  lu.assertEquals(told("compiles\n", "trainer: error: no space left\n  hint: room\n"),
    "    trainer: error: no space left\n      hint: room")
  lu.assertEquals(failures.text(support.write("log.txt", "before\na\nb\n" .. PROGRESS .. "c\n"), 7, 2), "    b\n    c")
  lu.assertNil(told(PROGRESS))
  lu.assertNil(failures.text("/no/such/log.txt", 0, 8))
end

TestBench = {}

local function trainer(body)
  local path = support.write("trainer", "#!/bin/sh\n" .. body .. "\n")
  assert(os.execute(("chmod +x '%s'"):format(path)))
  return path
end

function TestBench.test_rows_or_the_exit_code()
  local rows = bench_rows.rows(trainer([[[ "$*" = "bench --json --lengths 5" ] &&
    echo '{"mode":"train","length":5,"steps_per_second":2.5}' && echo '{"mode":"eval","length":5}']]),
    { "--lengths", "5" })
  lu.assertEquals(rows, { { mode = "train", length = 5, steps_per_second = 2.5 }, { mode = "eval", length = 5 } })
  lu.assertEquals({ bench_rows.rows(trainer("exit 4"), {}) }, { nil, 4 })
end

support.run()
