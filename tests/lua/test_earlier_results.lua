-- A sweep writes a snapshot of its study. These tests report results after the study, its spec or its files have
-- changed since then.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local cells = require("lab.study.read.cells")
local earlier_results = require("lab.study.read.earlier_results")
local grid = require("lab.study.grid.grid")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local open_study = require("lab.study.report.open_study")
local project = require("project").new(".")
local reports = require("reports")
local overview = require("lab.study.run.overview")
local snapshots = require("lab.study.read.snapshots")
local versions = require("lab.study.read.versions")
local write = require("base.write")

local SAMPLER = support.read("examples/own_task/first_repeat.c")

local STUDY = [[
return { title = "p", seeds = { 0, 1 }, base = { task = %s, model = { use = "small_encoder", layers = %d },
  encoding = { kind = "none" }, train = { batch = 4, steps = %d, lengths = { 1, 10 }, learning_rate = 0.1, %s },
  eval = { lengths = { list = { 5, 20, 30 } }, examples = 50 } },
  axes = { { name = "%s", values = { %s } } } }]]
local NARROW = "{ name = 16, spec = { model = { width = 16 } } }"
local WIDTHS = NARROW .. ", { name = 32, spec = { model = { width = 32 } } }"

-- Writes STUDY and expands it, with its snapshot. options: { task, layers, steps, train, axis, values }, texts and
-- numbers of the study. Returns the study and the folder of its runs.
local function expand(options)
  options = options or {}
  local path = support.write("swept/study.lua", STUDY:format(options.task or '{ kind = "bucket_sort" }',
    options.layers or 1, options.steps or 100, options.train or "", options.axis or "width", options.values or WIDTHS))
  local root = path:match("^(.*)/") .. "/runs"
  local study = assert(grid.expand(project, path, { out = root }))
  study.snapshot = snapshots.read(root, study.name, study.scale)
  return study, root
end

-- Writes finished runs of a cell. percent: the score of the first run; the score of each next run is one
-- larger. facts: further fields of run.json.
local function write_runs(cell, percent, facts)
  for i, run in ipairs(cell.runs) do
    reports.write_run("swept/runs", cell.id, run.seed, run.learning_rate, { exit = 0, digest = cell.spec.plan.digest,
      facts = lists.merge({ spec = cell.spec.resolved, started = "2026-01-01T00:00:00Z" }, facts or {}),
      eval = reports.make_scored_lines(percent + i - 1) })
  end
end

-- Simulates a sweep: writes a snapshot and runs of a study; the first run of cell i has the score percent + 10 i.
local function sweep(study, root, percent, facts)
  assert(overview.write_snapshot(root, study))
  for i, cell in ipairs(study.cells) do
    write_runs(cell, percent + 10 * i, facts)
  end
end

-- Formats each cell as "id: scores; changes", where changes describes the earlier version of the shown runs.
local function list_cells(study)
  return lists.map(study.cells, function(cell)
    local scores = lists.map(cell.runs, function(run)
      return run.score and ("%.0f"):format(run.score) or run.state
    end)
    return ("%s: %s%s"):format(cell.id, table.concat(scores, " "), cell.changes and "; " .. cell.changes or "")
  end)
end

TestSnapshots = { tearDown = support.clean }

function TestSnapshots.test_snapshots_record_the_sweep()
  support.write("swept/mine.c", (SAMPLER:gsub("first_repeat", "mine")))
  local study, root = expand({ task = '{ source = "mine.c" }' })
  assert(overview.write_snapshot(root, study))
  local stored = snapshots.read(root, "study")
  lu.assertEquals({ stored.title, #stored.cells, stored.cells[2].id, stored.cells[2].key, stored.axes[1].values },
    { "p", 2, "width_32", { width = "32" }, { "16", "32" } })
  lu.assertEquals(canonical.format(stored.cells[1].spec), canonical.format(study.cells[1].spec.resolved))
  local file = stored.cells[1].files["task.source"]
  lu.assertEquals({ file.name, support.read(("%s/.studies/sources/%s.c"):format(root, file.digest)) },
    { "mine.c", (SAMPLER:gsub("first_repeat", "mine")) })
end

-- A snapshot that is written again does not change; cells of another plan are added to the earlier cells.
function TestSnapshots.test_snapshots_keep_earlier_cells()
  local study, root = expand()
  assert(overview.write_snapshot(root, study))
  local snapshot = support.read(root .. "/.studies/study.json")
  assert(overview.write_snapshot(root, study))
  lu.assertEquals(support.read(root .. "/.studies/study.json"), snapshot)
  local changed_study = expand({ layers = 2 })
  table.remove(changed_study.cells)
  assert(overview.write_snapshot(root, changed_study))
  local ids = lists.map(snapshots.read(root, "study").cells, function(entry)
    return entry.id .. " " .. entry.spec.model.layers
  end)
  lu.assertEquals(ids, { "width_16 1", "width_32 1", "width_16 2" })
end

function TestSnapshots.test_snapshots_are_untrusted_input()
  local study, root = expand()
  assert(overview.write_snapshot(root, study))
  local path = root .. "/.studies/study.json"
  local text = support.read(path)
  for expected, new_text in pairs({ ["cells[1].digest: found \"x\""] = text:gsub('"digest":"%x+"', '"digest":"x"', 1),
    ["cells: found nothing"] = '{"study":"s","path":"p","title":"t","axes":[]}',
    ["found no JSON"] = text:sub(1, -5), ["cells[1].spec.model.layers: found \"many\""] = text:gsub('"layers":1',
    '"layers":"many"', 1), ["cells[1].id"] = text:gsub('"id":"width_16","key"', '"id":"../../x","key"', 1) }) do
    support.write("swept/runs/.studies/study.json", new_text)
    local stored, problem = snapshots.read(root, "study")
    lu.assertNil(stored)
    lu.assertStrContains(problem, expected)
  end
  support.write("swept/runs/.studies/study.json", "[" .. ("["):rep(200000))
  lu.assertNil(snapshots.read(root, "study"))
end

TestEarlier = { tearDown = support.clean }

function TestEarlier.test_runs_of_another_plan_are_shown_and_marked()
  local study, root = expand()
  sweep(study, root, 40)
  lu.assertEquals(list_cells(cells.read_study(study, root)), { "width_16: 50 51", "width_32: 60 61" })
  local new_study = cells.read_study(expand({ layers = 2 }), root)
  lu.assertEquals(list_cells(new_study), { "width_16: 50 51; model.layers was 1 and is 2 now",
    "width_32: 60 61; model.layers was 1 and is 2 now" })
  lu.assertStrContains(open_study.list_remarks(new_study)[1],
    "2 of 2 cells show runs of an earlier version, which a sweep would train")
end

-- A cell never has runs of two plans: if a run of the current plan is evaluated, others are left out, with a message.
function TestEarlier.test_versions_are_not_mixed()
  local study, root = expand()
  sweep(study, root, 40)
  local changed_study = expand({ layers = 2 })
  table.remove(changed_study.cells[1].runs)
  write_runs(changed_study.cells[1], 90)
  local new_study = cells.read_study(expand({ layers = 2 }), root)
  lu.assertEquals(list_cells(new_study), { "width_16: 90 missing", "width_32: 60 61; model.layers was 1 and is 2 now" })
  lu.assertEquals(new_study.left_out, { ("2 runs of an earlier version of width_16 (width_16/%s): model.layers was 1 "
    .. "and is 2 now"):format(study.cells[1].spec.plan.digest) })
  lu.assertEquals(open_study.list_remarks(new_study)[2], "Left out: " .. new_study.left_out[1] .. ".")
end

function TestEarlier.test_the_newest_of_several_plans_is_shown()
  local study, root = expand()
  sweep(study, root, 40)
  local later_study = expand({ layers = 2 })
  sweep(later_study, root, 60, { started = "2026-02-01T00:00:00Z" })
  lu.assertEquals(list_cells(cells.read_study(expand({ layers = 3 }), root)), {
    "width_16: 70 71; model.layers was 2 and is 3 now", "width_32: 80 81; model.layers was 2 and is 3 now" })
end

function TestEarlier.test_a_new_comment_in_a_sampler_is_reported_as_a_change()
  support.write("swept/mine.c", (SAMPLER:gsub("first_repeat", "mine")))
  local own_task = { task = '{ source = "mine.c" }' }
  local study, root = expand(own_task)
  sweep(study, root, 40)
  support.write("swept/mine.c", (SAMPLER:gsub("first_repeat", "mine")) .. "/* A remark. */\n")
  local texts = list_cells(cells.read_study(expand(own_task), root))
  lu.assertStrMatches(texts[1],
    "width_16: 50 51; task.source: mine.c had other bytes %(.studies/sources/%x+%.c, now %x+%.%.%.%)")
  write.remove_tree(root .. "/.studies")
  lu.assertEquals(list_cells(cells.read_study(expand(own_task), root))[1],
    "width_16: 50 51; task.source: mine.c had other bytes, "
    .. "or Longhand was another version")
end

-- The number of steps is part of the plan only if the learning rate decreases until the last step.
function TestEarlier.test_a_schedule_depends_on_the_last_step()
  local linear = 'schedule = { kind = "linear" }'
  local study, root = expand({ train = linear })
  sweep(study, root, 40)
  local texts = list_cells(cells.read_study(expand({ train = linear, steps = 200 }), root))
  lu.assertEquals(texts[1], "width_16: 50 51; train.steps "
    .. "was 100 and is 200 now (the learning rate falls until the last step)")
  write.remove_tree(root)
  study = expand()
  sweep(study, root, 40)
  lu.assertEquals(list_cells(cells.read_study(expand({ steps = 200 }), root))[1], "width_16: 50 51")
end

-- Without a snapshot, `source` in run.json shows whether a run belongs to this study: cells of other studies may have
-- the same name.
function TestEarlier.test_runs_without_a_snapshot()
  local study, root = expand()
  sweep(study, root, 40)
  write.remove_tree(root .. "/.studies")
  lu.assertEquals(list_cells(cells.read_study(expand({ layers = 2 }), root))[1],
    "width_16: 50 51; model.layers was 1 and is 2 now")
  for _, source in ipairs({ "other.lua:width_16", "study.lua:small:width_16", "mystudy.lua:width_16", "width_16" }) do
    write_runs(study.cells[1], 50, { spec = lists.merge(study.cells[1].spec.resolved, { source = source }) })
    lu.assertEquals(list_cells(cells.read_study(expand({ layers = 2 }), root))[1], "width_16: missing missing", source)
  end
end

function TestEarlier.test_cells_that_left_the_study()
  local study, root = expand()
  sweep(study, root, 40)
  local new_study = cells.read_study(expand({ values = NARROW }), root)
  lu.assertEquals(list_cells(new_study), { "width_16: 50 51", "width_32: 60 61; the study has no such cell now" })
  lu.assertEquals(new_study.axes, { { name = "width", values = { "16", "32" } } })
end

TestOpen = { tearDown = support.clean }

-- Opens a folder in which the study at a path was swept, as the verbs do. study_option: the value of --study, or nil.
local function open_folder(root, path, study_option)
  support.write("swept/runs/study.json", canonical.format({ study = "study", path = path }))
  return open_study.open({ project = project, runs = root, study = study_option }, "")
end

function TestOpen.test_a_study_that_cannot_be_read()
  local study, root = expand()
  sweep(study, root, 40)
  support.write("swept/study.lua", "return {")
  local new_study = assert(open_folder(root, study.path))
  lu.assertEquals(list_cells(new_study), { "width_16: 50 51", "width_32: 60 61" })
  lu.assertStrContains(new_study.remarks[1], "study.lua cannot be read now: ")
  os.remove(study.path)
  new_study = assert(open_folder(root, study.path, "study"))
  lu.assertEquals({ list_cells(new_study)[2], new_study.title }, { "width_32: 60 61", "p" })
  write.remove_tree(root .. "/.studies")
  new_study = assert(open_folder(root, study.path))
  lu.assertEquals({ new_study.is_from_folder, list_cells(new_study)[1], #new_study.problems },
    { true, "width_16: 50 51", 1 })
  local folder, message = open_folder(root, study.path, study.path)
  lu.assertNil(folder)
  lu.assertStrContains(message, "no such study")
end

-- If the study has other axes now, the report shows the axes and cells that were swept.
function TestOpen.test_other_axes()
  local study, root = expand()
  sweep(study, root, 40)
  expand({ axis = "size" })
  local new_study = assert(open_folder(root, study.path))
  lu.assertEquals({ list_cells(new_study)[1], new_study.axes[1].name }, { "width_16: 50 51", "width" })
  lu.assertEquals(new_study.remarks,
    { "no run belongs to a cell of the study as it is now; this report shows the study as it was swept" })
end

-- A study that scores a part of the test keeps that part when it is read from its snapshot; unknown sets are dropped.
function TestOpen.test_snapshot_keeps_the_scored_set()
  for split, expected in pairs({ beyond = "beyond", validation = "validation", other = false }) do
    local study = earlier_results.restore({ axes = {}, scored = { split = split } }, "s")
    lu.assertEquals((study.scored or { split = false }).split, expected)
  end
end

-- A snapshot has the criterion of the study's file, or the study's default; an invalid criterion is dropped.
function TestOpen.test_snapshot_keeps_the_criterion()
  local study, root = expand()
  local function restore(scored, report)
    study.scored, study.report = scored, report
    assert(overview.write_snapshot(root, study))
    return earlier_results.restore(snapshots.read(root, "study"), "study").scored.generalises
  end
  local criterion = { metric = "accuracy_teacher_forced", above = 42.5 }
  lu.assertEquals(restore({ split = "test", generalises = criterion }), criterion)
  lu.assertEquals(restore(nil, { { kind = "table", published = "p" } }), { metric = "accuracy", above = 90 })
  for _, value in ipairs({ 3, { above = 90 }, { metric = "loss", above = 90 }, { metric = "accuracy", above = "9" },
    { metric = "accuracy", above = 0.9 } }) do
    lu.assertNil(restore({ split = "test", generalises = value }))
  end
end

-- Runs of one plan on two training files are two cells.
function TestOpen.test_folders_by_data()
  for i, digits in ipairs({ "0123abcd", "89abcdef" }) do
    local dir = reports.write_run("data", "a_task", 0, 0.1,
      { exit = 0, eval = reports.make_scored_lines(40 + i), facts = {
      data = { train_sha256 = digits .. "00" } } })
    assert(os.rename(dir, dir .. "-data" .. digits))
    lu.assertEquals(lfs.attributes(dir, "mode"), nil)
  end
  local root = support.write("data/here", ""):match("^(.*)/")
  local study = cells.read_folder(root)
  lu.assertEquals({ list_cells(study), study.cells[1].key.encoding, study.cells[2].key.encoding }, { { "a_task: 41",
    "a_task: 42" }, "a_task (data 0123abcd)", "a_task (data 89abcdef)" })
  lu.assertEquals(versions.find(root, { name = "s" }, { id = "nothing" }), {})
end

support.run()
