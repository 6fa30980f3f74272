-- The verb runs: the list, its conditions, one run in full, removed and renamed runs.

local support = dofile("tests/lua/support.lua")

local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local reports = require("reports")
local rows = require("lab.runs.rows")
local run_files = require("lab.study.read.run_files")
local verb = require("lab.runs.runs")
local where = require("lab.runs.where")
local write = require("base.write")

TestRuns = { tearDown = support.clean }

local root

-- Writes three runs: an evaluated run and an unfinished run of one spec, and an evaluated run of another spec.
function TestRuns.setUp()
  local facts = { step = 100, parameters = 1234, started = "2026-11-27T08:00:00Z" }
  local dir = reports.write_run("list", "bucket_sort_rope", 0, 0.1, { exit = 0, eval = reports.make_scored_lines(60),
    facts = facts })
  reports.write_run("list", "bucket_sort_rope", 1, 0.1, { facts = { step = 40 } })
  reports.write_run("list", "bucket_sort_none", 0, 0.5,
    { exit = 0, eval = reports.make_scored_lines(30), facts = facts })
  root = dir:match("^(.*)/bucket_sort_rope/")
end

-- Runs the verb; returns the exit code, the message and the printed lines.
local function run(action, paths, options)
  local lines = {}
  local code, message = verb.run(lists.merge({ action = action, paths = paths,
    say = function(line) lines[#lines + 1] = assert(line) end }, options or {}))
  return code, message, table.concat(lines, "\n")
end

-- Returns the encodings and seeds of the runs that a condition selects, as one text, or the message of an error.
local function select_runs(text)
  local list, message = where.select(rows.read(root).rows, text)
  if not list then
    return message
  end
  return table.concat(lists.map(list, function(row) return row.encoding .. row.seed end), " ")
end

function TestRuns.test_list_has_a_line_for_each_run()
  local code, message, text = run("list", { root })
  lu.assertEquals({ code, message }, { 0 })
  lu.assertStrMatches(text:match("[^\n]+"), "task +encoding +layers x width +seed +steps +score +state +started +size"
    .. " +run")
  lu.assertStrContains(text, "bucket_sort  none              2 x 16     0    100  accuracy 30%  evaluated   "
    .. "2026-11-27 08:00")
  lu.assertStrContains(text, "     40  -             unfinished  -  ")
  lu.assertStrMatches(text:match("[^\n]+$"), "3 runs, .* kB")
end

-- A run's metric depends on its own model, whatever other runs the folder has.
function TestRuns.test_metric_of_each_run()
  local spec = reports.make_spec("bucket_sort")
  spec.model = { kind = "decoder" }
  reports.write_run("list", "bucket_sort_decoder", 0, 0.1, { exit = 0, eval = reports.make_scored_lines(60),
    facts = { step = 100, spec = spec } })
  local scores = {}
  for _, row in ipairs(rows.read(root).rows) do
    scores[row.path:match("bucket_sort_%w+/[^/]+/(.*)") .. " " .. row.encoding] = row.score and { row.metric,
      row.score }
  end
  lu.assertEquals(scores, { ["lr0.1-seed0 rope"] = { "accuracy", 60 }, ["lr0.5-seed0 none"] = { "accuracy", 30 },
    ["lr0.1-seed0 decoder"] = { "exact_match", 25 } })
  for _, row in ipairs(rows.read(root, "loss").rows) do
    lu.assertEquals(row.metric, row.score and "loss")
  end
end

-- An evaluation of further lengths changes neither the score nor the score of the best checkpoint.
function TestRuns.test_score_is_that_of_the_lengths_of_the_spec()
  local further_lines = reports.make_eval_line(100, "beyond", 40, 0.2) .. reports.make_eval_line(100, "beyond", 60, 0)
  local facts = { step = 100, best = { step = 100, metric = "accuracy", score = 0.6 } }
  for seed, lines in pairs({ [7] = "", [8] = further_lines }) do
    reports.write_run("list", "bucket_sort_rope", seed, 0.1, { exit = 0, facts = facts,
      eval = reports.make_scored_lines(60) .. lines })
  end
  reports.write_run("list", "bucket_sort_rope", 9, 0.1, { exit = 0, eval = further_lines, facts = { step = 100 } })
  local scores = {}
  for _, row in ipairs(rows.read(root .. "/bucket_sort_rope").rows) do
    scores[row.seed] = row.score and { row.score, row.best_score }
  end
  lu.assertEquals({ scores[7], scores[8], scores[9] }, { { 60, 60 }, { 60, 60 }, { 10 } })
end

-- A folder within the folder of runs selects the runs that it contains.
function TestRuns.test_parts_of_a_folder()
  local _, _, text = run("list", { root .. "/bucket_sort_rope" })
  lu.assertStrContains(text, "2 runs")
  _, _, text = run("list", { root .. "/bucket_sort_rope", root .. "/bucket_sort_none", root })
  lu.assertStrContains(text, "3 runs")
end

-- Paths of folders may be relative to a working folder inside the folder of runs.
function TestRuns.test_relative_folders()
  local working_folder = lfs.currentdir()
  assert(lfs.chdir(root .. "/bucket_sort_rope"))
  local found = assert(rows.read("."))
  local found_run = assert(rows.read(reports.DIGEST .. "/lr0.1-seed0"))
  assert(lfs.chdir(working_folder))
  lu.assertEquals({ #found.rows, #found_run.rows, found_run.rows[1].seed }, { 2, 1, 0 })
end

function TestRuns.test_where_selects_runs()
  lu.assertEquals(select_runs(nil), "none0 rope0 rope1")
  lu.assertEquals(select_runs("encoding=rope"), "rope0 rope1")
  lu.assertEquals(select_runs("encoding=ro*,steps>=100"), "rope0")
  lu.assertEquals(select_runs("score > 29.9 , score<31"), "none0")
  lu.assertEquals(select_runs("score!=30"), "rope0 rope1")
  lu.assertEquals(select_runs("started>=2026-11-27"), "none0 rope0")
  lu.assertEquals(select_runs("started<2026-11-27"), "")
  lu.assertEquals(select_runs("train.batch=8,learning_rate<0.2"), "rope0 rope1")
  lu.assertEquals(select_runs("encoding=r.pe"), "")
end

function TestRuns.test_bad_conditions()
  lu.assertStrContains(select_runs("encodng=rope"), "--where encodng: runs have no such field; did you mean encoding?")
  lu.assertStrContains(select_runs("steps>many"), 'found "many"; expected a number')
  lu.assertStrContains(select_runs("encoding"), "expected FIELD=VALUE")
  lu.assertStrContains(select_runs("steps==3"), "expected FIELD=VALUE")
  lu.assertEquals(run("list", { root }, { where = "steps>x" }), 2)
end

function TestRuns.test_show_describes_one_run()
  local dir = root .. "/bucket_sort_rope/" .. reports.DIGEST .. "/lr0.1-seed0"
  local code, _, text = run("show", { dir })
  lu.assertEquals(code, 0)
  lu.assertStrContains(text, "parameters     1234")
  lu.assertStrContains(text, "beyond           lengths 20 to 30, step 100: exact match 25%, accuracy 60%, loss 0.5")
  lu.assertStrContains(select(2, run("show", { root })), "contains 3 runs")
  assert(write.file(dir .. "/run.json", "{"))
  code, _, text = run("show", { dir })
  lu.assertEquals(code, 1)
  lu.assertStrContains(text, "damaged")
end

function TestRuns.test_removed_runs_leave_no_empty_folders()
  local plan = root .. "/bucket_sort_rope/" .. reports.DIGEST
  local code, _, text = run("remove", { root }, { where = "seed=1", yes = true })
  lu.assertEquals({ code, text:match("[^\n]+$") }, { 0, "removed 1 run, " .. text:match("removed 1 run, (.*)$") })
  lu.assertEquals(write.list_names(plan), { "lr0.1-seed0" })
  lu.assertEquals(run("remove", { plan }, { yes = true }), 0)
  lu.assertEquals(write.list_names(root), { "bucket_sort_none" })
end

function TestRuns.test_a_run_with_a_locked_folder_is_not_removed()
  local row = rows.read(root).rows[1]
  row.state = "running"
  local succeeded, message = require("lab.runs.alter").remove(root, { row })
  lu.assertNil(succeeded)
  lu.assertStrContains(message, "a trainer is running in this folder")
  lu.assertEquals(lfs.attributes(row.path, "mode"), "directory")
end

-- Nothing is deleted through a link: the files to which the link leads are kept.
function TestRuns.test_links_are_refused()
  local outside = root .. "-outside"
  assert(os.rename(root .. "/bucket_sort_none", outside))
  assert(lfs.link(outside, root .. "/bucket_sort_none", true))
  local code, message = run("remove", { root }, { where = "encoding=none", yes = true })
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "found a link")
  lu.assertEquals(write.list_names(outside .. "/" .. reports.DIGEST), { "lr0.5-seed0" })
end

-- Rewrites the run.json of the run with this id as trainers write the file, with the id as its first field.
local function write_facts(id)
  local path = ("%s/%s/%s/lr0.5-seed0/run.json"):format(root, id, reports.DIGEST)
  local text = write.read(path):gsub('"id":"[^"]*",?', ""):gsub(",}", "}")
  text = text:gsub('"spec":{', ('"spec":{"id":"%s",'):format(id), 1)
  assert(write.file(path, ('{"id":"%s",'):format(id) .. text:sub(2)))
end

function TestRuns.test_rename_moves_the_folder_and_its_facts()
  write_facts("bucket_sort_none")
  local code, message = run("rename", { root .. "/bucket_sort_none" }, { name = "bucket_sort_plain" })
  lu.assertEquals({ code, message }, { 0 })
  local dir = ("%s/bucket_sort_plain/%s/lr0.5-seed0"):format(root, reports.DIGEST)
  local facts = assert(run_files.read_facts(dir, run_files.split_path(dir)))
  lu.assertEquals({ facts.id, facts.spec.id }, { "bucket_sort_plain", "bucket_sort_plain" })
  lu.assertEquals(select_runs("id=bucket_sort_plain"), "plain0")
end

function TestRuns.test_names_that_are_refused()
  local none_folder, rope_folder = root .. "/bucket_sort_none", root .. "/bucket_sort_rope"
  local function refuse(path, name, text)
    local code, message = run("rename", { path }, { name = name })
    lu.assertEquals(code, 1)
    lu.assertStrContains(message, text)
    lu.assertEquals(write.list_names(root), { "bucket_sort_none", "bucket_sort_rope" })
  end
  refuse(none_folder, "bucket_sort_rope", "there is an entry of this name already")
  refuse(none_folder, "No", "a letter a-z")
  refuse(rope_folder .. "/" .. reports.DIGEST, "other", "all runs of a spec have one name")
  local path = ("%s/%s/lr0.1-seed0/run.json"):format(rope_folder, reports.DIGEST)
  assert(write.file(path, "\n" .. write.read(path)))
  refuse(rope_folder, "other", "expected a file as trainers write it")
end

support.run()
