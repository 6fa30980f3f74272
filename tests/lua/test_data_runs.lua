-- Runs on files of examples: their folders, their states in a sweep, and messages of a sweep about them.

local support = dofile("tests/lua/support.lua")

local file_digest = require("lab.study.read.file_digest")
local grid = require("lab.study.grid.grid")
local json = require("dkjson")
local ledger = require("lab.study.run.ledger")
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")
local reports = require("reports")
local sha256 = require("base.sha256")
local overview = require("lab.study.run.overview")

local TRAIN = '{"input":[1,0,2],"target":[1]}\n'
local TEST = '{"input":[1,1],"target":[0]}\n'

-- Expands a study of one cell and two seeds on two files. options: { train = text of fields, examples = text of the
-- number of evaluated examples }. Returns the study, the folder of its runs and the cell.
local function expand(options)
  options = options or {}
  local file = support.write("data/probe.lua", ([[
return { title = "p", seeds = { 0, 1 }, base = { task = { data = "train.jsonl", eval = "test.jsonl", input_symbols = 3,
  output_symbols = 2, longest = 8 }, model = { use = "small_encoder" }, encoding = { kind = "none" },
  train = { batch = 4, learning_rate = 0.01, %s }, eval = { examples = %s } },
  axes = { { name = "width", values = { { name = 16, spec = { model = { width = 16 } } } } } } }]]):format(
    options.train or "epochs = 2", options.examples or "8"))
  local root = file:match("^(.*)/") .. "/runs"
  local study = assert(grid.expand(project, file, { out = root }))
  return study, root, study.cells[1]
end

local function write_files(train, test)
  support.write("data/train.jsonl", train or TRAIN)
  support.write("data/test.jsonl", test or TEST)
end

-- Writes the files of a run of the cell in the folder `name`. more_facts: fields of run.json; lines: text of
-- eval.jsonl.
local function write_run(cell, name, more_facts, lines)
  local dir = ("data/runs/%s/%s/%s/"):format(cell.id, cell.spec.plan.digest, name)
  local spec = reports.make_spec("bucket_sort")
  spec.eval.examples = 8
  local facts = lists.merge({ id = cell.id, digest = cell.spec.plan.digest, seed = 0, learning_rate = 0.01,
    step = 18, exit = 0, spec = spec, started = "2026-01-01T00:00:00Z", data = { epoch_batches = 9,
    train = "train.jsonl", train_sha256 = sha256.hash(TRAIN), eval = "test.jsonl", eval_sha256 = sha256.hash(TEST),
    eval_examples = 1 } }, more_facts or {})
  support.write(dir .. "run.json", json.encode(facts))
  support.write(dir .. "eval.jsonl", lines or "")
  support.write(dir .. "checkpoint.safetensors", "")
end

local LINE = '{"step":%d,"split":"test","by":{"length":%d},"examples":%d,%s"draws":1,"accuracy":0.5,"exact_match":0,'
  .. '"loss":1,"sd_over_draws":0%s}\n'

-- Returns a line of eval.jsonl for sequences of length 2. total: the number of examples in the file, nil if all were
-- evaluated; data: the first digits of the file's digest, or nil.
local function make_line(step, examples, total, data)
  return LINE:format(step, 2, examples, total and ('"of":%d,'):format(total) or "",
    data and (',"data":"%s"'):format(data) or "")
end

-- Returns the name of the folder of a run that was trained on a file with this text.
local function name_run(text)
  return "lr0.01-seed0-data" .. sha256.hash(text):sub(1, 8)
end

-- Returns the state of the first run, the reason, the study and its cell.
local function survey(options)
  local study, root, cell = expand(options)
  ledger.survey(study, root)
  return cell.runs[1].state, cell.runs[1].explanation, study, cell
end

TestFolders = { tearDown = support.clean }

function TestFolders.test_digest_of_a_file()
  local path = support.write("data/-a 'file", "abc")
  lu.assertEquals(file_digest.compute(path), sha256.hash("abc"))
  support.write("data/-a 'file", "abcd")
  lu.assertEquals(file_digest.compute(path), sha256.hash("abcd"))
  lu.assertNil(file_digest.compute(path .. "x"))
  lu.assertNil(file_digest.compute(path:match("^(.*)/")))
end

-- The name of a run's folder has the first digits of the training file's digest.
function TestFolders.test_folders_are_named_after_the_training_file()
  write_files()
  local _, _, cell = expand()
  lu.assertEquals({ cell.runs[1].dir, cell.runs[1].runs_on_other_data },
    { ("%s/%s/%s"):format(cell.id, cell.spec.plan.digest, name_run(TRAIN)) })
  write_files(TRAIN:rep(2))
  local _, _, changed_cell = expand()
  lu.assertStrContains(changed_cell.runs[1].dir, name_run(TRAIN:rep(2)))
  lu.assertEquals(changed_cell.spec.plan.digest, cell.spec.plan.digest)
end

function TestFolders.test_runs_on_another_file_are_reported()
  write_files()
  local _, _, cell = expand()
  write_run(cell, name_run(TRAIN), {}, make_line(18, 1, nil, sha256.hash(TEST):sub(1, 16)))
  lu.assertEquals(survey(), "done")
  write_files(TRAIN:rep(2))
  local state, words, study, changed_cell = survey()
  lu.assertEquals({ state, changed_cell.runs[1].dir:match("[^/]*$"), words }, { "absent", name_run(TRAIN:rep(2)) })
  local old_digest, new_digest = sha256.hash(TRAIN):sub(1, 8), sha256.hash(TRAIN:rep(2)):sub(1, 8)
  lu.assertEquals(overview.list_decisions(study),
    { ("trained on other data: 1 run of width_16: train.jsonl had the SHA-256 "
    .. "%s..., and has %s... now; these runs stay unchanged"):format(old_digest, new_digest) })
end

TestEvaluations = { tearDown = support.clean }

function TestEvaluations.test_new_evaluation_data_is_evaluated()
  write_files()
  local _, _, cell = expand()
  local digits = sha256.hash(TEST):sub(1, 16)
  write_run(cell, name_run(TRAIN), {}, make_line(18, 1, nil, digits))
  lu.assertEquals(survey(), "done")
  write_files(TRAIN, TEST:rep(2))
  local state, words = survey()
  lu.assertEquals({ state, words }, { "to evaluate", "test.jsonl has other bytes than the file that was evaluated" })
  local run_folder = cell.runs[1].dir
  os.remove(cell.spec.data_files.data.real:match("^(.*)/") .. "/runs/" .. run_folder .. "/checkpoint.safetensors")
  state, words = survey()
  lu.assertEquals({ state, words }, { "done", "test.jsonl has other bytes than the file that was evaluated, but there "
    .. "is no checkpoint to evaluate" })
  local lines = make_line(18, 1, nil, digits) .. make_line(18, 2, nil, sha256.hash(TEST:rep(2)):sub(1, 16))
  local data = { epoch_batches = 9, train = "train.jsonl", train_sha256 = sha256.hash(TRAIN), eval = "test.jsonl",
    eval_sha256 = sha256.hash(TEST:rep(2)), eval_examples = 2 }
  write_run(cell, name_run(TRAIN), { data = data }, lines)
  lu.assertEquals(survey(), "done")
  write_files(TRAIN, TEST) -- the earlier file again; run.json has the digest of the later file
  lu.assertStrContains(select(2, survey()), "test.jsonl has other bytes than the file that was evaluated")
  data.eval_sha256, data.eval_examples = sha256.hash(TEST), 1
  write_run(cell, name_run(TRAIN), { data = data }, lines)
  lu.assertEquals(survey(), "done")
end

-- A line counts if it has as many examples as requested, or fewer if the file has no more.
-- A line without the field `of` has all examples of the file.
function TestEvaluations.test_as_many_examples_as_requested()
  write_files()
  local _, _, cell = expand()
  local digits = sha256.hash(TEST):sub(1, 16)
  for _, case in ipairs({ -- { lines of eval.jsonl, requested examples, state of the run }
    { make_line(18, 8, 20, digits), "8", "done" },
    { make_line(18, 8, 20, digits), "9", "to evaluate" },
    { make_line(18, 7, nil, digits), "8", "done" },
    { make_line(18, 9, nil, digits), "8", "to evaluate" },
    { make_line(17, 1, nil, digits), "8", "to evaluate" },
    { "", "8", "to evaluate" },
  }) do
    write_run(cell, name_run(TRAIN), { data = { epoch_batches = 9, train_sha256 = sha256.hash(TRAIN), eval_sha256 =
      sha256.hash(TEST) } }, case[1])
    lu.assertEquals(survey({ examples = case[2] }), case[3], case[1])
  end
end

function TestEvaluations.test_missing_files()
  write_files()
  local _, _, cell = expand()
  write_run(cell, name_run(TRAIN), {}, make_line(18, 1, nil, sha256.hash(TEST):sub(1, 16)))
  os.remove(cell.spec.data_files.eval.real)
  os.remove(cell.spec.data_files.data.real)
  local state, _, study, changed_cell = survey()
  lu.assertEquals({ state, #changed_cell.missing, changed_cell.runs[1].dir:match("[^/]*$") },
    { "done", 0, name_run(TRAIN) })
  lu.assertStrContains(overview.list_decisions(study)[1], "task.data: there is no file")
  lu.assertStrContains(overview.list_decisions(study)[1],
    "train.jsonl: 2 runs of width_16: nothing is trained or evaluated")
  lu.assertStrContains(overview.list_decisions(study)[2], "test.jsonl")
end

TestSteps = { tearDown = support.clean }

-- The run records that an epoch has nine batches.
function TestSteps.test_more_and_fewer_epochs()
  write_files()
  local _, _, cell = expand()
  write_run(cell, name_run(TRAIN), {}, make_line(18, 1))
  local state, words, study, changed_cell = survey({ train = "epochs = 3" })
  lu.assertEquals({ state, words, #changed_cell.missing }, { "to continue", "from step 18 to 27 (3 epochs)", 2 })
  lu.assertEquals(overview.list_decisions(study), { "to continue: 1 run of width_16: from step 18 to 27 (3 epochs)" })
  state, words, study, changed_cell = survey({ train = "epochs = 1" })
  local progress = "at step 18; the spec ends at step 9 (1 epoch)"
  lu.assertEquals({ state, words, #changed_cell.missing }, { "trained further", progress, 1 })
  lu.assertEquals(overview.list_decisions(study),
    { ("trained further: 1 run of width_16: %s; these runs stay unchanged"):format(progress) })
  state, words = survey({ train = "steps = 20" })
  lu.assertEquals({ state, words }, { "to continue", "from step 18 to 20" })
end

support.run()
