-- The reader of run folders: damaged files, and paths that are not files.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local compare = require("lab.study.report.compare")
local draw = require("lab.study.report.figures.draw")
local json = require("dkjson")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local report = require("lab.study.report.report")
local reports = require("reports")
local spec_writer = require("lab.study.read.spec_writer")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")
local stop = require("lab.stop")
local trained_run = require("lab.study.read.trained_run")
local write = require("base.write")

local make_eval_line, write_run, make_scored_lines, DIGEST = reports.make_eval_line, reports.write_run,
  reports.make_scored_lines, reports.DIGEST

-- Reports are written without pictures, whether gnuplot is installed or not.
function draw.run()
  return nil, "no pictures"
end

-- Writes and reads a run. facts, spec: changed fields of run.json and of its spec.
local function read_changed(facts, spec)
  local run_facts = facts or {}
  run_facts.spec = lists.merge(reports.make_spec("bucket_sort"), spec or {})
  return runs.read(write_run("damaged", "rr", 1, 0.1, { exit = 0, eval = make_scored_lines(50), facts = run_facts }))
end

-- Checks that a run has no values, and one note with this text.
local function assert_damaged(run, words)
  lu.assertEquals({ run.state, run.facts, run.test, run.notes }, { "damaged", {}, nil, { run.damaged } }, words)
  lu.assertStrContains(run.notes[1], words)
end

TestDamage = { tearDown = support.clean }

function TestDamage.test_fields_of_run_json()
  for words, facts in pairs({
    ["id: found \"../../x\"; expected a letter a-z, then"] = { id = "../../x" },
    ["id: found an object; expected a letter"] = { id = json.decode("{}") },
    ["digest: found \"0123\"; expected 16 hexadecimal digits"] = { digest = "0123" },
    ["seed: found 1e20; expected an integer from 0"] = { seed = 1e20 },
    ["seed: found -1; expected an integer from 0"] = { seed = -1 },
    ["learning_rate: found \"fast\"; expected a number from 0 to 1000000"] = { learning_rate = "fast" },
    ["compiler: found 12; expected a text of at most 16384 bytes"] = { compiler = 12 },
    ["flags[1]: found a list; expected a text"] = { flags = { { "x" } } },
    ["flags: found an object; expected a list"] = { flags = { a = 1 } }, ["machine: "] = { machine = ("m"):rep(2e4) },
    ["seen[1]: found a list; expected a list of 4, each an integer from 0"] = { seen = { {}, { 5, 1, 2, 3 } } },
    ["exit: found 300; expected an integer from 0 to 255"] = { exit = 300 },
    ["train_seconds: found -2; expected a number from 0"] = { train_seconds = -2 },
    ["a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a: found deeper nesting; expected at most 16 levels"] = { a =
      json.decode(('{"a":'):rep(20) .. "1" .. ("}"):rep(20)) },
  }) do
    assert_damaged(read_changed(facts), "run.json: " .. words)
  end
end

function TestDamage.test_fields_of_the_spec()
  local list = { 1, 2, 3, { 4 }, 5, 6, 7, 8, 9, 10 }
  for words, spec in pairs({
    ['task.kind: found "a\\10!touch FILE\\10#"; expected a word'] = { task = { kind = "a\n!touch FILE\n#" } },
    ["task: found 3; expected an object"] = { task = 3 },
    ["train.lengths.last: found 9000000000000000; expected an integer from 1 to 100000"] = { train = {
      lengths = { first = 1, last = 9e15 } } },
    ["train.lengths.step: found 0; expected an integer from 1"] = { train = { lengths = { first = 1, last = 9,
      step = 0 } } },
    ["train.lengths: found another form; expected first and last, or a list"] = { train = { lengths = { first = 1 } } },
    ["train.lengths.last: found 2; expected at least 3, the value of first"] = { train = { lengths = {
      first = 3, last = 2 } } },
    ["eval.lengths.list[4]: found a list; expected an integer"] = { eval = { lengths = { list = list } } },
    ["eval.lengths.list[2]: found 2; expected more than 5"] = { eval = { lengths = { list = { 5, 2 } } } },
    ["model.layers: found 0.5; expected an integer from 1 to 64"] = { model = { layers = 0.5 } },
    ["model.layers: found 9e99; expected"] = { model = { layers = 9e99 } },
    ["encoding.parameters: found the field"] = { encoding = { parameters = { ["a = 1, b"] = { per = "head" } } } },
    ["encoding.parameters.a.init.sigma: found 0; expected a number above 0"] = { encoding = { parameters = { a = {
      per = "head", init = { kind = "normal", sigma = 0 } } } } },
  }) do
    assert_damaged(read_changed(nil, spec), "run.json: spec." .. words)
  end
end

function TestDamage.test_run_json_as_a_whole()
  for text, words in pairs({
    [""] = "found nothing; expected JSON", ["{"] = "found no JSON; expected JSON",
    ["[]"] = "found a list; expected an object", ["null"] = "found null; expected an object",
    ["{} x"] = "found no JSON", ["{}"] = "id: found nothing",
    [("["):rep(3000000)] = "found JSON too deep to be read; expected JSON", ["{1:2}"] = "found an object",
    ['/* "spec":' .. json.encode(reports.make_spec("bucket_sort")) .. ' */ null'] = "found null; expected an object",
    [("x"):rep((4 << 20) + 1)] = "found 4194305 bytes; expected at most 4194304",
  }) do
    local path = support.write("whole/run.json", text)
    assert_damaged(runs.read(path:match("^(.*)/")), "run.json: " .. words)
  end
end

function TestDamage.test_messages_name_the_damaged_line()
  local valid = make_eval_line(100, "beyond", 20, 0.5)
  for words, line in pairs({
    ["line 2: found no JSON; expected JSON"] = "rubbish\n",
    ["line 2: accuracy: found 1.5; expected a number from 0 to 1"] = make_eval_line(100, "beyond", 30, 1.5),
    ["line 2: step: found 1e20; expected an integer from 0"] = valid:gsub("100", "100000000000000000000"),
    ["line 2: by.length: found 0; expected an integer from 1 to 1000000"] = make_eval_line(100, "beyond", 0, 0.5),
    ["line 2: by.length: found 9000000000000000; expected"] = make_eval_line(100, "beyond", 9000000000000000, 0.5),
    ['line 2: by.n: found "2"; expected a number from 0'] = valid:gsub('"length":20', '"length":20,"n":"2"'),
    ["line 2: by.n: found -1; expected a number from 0"] = valid:gsub('"length":20', '"n":-1'),
    ['line 2: split: found "tost"; expected during, validation, in_distribution,'] = valid:gsub('"beyond"', '"tost"'),
    ["line 2: draws: found nothing; expected an integer"] = valid:gsub('"draws":1,', ""),
    ["line 2: found a list; expected an object"] = "[1]\n",
    ["line 2: found more than 1048576 bytes; expected at most 1048576"] = (" "):rep(1048577) .. "\n",
  }) do
    local run = runs.read(write_run("lines", "rr", 1, 0.1, { exit = 0, eval = valid .. line .. valid }))
    assert_damaged(run, "eval.jsonl: " .. words)
  end
  local run = runs.read(write_run("lines", "rr", 1, 0.1, { exit = 0, eval = valid,
    metrics = '{"step":1,"loss":1}\n{"step":2,"loss":{"a":1}}\n{"step":3,"loss":1}\n' }))
  lu.assertEquals({ run.state, run.damaged }, { "evaluated", nil })
  lu.assertEquals(runs.read_metrics(run), {})
  lu.assertEquals(run.notes, { "metrics.jsonl: line 2: loss: found an object; expected a number that is finite" })
  lu.assertEquals(run.damaged, run.notes[1])
end

-- `trainer eval` accepts lengths beyond the limit of specs.
function TestDamage.test_a_very_long_length_is_no_damage()
  local run = runs.read(write_run("far", "rr", 1, 0.1,
    { exit = 0, eval = make_eval_line(100, "beyond", 1000000, 0.5) }))
  lu.assertEquals({ run.test.lengths, run.notes }, { { 1000000 }, {} })
end

function TestDamage.test_many_descending_lengths_are_read_in_linear_time()
  local lines = {}
  for n = 20010, 11, -1 do
    lines[#lines + 1] = make_eval_line(100, "beyond", n, 0.5)
  end
  local began = os.clock()
  local run = runs.read(write_run("many", "rr", 1, 0.1, { exit = 0, eval = table.concat(lines) }))
  lu.assertEquals({ #run.test.lengths, run.test.lengths[1], run.test.lengths[20000] }, { 20000, 11, 20010 })
  lu.assertTrue(os.clock() - began < 2)
end

-- Files of any size are read in pieces; this one is a sparse file of 255 MiB of zeros.
function TestDamage.test_a_large_file_takes_little_memory()
  local dir = write_run("large", "rr", 1, 0.1, { exit = 0, eval = make_eval_line(100, "beyond", 11, 0.5) })
  local file = assert(io.open(dir .. "/eval.jsonl", "r+b"))
  file:seek("set", 255 << 20)
  file:write("\n")
  file:close()
  collectgarbage()
  collectgarbage("stop")
  local memory_before = collectgarbage("count")
  local run = runs.read(dir)
  local memory = collectgarbage("count") - memory_before
  collectgarbage("restart")
  assert_damaged(run, "eval.jsonl: line 2: found more than 1048576 bytes; expected at most 1048576")
  lu.assertTrue(memory < 16384) -- KiB
end

-- Lines of many lengths cross the ends of the pieces in which a file is read.
function TestDamage.test_lines_across_pieces()
  local lines, line_count = {}, 0
  for i = 1, 3000 do
    lines[i] = make_eval_line(i, "during", 11 + i % 7, 0.5):gsub("\n", (" "):rep(i % 97) .. "\n")
  end
  local dir = write_run("blocks", "rr", 1, 0.1, { exit = 0, eval = table.concat(lines) .. '{"step":4' })
  local notes = {}
  lu.assertNil(run_files.read_evaluations(dir, notes, function(row)
    line_count = line_count + 1
    lu.assertEquals(row.step, line_count)
  end))
  lu.assertEquals({ line_count, notes }, { 3000, { "eval.jsonl: line 3001 is torn, skipped" } })
end

-- Finding the last newline of a file takes linear time, however long the line before it is.
function TestDamage.test_a_long_line_is_read_in_linear_time()
  local began = os.clock()
  local run = runs.read(write_run("long", "rr", 1, 0.1, { exit = 0, eval = (" "):rep(2 << 20) .. "\n{" }))
  assert_damaged(run, "eval.jsonl: line 1: found more than 1048576 bytes; expected at most 1048576")
  lu.assertTrue(os.clock() - began < 2)
end

function TestDamage.test_a_loss_that_is_not_a_number_is_no_damage()
  local run = runs.read(write_run("nan", "rr", 1, 0.1,
    { exit = 0, eval = make_scored_lines(50):gsub('"loss":0.5', '"loss":null'),
    metrics = '{"step":1,"loss":null,"grad_norm":1}\n' }))
  lu.assertEquals({ run.state, run.test.loss, run.notes }, { "evaluated", { "", "" }, {} })
  lu.assertEquals(runs.read_metrics(run), { { step = 1, grad_norm = 1 } })
end

TestPlaces = { tearDown = support.clean }

-- A pipe without a writer would block a reader.
function TestPlaces.test_entries_that_are_not_regular_files()
  for _, name in ipairs({ "run.json", "eval.jsonl", "metrics.jsonl" }) do
    local dir = write_run("fifo", "rr", 1, 0.1, { exit = 0, eval = make_scored_lines(50), metrics = '{"step":1}\n' })
    os.remove(dir .. "/" .. name)
    assert(os.execute(("mkfifo '%s/%s'"):format(dir, name)))
    local run = runs.read(dir)
    local list = runs.read_metrics(run)
    lu.assertEquals({ run.damaged ~= nil, #list }, { true, name == "metrics.jsonl" and 0 or 1 })
    lu.assertEquals(run.notes[1]:match("^[^;]*"), name .. ": found a named pipe")
    lu.assertEquals(#run_files.find(run_files.find_root(dir)), 1)
    lu.assertNil(run_files.read_last_line(dir, "metrics.jsonl") and name == "metrics.jsonl" or nil)
    support.clean()
  end
  local dir = write_run("device", "rr", 1, 0.1, { exit = 0 })
  os.remove(dir .. "/eval.jsonl")
  assert(lfs.link("/dev/zero", dir .. "/eval.jsonl", true))
  assert_damaged(runs.read(dir), "eval.jsonl: found a char device; expected a file")
  os.remove(dir .. "/run.json")
  assert(lfs.mkdir(dir .. "/run.json"))
  assert_damaged(runs.read(dir), "run.json: found a directory; expected a file")
end

function TestPlaces.test_ids_and_digests_are_those_of_the_folders()
  local root
  for i, facts in ipairs({ { id = "other_run" }, { digest = "fedcba9876543210" }, { seed = 7 }, { learning_rate = 3 },
    {} }) do
    root = run_files.find_root(write_run("places", ("run_%d"):format(i), i, 0.1, { exit = 0,
      eval = make_scored_lines(50), facts = facts }))
  end
  local notes = lists.map(cells.read_folder(root).cells, function(cell) return cell.runs[1].notes[1] end)
  lu.assertEquals(notes, { 'run.json: id: found "other_run"; expected "run_1", as in the path of its folder',
    'run.json: digest: found "fedcba9876543210"; expected "0123456789abcdef", as in the path of its folder',
    "run.json: seed: found 7; expected 3, as in the name of its folder",
    "run.json: learning_rate: found 3; expected 0.1, as in the name of its folder" })
end

-- If a run was trained on a file, the name of its folder contains the first digits of the file's digest.
function TestPlaces.test_names_contain_the_digest_of_the_training_file()
  lu.assertEquals(run_files.parse_name("lr0.1-seed3"), { rate = "0.1", seed = "3", seeds = "3" })
  lu.assertEquals(run_files.parse_name("lr1-seed3.init4-data01234567").seeds, "3.init4")
  lu.assertEquals(run_files.parse_name("lr1e-05-seed3-data0123abcd-overfit4").data, "0123abcd")
  lu.assertEquals(run_files.parse_name("lr0.1-seed3-overfit4"), { rate = "0.1", seed = "3", seeds = "3" })
  local dir = write_run("named", "a_run", 1, 0.1, { exit = 0, facts = { data = { train_sha256 = "0123abcdef" } } })
  local place = run_files.split_path(dir)
  place.name = place.name .. "-data0123abcd"
  lu.assertEquals(run_files.read_facts(dir, place).seed, 1)
  place.name = place.name:gsub("abcd$", "abcc")
  lu.assertEquals({ run_files.read_facts(dir, place) }, { nil,
    'run.json: data.train_sha256: found "0123abcdef"; expected 0123abcc..., as in the name of its folder' })
end

-- A line of eval.jsonl counts if it names no file, or the file that run.json names for the line's set. Other lines
-- belong to another evaluation.
function TestPlaces.test_lines_of_other_files_do_not_count()
  local dir = write_run("data", "a_run", 1, 0.1, { exit = 0, facts = { data = { train = "a", train_sha256 = "11aa22",
    eval = "b", eval_sha256 = "33bb44" } }, eval = make_eval_line(100, "test", 20, 0.5, ',"data":"33bb"')
    .. make_eval_line(100, "test", 30, 0.75) .. make_eval_line(100, "test", 20, 0.9, ',"data":"11aa"')
    .. make_eval_line(100, "train", 5, 1, ',"data":"11aa"') })
  local run = runs.read(dir)
  lu.assertEquals({ run.test.lengths, run.test.accuracy, run.train.accuracy }, { { 20, 30 }, { 0.5, 0.75 }, { 1 } })
end

-- The record of a study in the folder of its runs is untrusted, too.
function TestPlaces.test_records_of_sweeps()
  local root = support.write("records/good.json", '{"study":"s","path":"s.lua","scale":null,"set":["a=1"]}'):match(
    "^(.*)/")
  support.write("records/other.json", '{"made":"by something else"}')
  support.write("records/list.json", "[1]")
  support.write("records/bad.json", '{"study":"s","path":"s.lua","set":[1]}')
  assert(os.execute(("mkfifo '%s/pipe.json'"):format(root)))
  local list, problems = run_files.read_records(root)
  lu.assertEquals(#list, 1)
  lu.assertEquals({ list[1].study, list[1].scale, list[1].set }, { "s", nil, { "a=1" } })
  lu.assertEquals(#problems, 1)
  lu.assertStrContains(problems[1], "bad.json: set[1]: found 1; expected a text")
end

TestVerbs = { tearDown = support.clean }

-- Writes a good and a damaged run; returns the folder of all runs and the damaged run's folder.
local function write_two_runs()
  local root = write_run("verbs", "good_run", 1, 0.1,
    { exit = 0, eval = make_scored_lines(50) }):match("^(.*)/[^/]*/[^/]*/[^/]*$")
  return root,
    write_run("verbs", "bad_run", 1, 0.1, { exit = 0, eval = make_scored_lines(60), facts = { id = "../../x" } })
end

local function ignore() end

function TestVerbs.test_report_continues_and_names_damaged_runs()
  local root, damaged_run = write_two_runs()
  local code, message = report.run({ project = reports.project, runs = root, say = ignore })
  lu.assertEquals(code, 1)
  local damage = damaged_run .. '/run.json: id: found "../../x"; expected a letter a-z, then 1 to 63 characters: a-z'
  lu.assertStrContains(message, "1 run is damaged and left out")
  lu.assertStrContains(message, damage)
  local text = support.read(root .. "/report/report.txt")
  lu.assertStrContains(text, "1 of 2 runs has a score (1 damaged)")
  lu.assertStrContains(text, damage)
  lu.assertStrContains(support.read(root .. "/report/index.html"), "found &quot;../../x&quot;")
end

function TestVerbs.test_a_damaged_run_is_not_compared()
  local root, bad_folder = write_two_runs()
  local run = ("%s/good_run/%s/lr0.1-seed1"):format(root, DIGEST)
  local code, message = compare.run({ runs = run, other = bad_folder, say = ignore })
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, bad_folder .. '/run.json: id: found "../../x"')
end

function TestVerbs.test_a_sweep_counts_a_damaged_run()
  local _, bad_folder = write_two_runs()
  local state, damage = ledger.read_state(bad_folder, { steps = 100, conditions = {} }, {})
  lu.assertEquals(state, "damaged")
  lu.assertStrContains(damage, 'id: found "../../x"')
end

-- If one file cannot be written, no file is written. Here a folder has the temporary name of the file.
function TestVerbs.test_a_report_is_written_whole_or_not_at_all()
  for _, name in ipairs({ "index.html", "report.csv", "report.txt" }) do
    local root = write_two_runs()
    support.write(("verbs/out/%s/in the way"):format(write.make_temporary_name(name)), "")
    local code, message = report.run({ project = reports.project, runs = root, say = ignore, out = root .. "/out" })
    lu.assertEquals(code, 4)
    lu.assertStrContains(message, "nothing was written")
    lu.assertEquals(write.list_names(root .. "/out"), { write.make_temporary_name(name) })
    support.clean()
  end
end

-- A report is written into the folder of runs, which may be foreign: a link in it could lead to other folders.
function TestVerbs.test_results_stay_in_their_folder()
  local root = write_two_runs()
  local outside = support.write("outside/precious", "x"):match("^(.*)/")
  assert(lfs.link(outside, root .. "/report", true))
  local code, message = report.run({ project = reports.project, runs = root, say = ignore })
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "/report is a link")
  local folder, reason = write.choose_folder(root, "report")
  lu.assertNil(folder)
  lu.assertStrContains(reason, "is a link")
  lu.assertEquals(write.choose_folder(root, "report", "x"), "x")
end

TestTrained = { tearDown = support.clean }

-- Writes a run with a checkpoint and returns its folder.
local function write_checkpoint(facts)
  local dir = write_run("trained", "a_run", 1, 0.1, { exit = 0, facts = facts })
  support.write("trained/a_run/" .. DIGEST .. "/lr0.1-seed1/checkpoint.safetensors", "x")
  return dir
end

-- The folder of a run may have been moved and renamed; its run.json cannot lead to another folder.
function TestTrained.test_facts_in_a_run_s_own_files()
  local dir = write_checkpoint()
  local new_folder = dir:match("^(.*)/trained/") .. "/moved here"
  assert(os.rename(dir, new_folder))
  lu.assertEquals(assert(trained_run.open(new_folder)).info.id, "a_run")
  local bare = json.decode('{"task":{"kind":"x"},"model":{"width":16},"train":{"batch":1},"eval":{"examples":1}}')
  for words, facts in pairs({ ['id: found "../../x"'] = { id = "../../x" },
    ['digest: found "../x"'] = { digest = "../x" }, ["spec.model.layers: found nothing"] = { spec = bare } }) do
    local run, message = trained_run.open(write_checkpoint(facts))
    lu.assertNil(run)
    lu.assertStrContains(message, words)
  end
end

-- A program `trainer` in the run's folder is not started.
function TestTrained.test_no_program_of_a_run_folder_is_started()
  local dir = write_checkpoint()
  local run = assert(trained_run.open(dir))
  local touched_path = dir .. "/touched"
  support.write("trained/a_run/" .. DIGEST .. "/lr0.1-seed1/trainer", "#!/bin/sh\ntouch " .. touched_path .. "\n")
  os.execute(("chmod +x '%s/trainer'"):format(dir))
  local provided_path
  local code, message = stop.catch(trained_run.find_trainer, reports.project, run, nil, function(path)
    provided_path = path
  end)
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "cannot be built again")
  lu.assertNil(provided_path)
  lu.assertNil(lfs.attributes(touched_path, "mode"))
end

-- The trainer is built from the spec that the user names, if it has the run's digest.
function TestTrained.test_a_trainer_is_built_from_the_named_spec()
  local path = support.write("named.lua", "return { task = { kind = 'even_pairs' } }")
  local run = assert(trained_run.open(write_checkpoint({ digest = assert(reports.project:plan(path,
    {})).plan.digest })))
  local trainer = trained_run.find_trainer(reports.project, run, nil, function(from)
    return from .. ".built"
  end, nil, path)
  lu.assertEquals(trainer, path .. ".built/trainer")
end

-- If a run was trained with --set, the values in its run.json that differ from the named spec are set again.
function TestTrained.test_settings_of_a_run_are_set_again()
  support.write("block.lua", support.read("examples/own_network/parallel_block.lua"))
  local path = support.write("own.lua", support.read("examples/own_network/own_network.lua")
    :gsub('"parallel_block.lua"', '"block.lua"'))
  for _, sets in ipairs({ {}, { "model.options.gate=gelu" }, { "model.kind=decoder", "model.layers=2" },
    { "train.lengths={ 1, 20, per = 'sequence' }", "train.clip.kind=none", "model.dropout=0", "precision=float64" },
    { "encoding.rotation.base=500", "encoding.mask.kind=causal", "train.batch=64", "train.schedule.kind=cosine" } }) do
    local result = assert(reports.project:plan(path, sets))
    local run = { dir = "run", info = { id = "own", digest = result.plan.digest, spec = result.resolved } }
    local spec, label, again = trained_run.with_spec(reports.project, run, path, function(...)
      return ...
    end)
    lu.assertEquals(spec and spec.plan.digest, result.plan.digest, label)
    lu.assertEquals(assert(reports.project:plan(path, again)).plan.digest, result.plan.digest)
    lu.assertEquals(#again > 0, #sets > 0)
    local trainer = trained_run.find_trainer(reports.project, run, nil, function(_, builds)
      return table.concat(builds, " ")
    end, { "x.y=1" }, path)
    lu.assertStrContains(trainer, table.concat(again, " ") .. (#again > 0 and " " or "") .. "x.y=1/trainer")
  end
end

function TestTrained.test_a_written_spec_has_every_field_of_training()
  for _, train in ipairs({ "optimizer = { kind = 'adamw', decays = 'matrices' }, schedule = { warmup = 5 }",
    "optimizer = { kind = 'sgd', momentum = 0.9 }, schedule = { kind = 'cosine', warmup = 5, final = 0.25 }",
    "lengths = { 2, 9, per = 'sequence', curriculum = { { until_step = 7, max = 3 } } }, loss_mean = 'sequence'",
    "optimizer = { kind = 'sgd' }, schedule = { kind = 'linear' }" }) do
    local text = ("return { task = { kind = 'even_pairs' }, train = { steps = 90, %s } }"):format(train)
    local resolved = assert(support.check(support.write("again.lua", text)))
    local again = assert(support.check(support.write("again.lua", (assert(spec_writer.write_spec(resolved))))))
    lu.assertEquals(again, resolved)
  end
end

-- The spec that is written from run.json is a table of known fields and nothing else, whatever its strings contain.
function TestTrained.test_a_written_spec_contains_no_code()
  local own_score = 'x.score end, task = { source = "/tmp/evil.c" }, other = function(x) return 1'
  for words, spec in pairs({
    ["its encoding.score is not a formula"] = { encoding = { score = own_score } },
    ["it has the field \"task.zzz\", which this version does not have"] = { task = { kind = "x", zzz = 1 } },
    ["it has the field \"use\""] = { use = "x.lua" },
    ["it has the field \"encoding.a = 1, b\""] = { encoding = { ["a = 1, b"] = 1 } },
  }) do
    local text, message = spec_writer.write_spec(spec)
    lu.assertNil(text)
    lu.assertStrContains(message, words)
  end
  for _, formula in ipairs({ "x.score -- end", "x.score + x['y']", "x.score end, a = function(x) return 1",
    "(function() return 1 end)()", "x.score\n", 'x.score + #"a"' }) do
    lu.assertNil((spec_writer.write_spec({ encoding = { score = formula } })), formula)
  end
end

support.run()
