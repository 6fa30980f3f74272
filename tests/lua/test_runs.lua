-- Reading of run folders: splits and scores, axes, forms of lines, torn and damaged files.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local reports = require("reports")
local runs = require("lab.study.read.runs")

local make_eval_line, make_scored_lines = reports.make_eval_line, reports.make_scored_lines
local make_spec, write_run = reports.make_spec, reports.write_run

TestRuns = {}

function TestRuns.test_score_is_the_mean_beyond_training_at_the_last_step()
  local text = make_eval_line(50, "beyond", 20, 0.1) .. make_eval_line(100, "during", 20, 0.3)
    .. make_eval_line(100, "during", 30, 0.5) .. make_eval_line(100, "in_distribution", 5, 1)
    .. make_eval_line(100, "beyond", 30, 0.5) .. make_eval_line(100, "beyond", 20, 0.75)
    .. make_eval_line(100, "beyond", 30, 0.625) .. make_eval_line(100, "beyond", 20, 0, ',"seed":7')
  local run = runs.read(write_run("score", "rr", 1, 0.1, { exit = 0, eval = text }))
  lu.assertEquals(run.state, "evaluated")
  lu.assertEquals(run.test.lengths, { 20, 30 })
  lu.assertEquals(run.test.accuracy, { 0.75, 0.625 })
  lu.assertEquals(run.train.accuracy, { 1.0 })
  lu.assertEquals(run.during, { { step = 100, mean = { accuracy = 0.4, exact_match = 0.25, loss = 0.5 } } })
  lu.assertEquals(runs.get_score(run), 68.75)
  lu.assertEquals(run.notes, {})
end

-- The reader has a pattern for lines in the form in which the runtime writes them (fast). It decodes other lines as
-- JSON (slow).
function TestRuns.test_pattern_and_decoder_agree()
  local fast, slow = {}, {}
  for i, accuracy in ipairs({ 0.5, 1, 0, 1e-05, 0.968585365853658536 }) do
    fast[i] = make_eval_line(100, "beyond", 20 + i, accuracy)
    slow[i] = fast[i]:gsub('"step":100,', ""):gsub("}\n$", ',"step":100}\n')
  end
  local a = runs.read(write_run("fast", "rr", 1, 0.1, { exit = 0, eval = table.concat(fast) }))
  local b = runs.read(write_run("slow", "rr", 1, 0.1, { exit = 0, eval = table.concat(slow) }))
  lu.assertEquals(#a.test.lengths, 5)
  a.dir, b.dir = nil, nil
  lu.assertEquals(a, b)
end

-- Lengths between training lengths are in no score, and lines of the validation stream are separate.
function TestRuns.test_lengths_between_training_lengths_are_in_no_score()
  local spec = make_spec("bucket_sort")
  spec.train.lengths = { list = { 4, 20 } }
  spec.eval.lengths = { list = { 4, 12, 20, 30 } }
  local validation = make_eval_line(100, "validation", 4, 0)
  local run = runs.read(write_run("splits", "rr", 1, 0.1, { exit = 0, facts = { spec = spec },
    eval = validation .. make_eval_line(100, "in_distribution", 4, 1) .. make_eval_line(100, "between", 12, 0.5)
    .. make_eval_line(100, "in_distribution", 20, 0.75) .. make_eval_line(100, "beyond", 30, 0.25) }))
  lu.assertEquals({ run.state, run.notes, runs.get_score(run) }, { "evaluated", {}, 25.0 })
  lu.assertEquals({ run.train.lengths, run.between.lengths, run.test.lengths }, { { 4, 20 }, { 12 }, { 30 } })
  lu.assertEquals({ run.train.split, run.between.split, run.test.split }, { "in_distribution", "between", "beyond" })
  lu.assertEquals({ run.validation.lengths, run.validation.accuracy }, { { 4 }, { 0.0 } })
  run = runs.read(write_run("splits", "rr", 3, 0.1, { facts = { spec = spec }, eval = validation }))
  lu.assertEquals({ run.state, run.test }, { "unfinished", nil })
end

-- A run without lengths beyond training is scored between training lengths if it was evaluated there.
function TestRuns.test_a_run_without_longer_lengths_is_scored_between_training_lengths()
  local spec = make_spec("bucket_sort")
  spec.train.lengths, spec.eval.lengths = { list = { 4, 20 } }, { list = { 4, 12 } }
  local run = runs.read(write_run("gaps", "rr", 1, 0.1, { facts = { spec = spec },
    eval = make_eval_line(100, "in_distribution", 4, 1) .. make_eval_line(100, "between", 12, 0.5) }))
  lu.assertEquals({ run.state, run.test.split, runs.get_score(run), run.train.accuracy },
    { "evaluated", "between", 50.0, { 1.0 } })
  lu.assertNil(run.is_within)
end

function TestRuns.test_state_of_a_run_by_its_files()
  local cases = {
    { "evaluated", { exit = 0, eval = make_scored_lines(50) } },
    { "evaluated", { eval = make_scored_lines(50) } },
    { "not evaluated", { exit = 0, eval = make_eval_line(100, "in_distribution", 5, 1) } },
    { "unfinished", { eval = make_eval_line(100, "beyond", 20, 1) } },
    { "unfinished", { exit = 75 } },
    { "failed", { exit = 1, eval = make_scored_lines(50) } },
  }
  for i, case in ipairs(cases) do
    local run = runs.read(write_run("states", "rr", i, 0.1, case[2]))
    lu.assertEquals(run.state, case[1])
    lu.assertEquals(runs.get_score(run) ~= nil, case[1] == "evaluated")
  end
  lu.assertNil(runs.read("no/such/folder"))
end

function TestRuns.test_a_run_of_training_lengths_alone_is_scored_there()
  local spec = make_spec("bucket_sort")
  spec.train.lengths.last = 40
  local run = runs.read(write_run("within", "rr", 1, 0.1, { exit = 0, facts = { spec = spec },
    eval = make_eval_line(100, "in_distribution", 20, 0.5)
      .. make_eval_line(100, "in_distribution", 30, 0.25) }))
  lu.assertEquals({ run.state, run.is_within, run.test.split, runs.get_score(run) },
    { "evaluated", true, "in_distribution", 37.5 })
end

local BEYOND_KEY = ',"beyond":["length"]'

-- Writes and reads a run that trained on a file and was evaluated on lengths 4, 5, 9 and 12 of the set `split`. The
-- trainer records the lengths of the training file (facts.train_lengths), and marks lines beyond them.
local function read_data_run(name, split, facts)
  local spec = make_spec("bucket_sort")
  spec.task, spec.train.lengths, spec.eval.lengths = { data = "sums/train.jsonl" }, nil, nil
  facts.spec = spec
  local more_keys = facts.train_lengths[4] and "" or BEYOND_KEY
  return runs.read(write_run(name, "rr", 1, 0.1, { exit = 0, facts = facts, eval = make_eval_line(100, split, 4, 0.75)
    .. make_eval_line(100, split, 5, 0.25) .. make_eval_line(100, split, 9, 0.5, more_keys)
    .. make_eval_line(100, split, 12, 0.25, more_keys) }))
end

function TestRuns.test_lengths_of_a_file_are_those_that_the_trainer_recorded()
  local run = read_data_run("finite", "test", { train_lengths = { 3, 4, 5 }, data = { train = "t", eval = "e" } })
  local trained, longer = runs.get_evaluation(run, "in_distribution"), runs.get_evaluation(run, "beyond")
  lu.assertEquals({ trained.lengths, trained.split, trained.accuracy }, { { 4, 5 }, "in_distribution", { 0.75, 0.25 } })
  lu.assertEquals({ longer.lengths, longer.split, runs.get_score(run, "beyond") }, { { 9, 12 }, "beyond", 37.5 })
  lu.assertEquals({ run.test.lengths, run.test.split, runs.get_score(run) }, { { 4, 5, 9, 12 }, "test", 43.75 })
  lu.assertEquals(runs.get_lengths(run, "train"), { 3, 4, 5 })
  lu.assertNil(run.is_within)
end

function TestRuns.test_a_file_without_longer_examples_is_scored_within()
  local all_lengths = { 3, 4, 5, 9, 12 }
  local run = read_data_run("held_out", "test", { train_lengths = all_lengths, data = { train = "t", eval = "e" } })
  lu.assertEquals({ run.state, run.is_within, run.is_trained, runs.get_score(run) },
    { "evaluated", true, false, 43.75 })
  run = read_data_run("same", "train", { train_lengths = all_lengths, data = { train = "t" } })
  lu.assertEquals({ run.state, run.is_within, run.is_trained, runs.get_score(run) }, { "evaluated", true, true, 43.75 })
end

function TestRuns.test_invalid_lengths_are_damage()
  local run = read_data_run("no_lengths", "test", { train_lengths = { 3, "4" }, data = { train = "t", eval = "e" } })
  lu.assertEquals(run.notes, { 'run.json: train_lengths[2]: found "4"; expected an integer from 1 to 100000' })
  lu.assertEquals(runs.get_lengths(run, "train"), {})
end

-- There is no score without examples, nor of a metric that a line lacks.
function TestRuns.test_percent_of_missing_values()
  lu.assertNil(runs.compute_mean(nil))
  lu.assertNil(runs.compute_mean({ lengths = {}, accuracy = {} }))
  lu.assertNil(runs.compute_mean({ lengths = { 5, 6 }, accuracy = { 0.5, 1 }, exact_match = { "0.5", "" } },
    "exact_match"))
  lu.assertEquals(runs.compute_mean({ lengths = { 5, 6 }, exact_match = { "0.5", "0" } }, "exact_match"), 25.0)
end

-- A line of an evaluation during training does not name its set if there is only one; the clock continues to the last
-- step.
function TestRuns.test_one_set_during_training_and_seconds_of_the_last_step()
  local spec = make_spec("bucket_sort")
  spec.eval.during = { every = 50, splits = { "validation" } }
  local run = runs.read(write_run("alone", "rr", 1, 0.1, { exit = 0,
    eval = make_eval_line(50, "during", 20, 0.5) .. make_scored_lines(90),
    metrics = '{"step":40,"seconds":4}\n', facts = { spec = spec, step = 50, train_seconds = 6 } }))
  lu.assertEquals(run.during[1].sets, { validation = { accuracy = 0.5, exact_match = 0.25, loss = 0.5 } })
  lu.assertEquals(run.during[1].mean, run.during[1].sets.validation)
  lu.assertEquals(runs.read_clock(run), { { 40, 4 }, { 50, 6 } })
end

function TestRuns.test_several_axes_are_joined_on_the_first()
  local facts = { data = { train = "latin_square", by = { "vectors", "puzzle" } } }
  local run = runs.read(write_run("axes", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "train", '"vectors":1', 1) .. make_eval_line(100, "test", '"vectors":2', 0.25)
      .. make_eval_line(100, "test", '"vectors":1', 0.75) .. make_eval_line(100, "validation", '"vectors":1,"puzzle":1',
        1)
      .. make_eval_line(100, "validation", '"vectors":2,"puzzle":3', 1):gsub('"examples":50', '"examples":150')
      .. make_eval_line(100, "validation", '"vectors":2,"puzzle":4', 0) .. make_eval_line(100, "test", 16, 0)
      .. make_eval_line(50, "during", '"vectors":1', 0.5, ',"set":"test"')
      .. make_eval_line(50, "during", '"vectors":1', 1, ',"set":"train"') }))
  lu.assertEquals({ run.state, run.axis, run.damaged }, { "evaluated", "vectors", nil })
  lu.assertEquals({ run.test.lengths, run.test.accuracy, runs.get_score(run) }, { { 1, 2 }, { 0.75, 0.25 }, 50.0 })
  lu.assertEquals({ run.validation.lengths, run.validation.accuracy }, { { 1, 2 }, { 1.0, 0.75 } })
  lu.assertEquals(#run.validation.conditions, 3)
  lu.assertEquals(run.validation.conditions[3].by, { vectors = 2, puzzle = 4 })
  lu.assertEquals(run.train.accuracy, { 1.0 })
  lu.assertEquals(run.during, { { step = 50, mean = run.during[1].sets.test, sets = {
    test = { accuracy = 0.5, exact_match = 0.25, loss = 0.5 },
    train = { accuracy = 1.0, exact_match = 0.25, loss = 0.5 } } } })
  lu.assertEquals({ runs.get_score(run, "test", "exact_match"), runs.get_score_on(run, "validation", "exact_match") },
    { 25.0, 25.0 })
  run.facts.epoch_accuracy = 0.5
  lu.assertEquals({ runs.get_score_on(run, "epoch", "accuracy"), runs.get_score_on(run, "epoch", "loss"),
    runs.get_score_on(run, "epoch", "exact_match") }, { 50.0 })
  run = runs.read(write_run("one", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "train", '"vectors":1', 0.5) }))
  lu.assertEquals({ run.state, run.is_within, run.is_trained, runs.get_score(run) }, { "evaluated", true, true, 50.0 })
  run = runs.read(write_run("third", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "validation", '"vectors":1,"puzzle":2', 0.5) }))
  lu.assertEquals({ run.state, runs.get_score(run) }, { "evaluated", 50.0 })
end

-- Lines with another frame than the training frame are separate conditions, which the score excludes.
function TestRuns.test_frames_are_separate()
  local facts = { data = { train = "addition", by = { "digits", "frame" } }, spec = reports.make_spec("addition") }
  local run = runs.read(write_run("frames", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "test", '"digits":1,"frame":0', 0) .. make_eval_line(100, "test", '"digits":1', 1)
      .. make_eval_line(100, "test", '"digits":2', 0.5) .. make_eval_line(100, "test", '"digits":2,"frame":80', 0.25)
      .. make_eval_line(100, "test", '"digits":70,"frame":80', 0) }))
  lu.assertEquals({ run.state, run.test.lengths, run.test.accuracy, runs.get_score(run) },
    { "evaluated", { 1, 2 }, { 1.0, 0.5 }, 75.0 })
  lu.assertEquals(#run.test.conditions, 5)
end

-- Noise levels are separate conditions; the score is at the least noise.
function TestRuns.test_noise_levels_are_separate()
  local facts = { data = { train = "latin_square", by = { "vectors" } }, spec = reports.make_spec("latin_square") }
  facts.spec.eval.by = { noise = { list = { 0, 0.5 } }, vectors = true }
  local run = runs.read(write_run("noise", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "validation", '"vectors":1,"noise":0', 1)
      .. make_eval_line(100, "validation", '"vectors":2,"noise":0', 0.5)
      .. make_eval_line(100, "validation", '"vectors":1,"noise":0.5', 0.25)
      .. make_eval_line(100, "validation", '"vectors":2,"noise":0.5', 0) }))
  lu.assertEquals({ run.state, run.notes }, { "evaluated", {} })
  lu.assertEquals({ run.validation.lengths, run.validation.accuracy, runs.get_score(run) },
    { { 1, 2 }, { 1.0, 0.5 }, 75.0 })
  lu.assertEquals(runs.compute_mean(runs.get_level_evaluation(run, "noise", 0.5, "validation")), 12.5)
  lu.assertEquals(runs.compute_mean(runs.get_level_evaluation(run, "noise", 0, "test")), 75.0)
  lu.assertNil(runs.get_level_evaluation(run, "noise", 1, "validation"))
  run = runs.read(write_run("loud", "rr", 1, 0.1, { exit = 0,
    eval = make_eval_line(100, "beyond", '"length":41,"noise":0.5', 0.5) .. make_eval_line(100, "beyond", 41, 1) }))
  lu.assertEquals(run.test.accuracy, { 1.0 })
  lu.assertEquals(runs.compute_mean(runs.get_level_evaluation(run, "noise", 0.5, "test")), 50.0)
end

-- Numbers of passes are separate conditions; the score is at the number of passes of training.
function TestRuns.test_numbers_of_passes_are_separate()
  local facts = { spec = reports.make_spec("reverse_string") }
  facts.spec.model.loops = { times = 4, inject = true, start = "embedding", norm = "outside" }
  facts.spec.eval.by = { passes = { first = 2, last = 4, step = 1 } }
  local run = runs.read(write_run("passes", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "beyond", '"length":41,"passes":4', 0.5)
      .. make_eval_line(100, "beyond", '"length":41,"passes":2', 1) }))
  lu.assertEquals({ run.state, run.notes, run.test.accuracy }, { "evaluated", {}, { 0.5 } })
  lu.assertEquals(runs.list_levels(run, "passes"), { 2, 4 })
  lu.assertEquals(runs.compute_mean(runs.get_level_evaluation(run, "passes", 2, "test")), 100.0)
end

-- A line may have a number on the first axis and on no other axis. Then lines with the same number and further axes
-- have other examples and do not enter the score.
function TestRuns.test_finer_conditions_are_separate()
  local facts = { data = { train = "addition", by = { "digits", "carry" } }, spec = reports.make_spec("addition") }
  facts.spec.eval.novel = false
  local run = runs.read(write_run("finer", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "test", '"digits":1', 1, ',"trained":0.5')
      .. make_eval_line(100, "test", '"digits":1,"carry":0', 0.25, ',"trained":1')
      .. make_eval_line(100, "test", '"digits":1,"carry":1', 0, ',"beyond":["carry"],"trained":0')
      .. make_eval_line(100, "test", '"digits":2,"carry":0', 0.5) .. make_eval_line(100, "test", '"digits":2,"carry":1',
        1) }))
  lu.assertEquals({ run.state, run.test.lengths, run.test.accuracy }, { "evaluated", { 1, 2 }, { 1.0, 0.75 } })
  lu.assertEquals({ run.test.conditions[1].trained, run.test.conditions[3].beyond[1] }, { 0.5, "carry" })
  run = runs.read(write_run("shares", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "test", '"digits":1', 1, ',"trained":1.5') }))
  lu.assertStrContains(run.notes[1], "eval.jsonl: line 1: trained: found 1.5; expected")
end

-- Some lines include trained examples, others ("novel") do not; the spec's eval.novel determines which count.
function TestRuns.test_lines_of_new_examples_are_separate()
  for _, novel in ipairs({ false, true }) do
    local spec = reports.make_spec("addition")
    spec.eval.novel = novel
    local run = runs.read(write_run("novel", "rr", novel and 1 or 0, 0.1, { exit = 0,
      facts = { data = { train = "addition", by = { "digits" } }, spec = spec },
      eval = make_eval_line(100, "test", '"digits":1', 0.5, ',"trained":1')
        .. make_eval_line(100, "test", '"digits":2', 1, ',"trained":0.5')
        .. make_eval_line(100, "test", '"digits":2', 0.25, ',"trained":0.5,"novel":true') }))
    lu.assertEquals(run.test.lengths, novel and { 2 } or { 1, 2 })
    lu.assertEquals(run.test.accuracy, novel and { 0.25 } or { 0.5, 1.0 })
  end
end

-- A line with all fields that a trainer writes for a decoder. changes: other values by key; false leaves a key out.
local function make_full_line(split, length, changes)
  local values = lists.merge({ decoding = '"greedy"', accuracy = 0.5, accuracy_teacher_forced = 0.75,
    exact_match = 0.25, exact_match_low = 0.125, exact_match_high = 0.375, loss = 0.5, sd_over_draws = 0,
    sd_over_sequences = 0.1 }, changes or {})
  local parts = {}
  for _, name in ipairs({ "decoding", "counted", "accuracy", "accuracy_teacher_forced", "exact_match",
    "exact_match_low", "exact_match_high", "ended_early", "not_ended", "loss", "sd_over_draws", "sd_over_sequences",
    "data" }) do
    parts[#parts + 1] = values[name] and ('"%s":%s'):format(name, values[name]) or nil
  end
  return ('{"step":100,"split":"%s","by":{"length":%d},"examples":50,"draws":1,%s}\n'):format(split, length,
    table.concat(parts, ","))
end

-- The resolved spec of a decoder; eval: replaces the spec's section.
local function make_decoder_spec(eval)
  local spec = make_spec("bucket_sort")
  spec.model.kind, spec.train.lengths = "decoder", { list = { 2, 5, 10 } }
  spec.eval = eval or spec.eval
  return spec
end

-- All fields are read in the same way by the pattern and by the JSON decoder.
function TestRuns.test_lines_with_all_fields()
  local lines = { make_full_line("in_distribution", 5, { ended_early = 0.25, not_ended = 0 }),
    make_full_line("between", 7),
    make_full_line("beyond", 20), make_full_line("validation", 5, { accuracy = 1 }) }
  local facts = { spec = make_decoder_spec() }
  local run = runs.read(write_run("today", "rr", 1, 0.1, { exit = 0, eval = table.concat(lines), facts = facts }))
  lu.assertEquals({ run.state, run.decoding, run.notes }, { "evaluated", "greedy", {} })
  lu.assertEquals({ run.test, run.train }, { run.beyond, run.in_distribution })
  lu.assertEquals({ run.between.split, run.between.lengths }, { "between", { 7 } })
  lu.assertEquals({ run.validation.accuracy, run.in_distribution.ended_early }, { { 1 }, { 0.25 } })
  lu.assertEquals({ run.beyond.exact_match_low, run.beyond.exact_match_high }, { { 0.125 }, { 0.375 } })
  lu.assertEquals({ runs.get_score(run), runs.get_score(run, "test", "accuracy_teacher_forced"),
    runs.get_score(run, "between", "exact_match") }, { 50.0, 75.0, 25.0 })
  for i, line in ipairs(lines) do
    lines[i] = line:gsub('"step":100,', ""):gsub("}\n$", ',"step":100}\n')
  end
  local slow = runs.read(write_run("slow_today", "rr", 1, 0.1, { exit = 0, eval = table.concat(lines),
    facts = facts }))
  run.dir, slow.dir = nil, nil
  lu.assertEquals(slow, run)
end

-- The lines of encoders have no fields of decoding, and a pattern of their own.
function TestRuns.test_lines_of_encoders_with_all_fields()
  local encoder = { decoding = false, accuracy_teacher_forced = false }
  local fast, slow = make_full_line("beyond", 20, encoder) .. make_full_line("beyond", 30, encoder), ""
  for line in fast:gmatch("[^\n]+") do
    slow = slow .. line:gsub('"step":100,', ""):gsub("}$", ',"step":100}\n')
  end
  local a = runs.read(write_run("encoders", "rr", 1, 0.1, { exit = 0, eval = fast }))
  local b = runs.read(write_run("slow_encoders", "rr", 1, 0.1, { exit = 0, eval = slow }))
  lu.assertEquals({ a.beyond.exact_match_low, a.beyond.sd_over_sequences }, { { 0.125, 0.125 }, { 0.1, 0.1 } })
  a.dir, b.dir = nil, nil
  lu.assertEquals(a, b)
  local invalid_line = make_full_line("beyond", 20,
    { decoding = false, accuracy_teacher_forced = false, exact_match_high = 1.5 })
  lu.assertEquals(runs.read(write_run("bad_encoders", "rr", 1, 0.1, { exit = 0, eval = invalid_line })).notes,
    { "eval.jsonl: line 1: exact_match_high: found 1.5; expected a number from 0 to 1" })
end

-- If a run has greedy and teacher-forced lines, only the lines with the spec's decoding count.
function TestRuns.test_decodings_are_not_mixed()
  local changes = { decoding = '"teacher_forced"', accuracy = false }
  local eval = make_full_line("beyond", 20, changes) .. make_full_line("beyond", 30, changes)
    .. make_full_line("beyond", 20)
  for decoding, lengths in pairs({ greedy = { 20 }, teacher_forced = { 20, 30 } }) do
    local spec = make_decoder_spec({ decoding = decoding ~= "greedy" and decoding or nil, examples = 50 })
    local run = runs.read(write_run("both_kinds", "rr", 1, 0.1, { exit = 0, eval = eval, facts = { spec = spec } }))
    lu.assertEquals({ run.decoding, run.test.lengths }, { decoding, lengths })
  end
end

-- A line without counted labels has no accuracy, and does not enter a mean.
function TestRuns.test_lines_without_counted_labels()
  local no_sequences = { counted = 0, accuracy = false, accuracy_teacher_forced = false, exact_match = false,
    exact_match_low = false, exact_match_high = false }
  local run = runs.read(write_run("uncounted", "rr", 1, 0.1, { exit = 0, facts = { spec = make_decoder_spec() },
    eval = make_full_line("beyond", 20, no_sequences) .. make_full_line("beyond", 30) }))
  lu.assertEquals({ run.notes, run.beyond.uncounted }, { {}, { true, false } })
  lu.assertEquals({ runs.get_score(run), runs.get_score(run, "test", "exact_match") }, { 50.0, 25.0 })
  run = runs.read(write_run("lacks", "rr", 1, 0.1, { exit = 0, facts = { spec = make_decoder_spec() },
    eval = make_full_line("beyond", 20, { accuracy = false }) }))
  lu.assertEquals(run.notes, { "eval.jsonl: line 1: accuracy: found nothing; expected a number from 0 to 1" })
end

-- With two axes, in_distribution is within training on both; lines beyond training on one axis or on both are separate.
function TestRuns.test_splits_of_two_axes()
  local facts = { data = { train = "addition", by = { "digits", "carry" } }, spec = reports.make_spec("addition") }
  local run = runs.read(write_run("two_axes", "rr", 1, 0.1, { exit = 0, facts = facts,
    eval = make_eval_line(100, "test", '"digits":1,"carry":0', 1)
      .. make_eval_line(100, "test", '"digits":1,"carry":5', 0.5, ',"beyond":["carry"]')
      .. make_eval_line(100, "test", '"digits":9,"carry":0', 0.25, ',"beyond":["digits"]')
      .. make_eval_line(100, "test", '"digits":9,"carry":5', 0, ',"beyond":["digits","carry"]') }))
  local scores = {}
  for i, name in ipairs({ "in_distribution", "beyond", "beyond carry", "beyond digits", "beyond carry and digits" }) do
    scores[i] = runs.get_score(run, name)
  end
  lu.assertEquals(scores, { 100.0, 31.25, 50.0, 25.0, 0.0 }) -- 31.25: the mean over digits
  lu.assertEquals({ runs.is_beyond(run, "test"), runs.is_beyond(run, "in_distribution") }, { true, false })
end

-- The score on a file weights each length by its number of examples.
function TestRuns.test_scores_of_a_file_count_examples()
  local spec = make_spec("bucket_sort")
  spec.task, spec.train.lengths, spec.eval.lengths = { data = "sums/train.jsonl" }, nil, nil
  local run = runs.read(write_run("weighted", "rr", 1, 0.1, { exit = 0, facts = { spec = spec,
    train_lengths = { 3, 4 }, data = { train = "t", eval = "e" } }, eval = make_eval_line(100, "test", 4, 1)
    .. make_eval_line(100, "test", 9, 0, BEYOND_KEY):gsub('"examples":50', '"examples":150') }))
  lu.assertEquals({ runs.get_score(run), runs.get_score(run, "in_distribution") }, { 25.0, 100.0 })
  -- A limit changes the number of evaluated examples, not the weight of a length.
  run = runs.read(write_run("capped", "rr", 1, 0.1, { exit = 0, facts = { spec = spec,
    train_lengths = { 3, 4 }, data = { train = "t", eval = "e" } }, eval = make_eval_line(100, "test", 4, 1)
    .. make_eval_line(100, "test", 9, 0, BEYOND_KEY .. ',"of":450') }))
  lu.assertEquals({ runs.get_score(run), run.test.counts, run.test.totals }, { 10.0, { 50, 50 }, { 50, 450 } })
end

function TestRuns.test_a_torn_line_is_skipped_and_reported()
  local line = make_eval_line(100, "beyond", 20, 0.5)
  local run = runs.read(write_run("torn", "rr", 1, 0.1, { exit = 0, eval = line .. line:sub(1, 60) }))
  lu.assertEquals(run.test.accuracy, { 0.5 })
  lu.assertEquals(run.notes, { "eval.jsonl: line 2 is torn, skipped" })
  local last_line = make_eval_line(100, "beyond", 21, 0.5)
  local unended_run = runs.read(write_run("unended", "rr", 1, 0.1, { exit = 0, eval = line .. last_line:sub(1, -2) }))
  lu.assertEquals({ unended_run.test.lengths, unended_run.notes }, { { 20, 21 }, {} }) -- only its newline is missing
end

function TestRuns.test_a_brace_in_a_string_of_the_spec()
  local spec = make_spec("bucket_sort")
  spec.source = "odd}name.lua"
  local run = runs.read(write_run("brace", "rr", 1, 0.1,
    { exit = 0, eval = make_scored_lines(50), facts = { spec = spec } }))
  lu.assertEquals(run.facts.spec.source, "odd}name.lua")
  lu.assertEquals(run.facts.compiler, "gcc 12")
end

function TestRuns.test_clock_skips_a_torn_line()
  local dir = write_run("clock", "rr", 1, 0.1, { exit = 0,
    metrics = '{"step":10,"loss":1,"seconds":2.5}\n{"step":20,"loss":1,"seconds":5}\n{"step":30,"sec' })
  local run = runs.read(dir)
  lu.assertEquals(runs.read_clock(run), { { 10, 2.5 }, { 20, 5 } })
  lu.assertEquals(run.notes, { "metrics.jsonl: line 3 is torn, skipped" })
end

support.run()
