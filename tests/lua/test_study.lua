-- lab/study/grid/study.lua and grid.lua: expansion of a study to cells and runs, and messages about invalid studies.
--
-- Each tests/golden/studies/<case>.lua has the errors of <case>.err, byte for byte. A first line `-- scale: NAME` means
-- --scale NAME. LH_UPDATE_GOLDEN=1 updates the .err files.

local support = dofile("tests/lua/support.lua")

local grid = require("lab.study.grid.grid")
local items = require("lab.study.report.items")
local lists = require("base.lists")
local lu = require("luaunit")
local probes = require("probe_study")
local project = require("project").new(".")

local expand, write_small, SMALL = probes.expand, probes.write_small, probes.SMALL

TestGrid = {}

local function list_ids(study)
  return lists.map(study.cells, function(cell) return cell.id end)
end

-- Checks that a study, the text of a file, is refused with this message.
local function refuse(text, expected)
  local study, message = grid.expand(project, support.write("refused.lua", text))
  lu.assertNil(study)
  lu.assertStrContains(message, expected)
  return message
end

function TestGrid.test_cells_are_the_product()
  local study = expand(write_small())
  lu.assertEquals({ study.name, study.title, study.cells[1].seeds }, { "probe", "probe", { 2, 3, 4 } })
  lu.assertEquals(study.axes, { { name = "task", values = { "reverse_string", "parity_check" } },
    { name = "encoding", values = { "tilted", "rand-rope" } } })
  lu.assertEquals(study.report, { { kind = "table", rows = "task" } })
  local ids = list_ids(study)
  lu.assertEquals(ids, { "reverse_string_tilted", "reverse_string_rand_rope", "parity_check_tilted",
    "parity_check_rand_rope" })
  lu.assertEquals(study.ids, ids)
  lu.assertEquals(study.cells[4].key, { task = "parity_check", encoding = "rand-rope" })
end

function TestGrid.test_fragments_are_merged_in_order()
  local cells = expand(write_small()).cells
  local tilted, rope = cells[1].spec, cells[2].spec
  lu.assertEquals(tilted.resolved.model.layers, 3)
  lu.assertEquals({ tilted.resolved.model.width, tilted.resolved.train.steps, tilted.resolved.train.batch },
    { 16, 70, 128 })
  lu.assertEquals(rope.resolved.train.batch, 12)
  lu.assertStrContains(tilted.plan.attentions[1].score_text, "0.25")
  lu.assertEquals(rope.resolved.encoding.rotation.kind, "rope")
  lu.assertEquals(rope.source, "probe.lua:reverse_string_rand_rope")
end

-- Seeds of parts are crossed. A part whose seed equals the run's seed is not named in the run's folder.
function TestGrid.test_separate_seeds_of_parts_are_crossed()
  local text = SMALL:gsub("seeds = {[^}]*}", "seeds = { 2, 3, init = { 3, 4 }, data = { 2, 2 } }", 1)
  local cell = expand(support.write("seeds.lua", text)).cells[1]
  local names = lists.map(lists.filter(cell.runs, function(run) return run.learning_rate == cell.learning_rates[1] end),
    function(run) return (run.dir:match("seed[^/]*$")) end)
  lu.assertEquals(names, { "seed2.init3", "seed2.init4", "seed3.data2", "seed3.init4.data2" })
  lu.assertEquals(grid.make_flags({ seeds = { 2, 3 }, part_seeds = { data = { 2, 2 }, init = { 3, 4 } },
    learning_rates = { 0.1 } }, "cpu"), { "--seeds", "2:3", "--seeds-init", "3:4", "--seeds-data", "2:2",
    "--learning-rate", "0.1", "--device", "cpu" })
  text = SMALL:gsub("seeds = {[^}]*}", "seeds = { draws = { 0, 1 } }", 1)
  local last_cell = expand(support.write("seeds.lua", text)).cells[1]
  lu.assertEquals({ #last_cell.runs, last_cell.runs[1].part_seeds, last_cell.runs[2].part_seeds },
    { 2, nil, { draws = 1 } })
end

function TestGrid.test_messages_on_seeds_of_parts()
  local function refuse_seeds(seeds, expected)
    refuse((SMALL:gsub("seeds = {[^}]*}", "seeds = " .. seeds, 1)), expected)
  end
  refuse_seeds("{ 0, 1, order = { 0, 1 } }", '"order" is not a part of the random numbers')
  refuse_seeds("{ init = { 3 } }", "seeds.init: is a list of length 1")
  refuse_seeds("{ 0, 99, init = { 0, 99 } }", "seeds: are 10000 combinations of seeds")
end

function TestGrid.test_runs_have_the_folders_of_the_trainer()
  local cell = expand(write_small(), { scale = "short" }).cells[2]
  local digest = cell.spec.plan.digest
  lu.assertEquals(cell.runs, {
    { seed = 0, learning_rate = 1e-4, dir = ("parity_check_rand_rope/%s/lr0.0001-seed0"):format(digest) },
    { seed = 0, learning_rate = 5e-3, dir = ("parity_check_rand_rope/%s/lr0.005-seed0"):format(digest) },
  })
  lu.assertEquals(expand(write_small()).cells[1].runs[3].dir:match("[^/]*$"), "lr0.004-seed4")
end

-- A value may be combined with only some values of another axis (with).
function TestGrid.test_values_may_be_combined_with_some_others_only()
  local text = SMALL:gsub("train = { batch = 12 } }", "%0, with = { task = { 'parity_check' } }")
  lu.assertEquals(list_ids(expand(support.write("with.lua", text))),
    { "reverse_string_tilted", "parity_check_tilted", "parity_check_rand_rope" })
  for wrong_axes, expected in pairs({ ["task = { 'parity' }"] = '"parity" is not a value of this axis',
    ["encoding = { 'tilted' }"] = "axes[2].values[2].with.encoding: no such field" }) do
    refuse(text:gsub("task = { 'parity_check' }", wrong_axes), expected)
  end
end

-- If a value of an axis has its own learning rates, its cells have these rates at every scale.
function TestGrid.test_values_may_have_learning_rates()
  local text = SMALL:gsub("train = { batch = 12 } }", "%0, learning_rates = { 0.1, 0.01 }")
  local file = support.write("rates.lua", text)
  local cells = expand(file).cells
  lu.assertEquals({ cells[1].learning_rates, cells[2].learning_rates }, { { 0.004 }, { 0.1, 0.01 } })
  lu.assertEquals({ #cells[1].runs, #cells[2].runs, cells[2].runs[4].learning_rate }, { 3, 6, 0.01 })
  lu.assertEquals(expand(file, { scale = "short" }).cells[1].learning_rates, { 0.1, 0.01 })
  refuse(text:gsub("0.01 }", "-1 }"), "axes[2].values[2].learning_rates[2]: -1 does not fit here")
end

-- An error in a range of seeds is reported once, with its position.
function TestGrid.test_wrong_seeds_are_refused_once_with_their_position()
  for seeds, expected in pairs({ ["3"] = "seeds: is 3\n", ["{}"] = "seeds: is empty\n",
    ["{ 0, 1, 5 }"] = "seeds: is a list of length 3\n", ["{ 4, 2 }"] = "seeds: ends at 2, before it starts\n",
    ["{ 0, 4096 }"] = "seeds: are 4097 seeds\n", ["{ 0, 0.5 }"] = "seeds[2]: 0.5 is not a seed\n",
    ["{ '1', 2 }"] = 'seeds[1]: "1" is not a seed\n', ["{ -1, 2 }"] = "seeds[1]: -1 is not a seed\n" }) do
    local text = SMALL:gsub("{ 2, 4 }", seeds, 1)
    lu.assertStrContains(refuse(text, "error: " .. expected), "1 error; nothing was written")
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
  local without_scales = WIDTHS:gsub("  scales = [^\n]*\n", "")
  local _, message = grid.expand(project, support.write("plain.lua", without_scales), { scale = "small" })
  lu.assertStrContains(message, "has no scale small\n  expected: no --scale, since this study has no scales\n")
end

-- Values are in the order of the file. An id cannot begin with a digit, so the name of the axis precedes a number.
function TestGrid.test_values_may_be_numbers()
  local study = expand(support.write("widths.lua", WIDTHS))
  lu.assertEquals(study.axes[1].values, { "32", "16", "64" })
  lu.assertEquals(study.ids, { "width_32", "width_16", "width_64" })
  lu.assertEquals(study.cells[1].spec.resolved.model.width, 32)
  lu.assertEquals(expand(support.write("widths.lua", WIDTHS), { scale = "small" }).ids, { "width_16", "width_32" })
  local rates = WIDTHS:gsub("name = 32", "name = 0.5"):gsub("name = 64", "name = 1e-3"):gsub('"32"', "5e-1")
  lu.assertEquals(expand(support.write("rates.lua", rates)).ids, { "width_0_5", "width_16", "width_0_001" })
  refuse(WIDTHS:gsub("= 64,", "= 32,"), '"32" occurs twice')
end

-- A scale may change some values of an axis; other scales, and the study without a scale, keep these values.
function TestGrid.test_scales_change_values()
  local text = WIDTHS:gsub("scales = {", '%0 tiny = { values = { width = { ["64"] = { model = { heads = 1 } } } } },')
  local file = support.write("values.lua", text)
  local function get_heads(scale)
    return lists.map(expand(file, { scale = scale }).cells, function(cell) return cell.spec.resolved.model.heads end)
  end
  lu.assertEquals({ get_heads(), get_heads("tiny"), get_heads("small") }, { { 2, 2, 2 }, { 2, 2, 1 }, { 2, 2 } })
  refuse(text:gsub('"64"', '"48"'), "scales.tiny.values.width.48: no such field")
end

-- A report names the scored set (split), the set that chooses the learning rate (select), and the metric.
function TestGrid.test_scored_sets_of_a_report()
  local function make_text(report)
    return (SMALL:gsub("report = %b{}", "report = " .. report))
  end
  local function expand_with(report)
    return expand(support.write("scored.lua", make_text(report)))
  end
  lu.assertEquals(expand(write_small()).scored, { split = "test" })
  local study = expand_with('{ split = "validation" }')
  lu.assertEquals(study.scored, { split = "validation" })
  lu.assertNil(study.report)
  study = expand_with('{ select = "train", { kind = "curves", lines = "encoding" } }')
  lu.assertEquals(study.scored, { split = "test", select = "train" })
  lu.assertEquals(study.report, { { kind = "curves", lines = "encoding" } })
  lu.assertEquals(expand_with('{ metric = "exact_match" }').scored, { split = "test", metric = "exact_match" })
  study = expand_with('{ labels = { tilted = "T" } }')
  lu.assertEquals({ study.labels, study.report }, { { tilted = "T" } })
  study = expand_with('{ generalises = { metric = "accuracy", above = 95.5 } }')
  lu.assertEquals(study.scored.generalises, { metric = "accuracy", above = 95.5 })
  for report, expected in pairs({
    ['{ generalises = 90 }'] = "report.generalises: is 90\n",
    ['{ generalises = { above = 90 } }'] = "report.generalises.metric: is missing",
    ['{ generalises = { metric = "loss", above = 90 } }'] =
      'report.generalises.metric: "loss" is not a metric of shares',
    ['{ generalises = { metric = "accuracy", above = 0.9 } }'] = "hint: write percent, not a share",
    ['{ generalises = { metric = "accuracy", above = 100 } }'] = "report.generalises.above: 100 is not a percentage",
    ['{ generalises = { metric = "accuracy", above = "90" } }'] = 'report.generalises.above: "90" is not a percentage',
    ['{ generalises = { metric = "accuracy", over = 90, above = 90 } }'] = "report.generalises.over: no such field",
    ['{ split = "tests" }'] = 'report.split: "tests" is not a set',
    ['{ select = 3 }'] = "report.select: 3 is not a set",
    ['{ metric = "exact" }'] = 'report.metric: "exact" is not a metric',
    ['{ labels = { rop = "RoPE" } }'] = 'report.labels.rop: no such field',
    ['{ labels = { tilted = 1 } }'] = 'report.labels.tilted: 1 is not a text',
    ['{ slect = "train" }'] = 'report.slect: no such field',
  }) do
    refuse(make_text(report), expected)
  end
end

-- The runtime's lh_write_shortest writes the same texts.
function TestGrid.test_rates_in_names()
  local texts = { [1e-4] = "0.0001", [3e-4] = "0.0003", [1e-5] = "1e-05", [0.1 + 0.2] = "0.30000000000000004",
    [1] = "1", [100] = "1e+02", [12] = "12", [1.5e-7] = "1.5e-07" }
  for rate, text in pairs(texts) do
    lu.assertEquals(grid.format_shortest(rate), text)
  end
end

function TestGrid.test_scales_apply_between_base_and_axes()
  local study = expand(write_small(), { scale = "short" })
  lu.assertEquals({ #study.cells, study.scale, study.cells[2].learning_rates }, { 2, "short", { 1e-4, 5e-3 } })
  local resolved = study.cells[1].spec.resolved
  lu.assertEquals({ resolved.model.layers, resolved.train.steps, resolved.train.batch }, { 5, 5, 12 })
  lu.assertEquals(#expand(write_small(), { scale = "other" }).cells, 4)
end

-- A base without a task may have options of the tasks of an axis.
function TestGrid.test_options_are_kept_if_an_axis_has_the_task()
  local study = expand("abc_controls", { scale = "small" })
  local options = study.cells[1].spec.resolved.task.options
  lu.assertEquals({ options.width, options.numbers }, { 30, 4096 })
end

function TestGrid.test_set_overrides_all_fragments()
  local cells = expand(write_small(), { set = { "train.batch=20", "encoding.kind=alibi" } }).cells
  for _, cell in ipairs(cells) do
    lu.assertEquals(cell.spec.resolved.train.batch, 20)
    lu.assertStrContains(cell.spec.plan.attentions[1].score_text, "slope")
  end
  local study, message = grid.expand(project, write_small(), { set = { "train.batch=none" } })
  lu.assertNil(study)
  lu.assertStrContains(message, "--set train.batch=none")
end

function TestGrid.test_one_cell_as_a_spec()
  local path = write_small()
  local full_spec = expand(path).cells[3].spec
  local spec = grid.plan_cell(project, path .. ":parity_check_tilted", {})
  lu.assertEquals(spec.plan.digest, full_spec.plan.digest)
  lu.assertEquals(grid.plan_cell(project, path .. ":short:parity_check_rand_rope", {}).resolved.train.steps, 5)
  local no_spec, message = grid.plan_cell(project, path .. ":parity_check_titled", {})
  lu.assertNil(no_spec)
  lu.assertStrContains(message, "did you mean parity_check_tilted?")
end

function TestGrid.test_unknown_studies()
  local study, message = grid.expand(project, "ruoss_tabel1")
  lu.assertNil(study)
  lu.assertStrContains(message, "hint: did you mean ruoss_table1?")
end

TestErrors = {}

local function check_golden(path)
  local scale = support.read(path):match("^%-%- scale: (%S+)")
  local study, message = grid.expand(project, path, { scale = scale })
  lu.assertNil(study)
  support.assert_golden((path:gsub("%.lua$", ".err")), message)
end

for _, case in ipairs(project:list_names("tests/golden/studies", ".lua")) do
  TestErrors["test_" .. case] = function()
    check_golden(("tests/golden/studies/%s.lua"):format(case))
  end
end

TestStudies = {}

function TestStudies.test_studies_of_one_paper_share_their_runs()
  local dirs = lists.to_set(lists.map(expand("ruoss_table1", { scale = "small" }).cells, function(cell)
    return cell.runs[1].dir
  end))
  for _, name in ipairs({ "ruoss_table2", "ruoss_figure4" }) do
    for _, cell in ipairs(expand(name, { scale = "small" }).cells) do
      lu.assertTrue(dirs[cell.runs[1].dir], cell.id)
    end
  end
end

-- Renders a cell; returns its source digests { CPU, CUDA } and the files' texts by name.
local function render_cell(name)
  local files, digest = project:render_files(grid.plan_cell(project, name, {}).plan, true)
  local texts = support.index_texts(files)
  return { digest, assert(texts["cuda.c"]:match('source_digest = "(%x+)"')) }, texts
end

-- A run that one study began continues in another study that has the cell, since the source digests are equal.
function TestStudies.test_studies_that_share_a_cell_have_one_source_digest()
  local digests = {}
  for i, name in ipairs({ "ruoss_table1", "ruoss_figure4" }) do
    local texts
    digests[i], texts = render_cell(name .. ":small:parity_check_rand_relative")
    lu.assertStrContains(texts["step.c"], name)
  end
  lu.assertEquals(digests[1], digests[2])
end

-- Cells that differ only in their name and seed have one trainer.
function TestStudies.test_cells_of_other_names_have_one_source_digest()
  lu.assertEquals((render_cell("duan_table1:small:successor_vanilla_0")),
    (render_cell("duan_table1:small:successor_vanilla_1")))
end

-- Fragments of axis values override the base of a scale. The values for teachers have no epochs, so teachers have the
-- epochs of the base, which a scale changes.
function TestStudies.test_teachers_train_for_the_epochs_of_the_scale()
  for _, name in ipairs({ "abc_controls", "abc_ablations", "duan_table1" }) do
    local teacher_count = 0
    for _, cell in ipairs(expand(name, { scale = "small" }).cells) do
      local epochs = cell.spec and cell.spec.resolved.train.epochs -- a cell without a spec waits for its stage
      lu.assertTrue(not epochs or epochs <= 16, cell.id)
      teacher_count = teacher_count + (epochs == 9 and 1 or 0)
    end
    lu.assertTrue(teacher_count > 0)
  end
  local cell = grid.plan_cell(project, "abc_controls:successor_teacher_0", {})
  lu.assertEquals(cell.resolved.train.epochs, 256)
end

function TestStudies.test_studies_have_a_small_scale()
  for _, name in ipairs(project:list_names("spec/studies", ".lua")) do
    local text = support.read("spec/studies/" .. name .. ".lua")
    lu.assertStrContains(text, "small = {")
    lu.assertStrContains(text:match("^[^\n]*"), "-- ")
  end
end

-- All cells of recipes, and all items of their reports, are valid with and without the scale `small`. So the numbers
-- of claims are evaluated in both cases.
function TestStudies.test_studies_of_recipes_are_valid()
  for _, name in ipairs({ "looped_copy", "counting", "addition_protocol", "addition_recipes", "chomsky_baselines" }) do
    for _, scale in ipairs({ false, "small" }) do
      local study = expand(name, { scale = scale or nil })
      lu.assertEquals(study.cells[1].seeds, { 0, 1, 2, 3, 4 })
      assert(items.check(study))
    end
  end
end

support.run()
