-- A fuzzer of the programs that read run folders: report, compare, the ledger of sweeps and spec_writer. Mutated run
-- folders must give valid pages or messages, and no file may be written outside of the folders of runs and pages.
--
-- As a program, from the root (default: 2000 cases of seed 1; --case N prints and runs only case N):
--
--     lua5.4 tests/lua/fuzz_runs.lua [--cases N] [--seed S] [--first N] [--case N]
--
-- Case N of seed S is the same folder on every machine. It has two runs, changed in bytes, values, names, kinds of
-- files and paths; in one case of two the second run is unchanged. A failure is a Lua error, a case that takes more
-- than MAX_INSTRUCTIONS instructions of Lua, an undocumented exit code, a page that fails its check (hostile.lua), a
-- damaged run whose message does not name the file, what was found and what is expected, a spec written from run.json
-- with a name that no spec has, or a file outside of the folders of runs and pages. test_fuzz.lua runs a few hundred
-- cases.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local cells = require("lab.study.read.cells")
local compare = require("lab.study.report.compare")
local draw = require("lab.study.report.figures.draw")
local fuzzing = require("fuzzing")
local hostile = require("hostile")
local json = require("dkjson")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local random = require("random")
local report = require("lab.study.report.report")
local reports = require("reports")
local spec_writer = require("lab.study.read.spec_writer")
local sandbox = require("spec.reading.sandbox")
local schema = require("spec.schema")
local trained_run = require("lab.study.read.trained_run")
local write = require("base.write")

local M = {}

local MAX_INSTRUCTIONS = 200000000 -- the largest number of Lua instructions of one case

-- ---- material of mutations ----

local VALUES = { "0", "-1", "1", "2", "1e5", "100001", "9007199254740993", "9e15", "99999999999999999999", "1e999",
  "-1e999", "0.5", "1.5", "-0.0", "1e-320", "true", "false", "null", '""', "{}", "[]", "[[]]", '[1,"a",null]',
  '{"a":{"b":[{}]}}', '{"first":1,"last":9e15}', '{"first":1,"last":100000,"step":0}',
  '{"first":1,"last":100000,"step":1}', '{"first":5,"last":1,"step":1}', '{"list":[]}', '{"list":[1,2,"x"]}',
  '{"list":[3,2,1]}', '{"list":{"a":1}}', '{"kind":"a\\n!touch FILE"}', '"../../x"', '"0123456789abcdef"', '"none"',
  '"randomized"', "NaN", "Infinity", "nil", ("["):rep(200) .. ("]"):rep(200),
  ('{"a":'):rep(100) .. "1" .. ("}"):rep(100), '"\\ud800"', '"\\u0000"', "{1:2}", "{[]:1}", "/* x */ 1", '"a" "b"',
  ("9"):rep(400), '"' .. ("x"):rep(5000) .. '"' }

local NAMES = { "id", "digest", "spec", "flags", "seed", "learning_rate", "exit", "step", "train_seconds", "task",
  "kind", "model", "layers", "train", "eval", "lengths", "examples", "encoding", "score", "parameters", "positions",
  "options", "zzz", "use", "", "a = 1, b", "__index", "a\\nb" }

local function pick_text(rng)
  return json.encode(rng:pick(hostile.TEXTS))
end

local function pick_value(rng)
  return rng:is_one_in(3) and pick_text(rng) or rng:pick(VALUES)
end

local function mutate_byte(rng, text)
  return fuzzing.mutate_byte(rng, text, 40)
end

-- Replaces the value of a random name.
local function mutate_value(rng, text)
  local places = lists.find_all(text, '":()')
  if #places == 0 then
    return text
  end
  local first = rng:pick(places)
  local _, last = text:find("^%b{}", first)
  if not last or rng:is_one_in(4) then
    _, last = text:find("^%b[]", first)
    last = last or select(2, text:find("^\"[^\"]*\"", first)) or select(2, text:find("^[^,{}%]]*", first))
  end
  return fuzzing.splice(text, first, last, pick_value(rng))
end

-- Replaces a name of the text by another of NAMES, or adds a name with a value at the beginning of a random object.
local function mutate_name(rng, text)
  local places = lists.find_all(text, "(){")
  if #places == 0 then
    return text
  end
  local position = rng:pick(places)
  if rng:is_one_in(3) then
    return (text:gsub('"' .. rng:pick(NAMES):gsub("%p", "%%%0") .. '"', function()
      return '"' .. rng:pick(NAMES) .. '"'
    end, 1))
  end
  return fuzzing.splice(text, position, position, ('{"%s":%s,'):format(rng:pick(NAMES), pick_value(rng)))
end

local MUTATIONS = { mutate_byte, mutate_value, mutate_value, mutate_value, mutate_name }

-- ---- a case: files by path, below one folder ----

local SPEC = reports.make_spec("bucket_sort")
SPEC.id, SPEC.source, SPEC.model.kind = "first_run", "spec/x.lua", "encoder"
SPEC.encoding = { positions = { kind = "randomized", max_position = 64, draw = "pass", sorted = true },
  rotation = { kind = "rope", base = 10000 }, additive = { kind = "none" }, relative = { kind = "none" },
  score = "x.score + x.slope", parameters = { slope = { per = "head", learned = true, init = 0.5 } } }
SPEC.eval.during = { every = 10, examples = 4, lengths = { first = 1, last = 5, step = 1 } }

local function write_facts(id, seed)
  return canonical.format({ id = id, digest = reports.DIGEST, model_digest = "aa", source_digest = "bb", spec = SPEC,
    seed = seed, learning_rate = 0.1, flags = { "--seed", "1" }, level = "x86-64", compiler = "gcc 12",
    variant = "cpu", threads = 1, precision = "float32", machine = "m", started = "s", ended = "e", step = 100,
    train_seconds = 5, exit = 0 })
end

local function make_run_lines()
  local lines, metrics = {}, {}
  for step = 10, 30, 10 do
    lines[#lines + 1] = reports.make_eval_line(step, "during", 3, 0.5)
    metrics[#metrics + 1] = ('{"step":%d,"loss":1.5,"accuracy":0.5,"grad_norm":1,"seconds":%d}\n'):format(step, step)
  end
  lines[#lines + 1] = reports.make_scored_lines(50)
  return table.concat(lines), table.concat(metrics)
end

local EVAL, METRICS = make_run_lines()

local RECORD = '{"study":"s","path":"no/such.lua","scale":null,"set":["train.steps=10"],"started":"x"}\n'

-- Returns the text of a snapshot in .studies/, of a study with these runs and two axes.
local function make_snapshot_text()
  local entries = {}
  for i, id in ipairs({ "first_run", "second_run" }) do
    entries[i] = { id = id, digest = reports.DIGEST, swept = "x", spec = SPEC, key = { task = "t" .. i, width = "16" },
      files = { ["task.source"] = { name = "a.c", digest = reports.DIGEST } } }
  end
  return canonical.format({ study = "s", path = "no/such.lua", title = "Study", cells = entries, scored = {
    split = "test", metric = "accuracy" }, axes = { { name = "task", values = { "t1", "t2" } },
    { name = "width", values = { "16" } } } })
end

local SNAPSHOT = make_snapshot_text()

-- Renames one of the three folders of a run's path. folders: the names of these folders.
local function mutate_path(rng, folders)
  local name = rng:pick(hostile.TEXTS):gsub("[%z/]", "_"):sub(1, 200)
  if rng:is_one_in(4) then
    name = rng:pick({ "lr0.1-seed1-overfit5", "lrx-seed1", "lr0.2-seed1", "a", "0123456789ABCDEF" })
  end
  if name ~= "" and name ~= "." and name ~= ".." then
    folders[rng:pick_number(3)] = name
  end
end

-- Returns a run with `changes` random changes: { folder, files }. files: name -> a text or a word of KINDS.
local function make_run(rng, id, changes)
  local files = { ["run.json"] = write_facts(id, 1), ["eval.jsonl"] = EVAL, ["metrics.jsonl"] = METRICS }
  local folders = { id, reports.DIGEST, "lr0.1-seed1" }
  for _ = 1, changes do
    local name = rng:pick({ "run.json", "run.json", "run.json", "eval.jsonl", "metrics.jsonl" })
    if rng:is_one_in(12) then
      mutate_path(rng, folders)
    elseif rng:is_one_in(20) then
      files[name] = rng:pick({ "fifo", "folder", "link", "absent" })
    else
      files[name] = rng:pick(MUTATIONS)(rng, files[name])
    end
  end
  return { folder = table.concat(folders, "/"), files = files }
end

-- Makes one case: the two runs, the text of a sweep's record or nil, and the text of a study's snapshot or nil.
function M.make_case(seed, number)
  local rng = random(seed * 0x632be59bd9b4e019 + number)
  local list = { make_run(rng, "first_run", rng:pick_number(3) - 1),
    make_run(rng, "second_run", rng:is_one_in(2) and 0 or 1) }
  local record = rng:is_one_in(8) and mutate_value(rng, RECORD) or nil
  local snapshot = rng:is_one_in(6) and (rng:is_one_in(3) and SNAPSHOT or rng:pick(MUTATIONS)(rng, SNAPSHOT)) or nil
  return list, snapshot and RECORD or record, snapshot
end

-- ---- running ----

local KINDS = { fifo = true, folder = true, link = true, absent = true }

-- Writes a file, or makes an entry of one of KINDS.
local function make_file(path, content)
  assert(write.make_directory(path:match("^(.*)/")))
  if not KINDS[content] then
    local file <close> = assert(io.open(path, "wb"))
    file:write(content)
  elseif content == "fifo" then
    assert(os.execute(("mkfifo \"$(printf '%s')\""):format((path:gsub(".", function(byte)
      return ("\\%03o"):format(byte:byte())
    end)))))
  elseif content == "folder" then
    assert(lfs.mkdir(path))
  elseif content == "link" then
    assert(lfs.link("/dev/zero", path, true))
  end
end

-- Returns the paths and kinds of everything below a folder, as one text.
local function list_tree(folder)
  return table.concat(lists.map(write.list_names(folder), function(name)
    local path = folder .. "/" .. name
    local mode = lfs.symlinkattributes(path, "mode")
    return ("%s %s\n%s"):format(path, mode, mode == "directory" and list_tree(path) or "")
  end))
end

function draw.run() -- in place of gnuplot
  return nil, "no pictures"
end

-- Runs a verb; checks its exit code, its texts, and the files that it has written to the folder options.out.
local function check_verb(run, options)
  local code, message, output = reports.run_verb(run, options)
  assert(code == 0 or code == 1 or code == 4, "exit code " .. tostring(code))
  local problem = hostile.find_text_problem((message or "") .. output)
  assert(not problem, problem)
  assert(code == 0 or (message or ""):find("%w"), "no message")
  for _, name in ipairs(write.list_names(options.out)) do
    if name:sub(1, 1) ~= "." then
      problem = hostile.find_problem(name, support.read(options.out .. "/" .. name))
      assert(not problem, ("%s: %s"):format(name, problem))
    end
  end
end

-- Checks the text of a spec written from run.json, or nil. If the text runs, the spec must have only names of the
-- schema, and must name no file of a task.
local function check_spec(text)
  local spec = text and sandbox.run(text)
  for name in next, type(spec) == "table" and spec or {} do
    assert(schema.by_path[name], text)
  end
  assert(type(spec) ~= "table" or not spec.task.source and not spec.task.data, text)
end

-- Reads, compares and reports one case below `root`; pages go to `out`. Returns "clean" or "damaged".
local function run_case(root, out, case_runs, record, snapshot)
  for _, run in ipairs(case_runs) do
    for name, content in pairs(run.files) do
      make_file(("%s/%s/%s"):format(root, run.folder, name), content)
    end
  end
  if record then
    make_file(root .. "/s.json", record)
  end
  if snapshot then
    make_file(root .. "/.studies/s.json", snapshot)
  end
  check_verb(report.run, { project = reports.project, runs = root, out = out .. "/report" })
  local is_damaged = false
  for _, cell in ipairs(cells.read_folder(root).cells) do
    for _, run in ipairs(cell.runs) do
      is_damaged = is_damaged or run.damaged
      assert(not run.damaged or run.notes[1]:find("^%l+%.jsonl?: .*found .*; expected "), run.notes[1])
      local state = ledger.read_state(run.dir, { steps = 100, conditions = {} }, {})
      assert(state ~= "damaged" or run.damaged, state)
      ledger.read_progress(run.dir, { steps = 100, train_work = 1, eval_work = { 1, 2 }, log_every = 10,
        lengths = { 1, 2 } })
    end
  end
  local a, b = ("%s/%s"):format(root, case_runs[1].folder), ("%s/%s"):format(root, case_runs[2].folder)
  check_verb(compare.run, { runs = a, other = b, out = out .. "/compare" })
  make_file(a .. "/checkpoint.safetensors", "x")
  local opened_run = trained_run.open(a)
  check_spec(opened_run and spec_writer.write_spec(opened_run.info.spec))
  return is_damaged and "damaged" or "clean"
end

-- Runs one case: returns its outcome, or nil and an error.
local function try_case(seed, number)
  local base = support.write("fuzz/base", ""):match("^(.*)/")
  local root, out = base .. "/runs", base .. "/out"
  local has_succeeded, outcome = fuzzing.call_limited(MAX_INSTRUCTIONS, run_case, root, out, M.make_case(seed, number))
  if has_succeeded then
    for _, name in ipairs({ "report", "compare" }) do
      write.remove_tree(out .. "/" .. name)
    end
    write.remove_tree(root)
    local files_left = list_tree(base)
    local out_line = lfs.attributes(out, "mode") and out .. " directory\n" or ""
    has_succeeded = files_left == ("%s/base file\n%s"):format(base, out_line)
    outcome = has_succeeded and outcome or "something else was written:\n" .. files_left
  end
  write.remove_tree(base)
  if has_succeeded then
    return outcome
  end
  return nil, outcome
end

-- Runs cases as fuzzing.run does; returns { clean, damaged, failures = { text... } }.
function M.run(count, seed, first, watch)
  return fuzzing.run({ "clean", "damaged" }, try_case, count, seed, first, watch)
end

-- ---- as a program ----

local function show_case(seed, number)
  local list, record, snapshot = M.make_case(seed, number)
  for _, run in ipairs(list) do
    for _, name in ipairs({ "run.json", "eval.jsonl", "metrics.jsonl" }) do
      io.write(("---- %q\n%s\n"):format(run.folder .. "/" .. name, run.files[name]))
    end
  end
  io.write(record and "---- s.json\n" .. record or "", snapshot and "---- .studies/s.json\n" .. snapshot or "", "\n")
end

if arg and arg[0] and arg[0]:find("fuzz_runs%.lua$") then
  fuzzing.main({ name = "fuzz_runs.lua", cases = 2000, run = M.run, show_case = show_case, describe = function(result)
    return ("%d clean, %d damaged"):format(result.clean, result.damaged)
  end }, arg)
end

return M
