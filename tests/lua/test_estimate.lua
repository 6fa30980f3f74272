-- Estimates of runs on files of examples, by the lengths in the files.

local support = dofile("tests/lua/support.lua")

local costs = require("plan.deriving.costs")
local data_shapes = require("lab.study.read.data_shapes")
local estimate = require("lab.study.run.estimate")
local grid = require("lab.study.grid.grid")
local ledger = require("lab.study.run.ledger")
local lists = require("base.lists")
local lu = require("luaunit")
local packing = require("lab.study.slurm.packing")
local project = require("project").new(".")
local write = require("base.write")

local STUDY = [[
return { title = "p", seeds = { 0, 1 }, base = { task = { data = "train.jsonl", eval = "test.jsonl",
  input_symbols = { "a", "b", "[", "," }, output_symbols = 3, longest = 512, axes = { "digits" } },
  model = { use = "small_encoder" }, encoding = { kind = "none" },
  train = { batch = 4, %s }, eval = { %s } },
  axes = { { name = "width", values = { { name = 16, spec = { model = { width = 16 } } } } } } }]]

local LINES = { '{"input":["a"],"target":[1]}', '{"target":[1],"input":["b"],"mask":[1]}', "",
  '{"input":[ "[" , "," ],"target":[1, 2],"digits":3}', '{"digits":2,"input":["a","b"],"target":[0,1]}',
  '{"input":["a"],"target":[2]}' }

-- Writes a training file and a test file; returns the path of the test file. The training file has 3,003 examples with
-- one token of input and one of output, and 2,002 with two of each. The test file is the text `test`, or by default has
-- 3 and 2 such examples.
local function write_files(test)
  support.write("estimate/train.jsonl", (table.concat(LINES, "\n") .. "\n"):rep(1001))
  return support.write("estimate/test.jsonl", test or (table.concat(LINES, "\n") .. "\n"))
end

local function expand(train, eval)
  local file = support.write("estimate/probe.lua", STUDY:format(train or "epochs = 3", eval or "examples = 2"))
  local root = file:match("^(.*)/") .. "/runs"
  local study = assert(grid.expand(project, file, { out = root }))
  ledger.survey(study, root)
  return study, study.cells[1]
end

TestDataShapes = { tearDown = support.clean }

function TestDataShapes.test_lengths_of_a_file()
  local shapes = data_shapes.read(write_files(), { "length", "digits" }, {})
  lu.assertEquals(shapes.count, 5)
  lu.assertEquals({ shapes.shapes[1].input, shapes.shapes[1].output, shapes.shapes[1].count }, { 1, 1, 3 })
  lu.assertEquals({ shapes.shapes[2].input, shapes.shapes[2].output, shapes.shapes[2].count }, { 2, 2, 2 })
  local count_by_group = {}
  for _, group in ipairs(shapes.groups) do
    count_by_group[group.group] = group.count
  end
  lu.assertEquals(count_by_group, { ["1 -"] = 3, ["2 3"] = 1, ["2 2"] = 1 })
  lu.assertNil(data_shapes.read("nowhere.jsonl", {}, {}))
end

-- Files of all formats with the same examples have the same shapes and groups. Words are symbols; so is a text that is
-- the name of a symbol; other texts without blanks consist of characters.
function TestDataShapes.test_formats()
  local task = { input_symbols = { "+", "1", "walk" }, output_symbols = { "1", "é" } }
  local texts = { '{"input":["1","+","1"],"target":["1","é"],"digits":1}\n{"input":["walk"],"target":["1"]}\n',
    '{"input":"1 + 1","target":"1é","digits":1}\n{"input":"walk","target":"1"}\n',
    "target\tinput\tdigits\r\n1é\t1+1\t1\r\n\r\n1\t walk \t\r\n" }
  for _, text in ipairs(texts) do
    local shapes = data_shapes.read(write_files(text), { "length", "digits" }, task)
    lu.assertEquals(lists.map(shapes.groups, function(group)
      return { group.input, group.output, group.group, group.count }
    end), { { 3, 2, "3 1", 1 }, { 1, 1, "1 -", 1 } }, text)
  end
  local shapes = data_shapes.read(write_files("IN: walk OUT: 1\nIN: walk + OUT: é 1\n"), {}, task)
  lu.assertEquals(lists.map(shapes.shapes, function(shape) return { shape.input, shape.output } end),
    { { 1, 1 }, { 2, 2 } })
end

-- A changed file is read again.
function TestDataShapes.test_changed_files()
  local path = write_files()
  lu.assertEquals(data_shapes.read(path, {}, {}).count, 5)
  write_files(LINES[1] .. "\n" .. '{"input":["a\\"]"],"target":[1]}' .. "\nno example\n")
  lu.assertEquals(data_shapes.read(path, {}, {}).count, 2)
end

TestEstimate = { tearDown = support.clean }

function TestEstimate.test_work_of_a_run()
  write_files()
  local _, cell = expand()
  local plan, work = cell.spec.plan, estimate.compute_data_work(cell)
  lu.assertEquals(work.steps, 3 * (751 + 501)) -- batches of 4: 3,003 and 2,002 examples
  local short_work, long_work = costs.count_forward(plan, { 2 }), costs.count_forward(plan, { 4 })
  lu.assertAlmostEquals(work.train, 9 * (3003 * short_work + 2002 * long_work), 1)
  lu.assertAlmostEquals(work.eval, 2 * costs.count_forward(plan, { 2 }) + 2 * costs.count_forward(plan, { 4 }), 1)
  lu.assertTrue(plan.flops_per_step * work.steps > 100 * work.train) -- much less than with sequences of task.longest
  _, cell = expand("epochs = 3", 'examples = "all", by = { digits = true }, splits = { "test", "train" }')
  lu.assertAlmostEquals(estimate.compute_data_work(cell).eval, 1002 * (3 * costs.count_forward(plan, { 2 }) + 2
    * costs.count_forward(plan, { 4 })), 1)
  _, cell = expand("steps = 50", 'examples = 2, during = { every = 10, examples = 1 }')
  lu.assertEquals(estimate.compute_data_work(cell).steps, 50)
  -- five evaluations of one example of each length, and one of two examples
  lu.assertAlmostEquals(estimate.compute_data_work(cell).eval, 7 * (short_work + long_work), 1)
end

-- Calls use() while the trainer's benchmark reports, for a step, 1 ms and 1 ns for each operation of the step.
local function with_bench(cell, use)
  local function run_bench(_, words)
    lu.assertStrContains(table.concat(words, " "), "--data=")
    local rows = {}
    for _, mode in ipairs({ "train", "eval" }) do
      for i, tokens in ipairs({ 2, 4 }) do
        local operations = costs.count_forward(cell.spec.plan, tokens) * 4 * (mode == "train" and 3 or 1)
        rows[#rows + 1] = { mode = mode, length = i, tokens = tokens,
          steps_per_second = 1 / (1e-3 + 1e-9 * operations) }
      end
    end
    return rows
  end
  local getenv, folder = os.getenv, support.write("estimate/cache/none", ""):match("^(.*)/")
  return support.replace_fields({ { estimate, "run_bench", run_bench }, { os, "getenv", function(name)
    return name == "LONGHAND_CACHE" and folder or getenv(name)
  end } }, use)
end

-- With short lines, two runs take seconds and fit one task of an array, although task.longest is 512.
function TestEstimate.test_seconds_of_short_lines()
  write_files()
  local study, cell = expand("epochs = 30", "examples = 2")
  local items = { { cell = cell, dir = "none", is_fresh = true } }
  local work = estimate.compute_data_work(cell)
  local seconds = 1e-3 * work.steps + 1e-9 * work.train
  local options = { threads = 1, replicas = 1, device = "cpu", max_concurrent = 1, max_concurrent_here = 1 }
  with_bench(cell, function()
    local lines = table.concat(estimate.format(study, items, options), "\n")
    lu.assertStrMatches(lines, ".*about %d min %d+ s on this machine.*")
    lu.assertNotStrContains(lines, "not counted")
    local groups = packing.make_groups(study.cells, 1)
    local timer = estimate.make_timer(items, options)
    for _, group in ipairs(groups) do
      group.seconds = timer(group.cell, group.runs)
      lu.assertAlmostEquals(group.seconds, seconds, 0.02 * seconds)
    end
    local tasks, max_seconds = packing.make_tasks(groups, { min_tasks = 1, max_tasks = 32, seconds = 3600, lanes = 1 })
    lu.assertEquals(#tasks, 1)
    lu.assertAlmostEquals(max_seconds, 2 * seconds, 0.04 * seconds)
  end)
end

-- Without a trainer, the record of an earlier measurement of the same settings counts, unless it is damaged.
function TestEstimate.test_speeds_are_recorded()
  write_files()
  local study, cell = expand("epochs = 30", "examples = 2")
  local function get_text(is_fresh, threads)
    local lines = estimate.format(study, { { cell = cell, dir = "none", is_fresh = is_fresh } },
      { threads = threads or 1, replicas = 1, device = "cpu" })
    return lines and table.concat(lines, "\n")
  end
  with_bench(cell, function()
    local items, options = { { cell = cell } }, { threads = 1, replicas = 1, device = "cpu" }
    lu.assertEquals({ estimate.has_records(items, options), get_text(false) }, { false })
    local measured_text = get_text(true)
    lu.assertTrue(estimate.has_records(items, options))
    lu.assertEquals(get_text(false), (measured_text:gsub("measured:", "measured earlier:")))
    lu.assertNil(get_text(false, 2))
    local folder = os.getenv("LONGHAND_CACHE") .. "/speeds"
    support.write("estimate/cache/speeds/" .. write.list_names(folder)[1], '{"train":1}')
    lu.assertFalse(estimate.has_records(items, options))
  end)
end

-- A trainer is measured at two lengths, whose operations are closest to a mean: for the first length, the mean over the
-- steps of training (a curriculum makes most of these steps short); for the second, the mean over the lengths of
-- evaluation. If the number of passes depends on the length, the trainer has memory for the first length only.
function TestEstimate.test_trainers_are_measured_at_typical_lengths()
  local function list_lengths(curriculum, loops)
    local file = support.write("estimate/typical.lua", ([[
return { title = "p", base = { task = { kind = "even_pairs" }, model = { use = "small_encoder"%s },
  train = { steps = 100, lengths = { 1, 40%s } }, eval = { lengths = { 41, 100 } } },
  axes = { { name = "encoding", values = { { name = "none", spec = { encoding = { kind = "none" } } } } } } }]])
      :format(loops or "", curriculum))
    local study, measured_lengths = assert(grid.expand(project, file, { out = "none" })), nil
    ledger.survey(study, "none")
    support.replace_fields({ { estimate, "run_bench", function(_, words)
      measured_lengths = table.concat(words, " "):match("%-%-lengths (%S+)")
      return {}
    end } }, function()
      estimate.format(study, { { cell = study.cells[1], dir = "none", is_fresh = true } }, { threads = 1, replicas = 1,
        device = "cpu" })
    end)
    return measured_lengths
  end
  lu.assertEquals(list_lengths(""), "22,72")
  lu.assertEquals(list_lengths(", curriculum = { { until_step = 90, max = 4 } }"), "5,72")
  lu.assertEquals(list_lengths("", ', loops = { times = "length" }'), "24")
end

-- Tasks without files are estimated by steps and by operations of the plan.
function TestEstimate.test_tasks_without_files_have_no_work_of_files()
  local study = assert(grid.expand(project, support.write("estimate/plain.lua", [[
return { title = "p", seeds = { 0, 1 }, base = { task = { kind = "even_pairs" }, model = { use = "small_encoder" } },
  axes = { { name = "width", values = { { name = 16, spec = { model = { width = 16 } } } } } } }]]), { out = "none" }))
  lu.assertNil(estimate.compute_data_work(study.cells[1]))
end

os.exit(lu.LuaUnit.run())
