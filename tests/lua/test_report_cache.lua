-- Reports are reused only if everything that they read and wrote is unchanged.

local support = dofile("tests/lua/support.lua")

local dependencies = require("lab.study.report.dependencies")
local draw = require("lab.study.report.figures.draw")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local open_study = require("lab.study.report.open_study")
local report = require("lab.study.report.report")
local reports = require("reports")
local write = require("base.write")

-- The folders of runs, one for each test.
local CASES = { "again", "same_size", "renamed", "moved", "deleted", "added", "record", "output", "version", "torn",
  "no_cache", "two", "pictures" }
local SETTLING_SECONDS = 4 -- after this time without a change, a file's times show every later change

local root       -- the folder of all cases
local read_count -- calls of open_study.open since the last report began; each call reads the runs

TestRemembered = {}

local originals = { draw = draw.run, study = open_study.open, getenv = os.getenv } -- functions that tests replace

local function get_folder(name)
  return ("%s/%s"):format(root, name)
end

local function write_runs(name)
  for seed = 1, 2 do
    reports.write_run("remembered/" .. name, "parity", seed, 0.1, { exit = 0, eval = reports.make_scored_lines(80) })
  end
end

local function get_last_run(name)
  return get_folder(name) .. "/parity/" .. reports.DIGEST .. "/lr0.1-seed2"
end

local function overwrite(path, text, mode)
  local file = assert(io.open(path, mode or "r+b"))
  assert(file:write(text))
  assert(file:close())
end

-- Writes the runs of all cases and waits until their files are old enough. The cache is a folder of the test.
local function prepare()
  root = support.write("here", ""):match("^(.*)/") .. "/remembered"
  open_study.open = function(...)
    read_count = read_count + 1
    return originals.study(...)
  end
  rawset(os, "getenv", function(name)
    return name == "LONGHAND_CACHE" and root .. "/cache" or originals.getenv(name)
  end)
  for _, name in ipairs(CASES) do
    write_runs(name)
  end
  overwrite(get_last_run("pictures") .. "/run.json", "{", "wb") -- damaged: exit code 1 with and without pictures
  support.shell("sleep " .. SETTLING_SECONDS)
end

function TestRemembered.setUp()
  if not root then
    prepare()
  end
  draw.run = function()
    return {}, {}
  end
end

-- Makes a report of a case; returns how often runs were read, the exit code, the output, and the text of runs.csv.
local function make_report(name, options)
  read_count = 0
  local code, message, output = reports.run_verb(report.run,
    lists.merge({ project = reports.project, runs = get_folder(name) }, options or {}))
  assert(code < 4, message)
  return read_count, code, output, support.read(get_folder(name) .. "/report/runs.csv")
end

-- Makes a report twice, and checks that the first report is reused. Returns its text and its runs.csv.
local function make_twice(name)
  local count, code, text, csv = make_report(name)
  lu.assertEquals({ count, code }, { 1, 0 })
  lu.assertEquals({ make_report(name) }, { 0, code, text, csv })
  return text, csv
end

-- Returns the path of a case's record in the cache.
local function find_record(name)
  local folder = root .. "/cache/reports/"
  return folder .. lists.find(write.list_names(folder), function(file)
    return support.read(folder .. file):find(get_folder(name) .. "/report/", 1, true)
  end)
end

-- Checks that the next report reads the runs again, and that its runs.csv differs from csv_before and contains `text`.
local function assert_recomputed(name, csv_before, text)
  local count, _, _, csv = make_report(name)
  lu.assertEquals(count, 1)
  lu.assertNotEquals(csv, csv_before)
  lu.assertStrContains(csv, text)
end

function TestRemembered.test_an_unchanged_report_is_reused()
  make_twice("again")
end

function TestRemembered.test_a_change_that_keeps_size_and_second_is_found()
  local _, csv = make_twice("same_size")
  local path = get_last_run("same_size") .. "/eval.jsonl"
  overwrite(path, reports.make_scored_lines(70))
  assert_recomputed("same_size", csv, ",evaluated,100,accuracy,beyond,70,")
  overwrite(path, reports.make_scored_lines(60)) -- directly after the reading: size, inode and second do not change
  assert_recomputed("same_size", csv, ",evaluated,100,accuracy,beyond,60,")
end

function TestRemembered.test_a_file_replaced_by_rename_is_found()
  local _, csv = make_twice("renamed")
  local path = get_last_run("renamed") .. "/eval.jsonl"
  local attributes = lfs.attributes(path)
  overwrite(path .. ".new", reports.make_scored_lines(70), "wb")
  assert(lfs.touch(path .. ".new", attributes.access, attributes.modification))
  assert(os.rename(path .. ".new", path))
  assert_recomputed("renamed", csv, ",evaluated,100,accuracy,beyond,70,")
end

-- A folder is renamed to the name of another folder, so the times of all files stay the same.
function TestRemembered.test_moved_folders_are_found()
  local dir, copy = get_last_run("moved"), get_folder("moved") .. "/other"
  write.make_directory(copy)
  overwrite(copy .. "/run.json", support.read(dir .. "/run.json"), "wb")
  overwrite(copy .. "/eval.jsonl", reports.make_scored_lines(70), "wb")
  support.shell("sleep " .. SETTLING_SECONDS)
  local _, csv = make_twice("moved")
  assert(os.rename(dir, dir .. ".away"))
  assert(os.rename(copy, dir))
  assert(write.remove_tree(dir .. ".away"))
  assert_recomputed("moved", csv, ",evaluated,100,accuracy,beyond,70,")
end

function TestRemembered.test_a_deleted_folder_is_found()
  local _, csv = make_twice("deleted")
  write.remove_tree(get_last_run("deleted"))
  local count, _, text, new_csv = make_report("deleted")
  lu.assertEquals(count, 1)
  lu.assertStrContains(text, "1 of 1 run has a score")
  lu.assertNotEquals(new_csv, csv)
end

function TestRemembered.test_an_added_folder_is_found()
  make_twice("added")
  reports.write_run("remembered/added", "parity", 3, 0.1, { exit = 0, eval = reports.make_scored_lines(80) })
  local count, _, text = make_report("added")
  lu.assertEquals(count, 1)
  lu.assertStrContains(text, "3 of 3 runs have a score")
end

function TestRemembered.test_a_new_record_of_a_sweep_is_found()
  make_twice("record")
  overwrite(get_folder("record") .. "/nothing.json", '{"study":"nothing","path":"nothing.lua"}', "wb")
  read_count = 0
  local code, message = report.run({ project = reports.project, runs = get_folder("record"), say = function() end })
  lu.assertEquals({ read_count, code }, { 1, 1 })
  lu.assertStrContains(message, "no such study")
end

function TestRemembered.test_changed_output_is_written_again()
  make_twice("output")
  local path = get_folder("output") .. "/report/runs.csv"
  local text = support.read(path)
  overwrite(path, "X")
  local count, _, _, csv = make_report("output")
  lu.assertEquals({ count, csv }, { 1, text })
  os.remove(get_folder("output") .. "/report/index.html")
  lu.assertEquals((make_report("output")), 1)
end

function TestRemembered.test_a_record_of_another_version_is_not_used()
  make_twice("version")
  local path = find_record("version")
  local text = support.read(path)
  overwrite(path, (text:gsub("report %d", "report 0", 1)), "wb")
  lu.assertEquals((make_report("version")), 1)
end

function TestRemembered.test_torn_records_are_not_used()
  make_twice("torn")
  local path = find_record("torn")
  for i = 0, 7 do
    local text = support.read(path)
    overwrite(path, text:sub(1, #text * i // 8), "wb")
    lu.assertEquals((make_report("torn")), 1)
  end
  lu.assertEquals((make_report("torn")), 0) -- the file is written again with the same content
  for _, changed in ipairs({ "\t", "\n", "." }) do
    local text = support.read(path)
    local position = text:find(changed, #text // 2, true)
    overwrite(path, text:sub(1, position - 1) .. "X" .. text:sub(position + 1), "wb")
    lu.assertEquals((make_report("torn")), 1)
  end
end

function TestRemembered.test_reports_without_a_cache()
  make_twice("no_cache")
  lu.assertEquals((make_report("no_cache", { no_cache = true })), 1)
  lu.assertEquals((make_report("no_cache")), 1) -- its output differs from the cached report
  lu.assertEquals((make_report("no_cache")), 0)
  write.remove_tree(root .. "/cache")
  overwrite(root .. "/cache", "a file", "wb")
  lu.assertEquals((make_report("no_cache")), 1)
  lu.assertEquals((make_report("no_cache")), 1)
  os.remove(root .. "/cache")
end

function TestRemembered.test_two_reports_at_once()
  local command = ("LONGHAND_CACHE=%s/cache lua5.4 generator/main.lua report %s"):format(root, get_folder("two"))
  support.shell(("%s >%s/one & %s >%s/other; wait"):format(command, root, command, root))
  lu.assertEquals(support.read(root .. "/one"), support.read(root .. "/other"))
  local _, _, text, csv = make_report("two")
  lu.assertStrContains(text, "2 of 2 runs have a score")
  lu.assertEquals(select(4, make_report("two", { no_cache = true })), csv)
end

function TestRemembered.test_a_report_without_pictures_is_not_reused()
  draw.run = function()
    return nil, "gnuplot is not installed"
  end
  lu.assertEquals({ (make_report("pictures")), (make_report("pictures")) }, { 1, 1 })
  TestRemembered.setUp()
  lu.assertEquals((make_report("pictures")), 1)
  lu.assertEquals((make_report("pictures")), 0)
end

-- A file that was written a moment ago may change again while its times stay the same.
function TestRemembered.test_young_files_are_not_trusted()
  write_runs("young")
  lu.assertEquals((make_report("young")), 1)
  lu.assertEquals((make_report("young")), 1)
end

function TestRemembered.test_read_files_and_folders_are_observed()
  local path = support.write("seen/file", "text")
  local folder = path:match("^(.*)/")
  local observed, result = dependencies.observe(function()
    lfs.attributes(folder .. "/nothing", "mode")
    for _ in lfs.dir(folder) do -- luacheck: ignore
    end
    io.open(folder .. "/made", "wb"):close()
    return (support.read(path))
  end)
  lu.assertEquals(result, "text")
  lu.assertEquals(observed[folder .. "/nothing"], "absent")
  lu.assertEquals(observed[folder], "names/./../file")
  lu.assertNil(observed[folder .. "/made"])
  lu.assertFalse(dependencies.are_unchanged(observed))
  os.remove(folder .. "/made")
  lu.assertTrue(dependencies.are_unchanged(observed))
  lu.assertFalse(dependencies.are_settled(observed, os.time()))
  lu.assertTrue(dependencies.are_settled(observed, os.time() + 9))
  lu.assertErrorMsgContains("on purpose", dependencies.observe, function()
    error("on purpose", 0)
  end)
  lu.assertNil(dependencies.observe(function() end)[path])
end

-- The last test: luaunit runs tests in alphabetical order.
function TestRemembered.test_zz_restores_replaced_functions()
  draw.run, open_study.open = originals.draw, originals.study
  rawset(os, "getenv", originals.getenv)
end

support.run()
