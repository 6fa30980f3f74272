-- The chosen learning rate of a cell, captions of reports, and evaluations that must not be mixed.

local support = dofile("tests/lua/support.lua")

local captions = require("lab.study.report.tables.captions")
local cells = require("lab.study.read.cells")
local claims = require("lab.study.report.tables.claims")
local cost = require("lab.study.report.tables.cost")
local draw = require("lab.study.report.figures.draw")
local entries = require("lab.study.report.tables.table_entries")
local figures = require("lab.study.report.figures.figures")
local items = require("lab.study.report.items")
local lists = require("base.lists")
local lu = require("luaunit")
local all_metrics = require("lab.study.report.tables.all_metrics")
local report = require("lab.study.report.report")
local reports = require("reports")
local score_tables = require("lab.study.report.tables.score_tables")

local get_root, make_eval_line = reports.get_root, reports.make_eval_line
local make_spec, write_run = reports.make_spec, reports.write_run

-- Tests of captions draw no pictures.
function draw.run()
  return nil, "no pictures"
end

-- Returns a line of eval.jsonl of a decoder with greedy answers. values: { accuracy, teacher-forced accuracy, exact
-- match, ended = text of further fields or nil, loss = loss or nil }.
local function make_decoder_line(split, length, values)
  return ('{"step":100,"split":"%s","by":{"length":%d},"examples":50,"draws":1,"decoding":"greedy","accuracy":%g,'
    .. '"accuracy_teacher_forced":%g,"exact_match":%g,"exact_match_low":%g,"exact_match_high":%g%s,"loss":%g,'
    .. '"sd_over_draws":0,"sd_over_sequences":0.1}\n'):format(split, length, values[1], values[2], values[3],
    math.max(0, values[3] - 0.1), math.min(1, values[3] + 0.1), values.ended or "", values.loss or 1)
end

local function make_decoder_spec()
  local spec = make_spec("reverse_string")
  spec.model.kind = "decoder"
  return spec
end

-- Writes and reads the runs of one cell; returns the cell and its study.
--   by_rate    { [learning rate] = { text of eval.jsonl of seed 0, of seed 1, ... } }
--   facts      fields of run.json
--   scored     the field `scored` of the study; nil for a folder without a study
local function write_cell(name, by_rate, facts, scored)
  local dir
  for rate, list in pairs(by_rate) do
    for i, eval in ipairs(list) do
      dir = write_run(name, "reverse_string_rope", i - 1, rate, { exit = 0, eval = eval, facts = facts })
    end
  end
  local study = cells.read_folder(get_root(dir))
  if scored then
    local cell_runs = lists.map(study.cells[1].runs, function(run)
      return { seed = run.seed, learning_rate = run.learning_rate, dir = run.dir:sub(#get_root(dir) + 2) }
    end)
    study = cells.read_study({ name = "s", axes = study.axes, scored = scored, cells = { { key = study.cells[1].key,
      id = "reverse_string_rope", runs = cell_runs } } }, get_root(dir))
  end
  return study.cells[1], study
end

TestChoice = {}

-- If examples determine the number of passes, captions of tables name the oracle; if it is constant, they do not.
function TestChoice.test_passes_by_length_or_axis_are_called_the_oracle()
  local phrases = { length = "Stopped by the oracle: as many passes as the task length.",
    digits = "Stopped by the oracle: as many passes as the number on the axis digits." }
  for name, times in pairs({ oracle = "length", oracle_of_axis = "digits", fixed = 4 }) do
    local spec = make_spec("reverse_string")
    spec.model.loops = { times = times, inject = false, start = "embedding", norm = "outside" }
    local _, study = write_cell(name, { [0.1] = { make_eval_line(100, "beyond", 20, 0.5) } }, { spec = spec })
    local caption = captions.describe(study, true)
    lu.assertEquals(caption:match("Stopped by the oracle[^.]*%."), phrases[times])
  end
end

-- A claim with the field `passes` uses the score after this number of passes.
function TestChoice.test_claims_after_a_number_of_passes()
  local spec = make_spec("reverse_string")
  spec.model.loops = { times = "length", inject = false, start = "embedding", norm = "outside" }
  spec.eval.by = { passes = { first = 2, last = 2, step = 1 } }
  local _, study = write_cell("claimed", { [0.1] = { make_eval_line(100, "beyond", 20, 0.95)
    .. make_eval_line(100, "beyond", '"length":20,"passes":2', 0.25) } }, { spec = spec })
  local function list_texts(passes)
    local contents = claims.make_table(study, { kind = "claim", rows = "encoding", at = { 20 }, bound = { above = 90 },
      passes = passes })
    return lists.map(contents.rows[1].cells, function(entry) return entry.texts[1] end)
  end
  lu.assertEquals(list_texts(nil), { "95.0", "1 of 1" })
  lu.assertEquals(list_texts(2), { "25.0", "0 of 1" })
end

-- Returns texts of eval.jsonl for the learning rates 0.1 (a) and 0.2 (b). At lengths beyond training, 0.2 is better.
--   extra_a, extra_b          further lines
--   accuracy_a, accuracy_b    accuracy at training lengths; nil for no such line
local function make_two_rates(extra_a, extra_b, accuracy_a, accuracy_b)
  local function make_lines(accuracy_within, accuracy_beyond, extra)
    return (accuracy_within and make_eval_line(100, "in_distribution", 5, accuracy_within) or "")
      .. make_eval_line(100, "beyond", 20, accuracy_beyond) .. (extra or "")
  end
  return { [0.1] = { make_lines(accuracy_a, 0.25, extra_a) }, [0.2] = { make_lines(accuracy_b, 0.75, extra_b) } }
end

function TestChoice.test_rates_are_chosen_in_distribution()
  local cell, study = write_cell("in_distribution", make_two_rates(nil, nil, 0.9, 0.5))
  lu.assertEquals({ cell.summary.best_rate.rate, cell.summary.choice.set, cell.summary.best_score },
    { 0.1, "in_distribution", 75.0 })
  lu.assertEquals(captions.name_rates(study),
    "learning rate chosen at training lengths (in_distribution), by the best mean over seeds")
  lu.assertNil(entries.join_cautions(cell, "median", { value = 25 }))
end

-- If there is a validation stream, the rate is chosen on this stream.
function TestChoice.test_a_validation_stream_comes_first()
  local cell, study = write_cell("stream", make_two_rates(make_eval_line(100, "validation", 5, 0.5),
    make_eval_line(100, "validation", 5, 0.75), 0.9, 0.5))
  lu.assertEquals({ cell.summary.best_rate.rate, cell.summary.choice.set }, { 0.2, "validation" })
  lu.assertStrContains(captions.name_rates(study), "chosen on the validation stream (in_distribution)")
end

-- A choice is marked if all evaluations are beyond training.
function TestChoice.test_a_choice_beyond_training_is_marked()
  local cell, study = write_cell("beyond", make_two_rates())
  lu.assertEquals({ cell.summary.best_rate.rate, cell.summary.choice.is_beyond, cell.summary.choice.is_scored },
    { 0.2, true, true })
  lu.assertEquals(entries.join_cautions(cell, "median", { value = 75 }),
    "the learning rate was chosen on examples beyond training")
  lu.assertStrContains(captions.name_rates(study), "chosen on the scored examples, beyond training")
  lu.assertEquals(captions.name_chosen(cell), "beyond (scored)")
end

-- If the study names the set on which rates are chosen, no cell is marked.
function TestChoice.test_a_study_may_name_the_set()
  local cell, study = write_cell("named", make_two_rates(nil, nil, 0.9, 0.5), nil, { split = "test", select = "test" })
  lu.assertEquals({ cell.summary.best_rate.rate, cell.summary.choice.set, cell.summary.choice.is_named },
    { 0.2, "test", true })
  lu.assertStrContains(captions.name_rates(study), "chosen on the scored examples, beyond training")
  lu.assertNil(entries.join_cautions(cell, "median", { value = 75 }))
end

function TestChoice.test_loss_decides_between_equal_scores()
  local function make_lines(loss)
    return (make_eval_line(100, "in_distribution", 5, 1):gsub('"loss":0.5', '"loss":' .. loss))
      .. make_eval_line(100, "beyond", 20, 0.5)
  end
  local cell = write_cell("equal",
    { [0.1] = { make_lines(0.25) }, [0.2] = { make_lines(0.125) }, [0.3] = { make_lines(0.125) } })
  lu.assertEquals(cell.summary.best_rate.rate, 0.2)
end

-- Without a validation set, the rate is chosen on the part in_distribution of the test set.
function TestChoice.test_without_validation_the_test_file_chooses_the_rate()
  local spec = make_spec("bucket_sort")
  spec.task, spec.train.lengths, spec.eval.lengths = { data = "sums/train.jsonl" }, nil, nil
  local facts = { spec = spec, train_lengths = { 3, 4 }, data = { train = "t", eval = "e" } }
  local function make_lines(accuracy_within, accuracy_beyond)
    return make_eval_line(100, "test", 4, accuracy_within)
      .. make_eval_line(100, "test", 9, accuracy_beyond, ',"beyond":["length"]')
  end
  local cell, study = write_cell("file", { [0.1] = { make_lines(1, 0) }, [0.2] = { make_lines(0.5, 1) } }, facts)
  lu.assertEquals({ cell.summary.best_rate.rate, cell.summary.choice.set }, { 0.1, "in_distribution" })
  lu.assertStrContains(captions.name_rates(study), "chosen on the part in_distribution of the set test")
  lu.assertStrContains(captions.name_grid(study), "share of 100 examples, 2 lengths 4..9, on the set test")
end

TestCaptions = {}

function TestCaptions.test_the_first_table_is_a_median()
  local seeds = {}
  for seed, accuracy_beyond in ipairs({ 0.5, 0.25, 0.625 }) do
    seeds[seed] = make_eval_line(100, "in_distribution", 5, 1) .. make_eval_line(100, "beyond", 20, accuracy_beyond)
  end
  local _, study = write_cell("median", { [0.1] = seeds })
  local contents = score_tables.tabulate(study, assert(items.check(study))[1])
  lu.assertEquals(contents.rows[1].cells[1].texts, { "50.0 (25.0 to 62.5; 3)" })
  lu.assertEquals(contents.title, "Accuracy in percent: median, least to most and number of seeds, at the chosen "
    .. "learning rate")
  lu.assertEquals(contents.caption, "Length 20, beyond training. One learning rate for each cell.")
end

-- A cell is marked if its lengths differ from the lengths of most cells.
function TestCaptions.test_other_grids_are_marked()
  local dir
  for seed = 0, 2 do
    for _, name in ipairs({ "rope", "alibi" }) do
      write_run("grids", "bucket_sort_" .. name, seed, 0.1, { exit = 0, eval = make_eval_line(100, "beyond", 20, 0.5)
        .. (name == "rope" and make_eval_line(100, "beyond", 30, 0.25) or "") })
    end
    dir = write_run("grids", "bucket_sort_none", seed, 0.1, { exit = 0, eval = make_eval_line(100, "beyond", 20, 0.5)
      .. make_eval_line(100, "beyond", 30, 0.25) })
  end
  local study = cells.read_folder(get_root(dir))
  lu.assertEquals(captions.name_grid(study),
    "mean over 2 lengths 20..30, beyond training; cells of another grid are marked")
  local notes = lists.map(study.cells, function(cell)
    return entries.join_cautions(cell, "median", { value = 1 }) or ""
  end)
  lu.assertEquals(notes, { "another grid: length 20", "", "" })
end

function TestCaptions.test_decodings_are_not_mixed_in_a_cell()
  local forced_line = make_eval_line(100, "beyond", 20, 0.75)
    :gsub('"accuracy"', '"decoding":"teacher_forced","accuracy_teacher_forced"')
  local cell, study = write_cell("mixed",
    { [0.1] = { make_decoder_line("beyond", 20, { 0.25, 0.75, 0.125 }), forced_line, forced_line } },
    { spec = make_decoder_spec() })
  lu.assertEquals({ cell.summary.evaluated, cell.summary.decoding, cell.summary.other_decoding_count },
    { 1, "greedy", 2 })
  lu.assertStrContains(entries.join_cautions(cell, "median", { value = 1 }),
    "1 of 3 runs: 2 not evaluated; only greedy evaluations are scored; 2 runs have others")
  lu.assertEquals(cell.summary.scores, { 12.5 })
  lu.assertStrContains(cell.runs[2].notes[1], "its evaluations are teacher-forced, evaluations of other runs are "
    .. "greedy")
  lu.assertEquals(captions.describe_decoding(study), "greedy answers, answer length given")
  local _, forced_study = write_cell("forced", { [0.1] = { forced_line } }, { spec = make_decoder_spec() })
  lu.assertEquals({ forced_study.scored.metric, forced_study.cells[1].summary.scores }, { "exact_match", { 25.0 } })
  lu.assertEquals(captions.describe_decoding(forced_study),
    "evaluated teacher-forced: the model reads the target's tokens")
end

-- The table of all metrics has a column for each set, with a sub-column for each metric.
function TestCaptions.test_every_set_and_metric()
  local _, study = write_cell("measured",
    { [0.1] = { make_decoder_line("validation", 5, { 1, 1, 1, ended = ',"ended_early":0' })
    .. make_decoder_line("in_distribution", 5, { 0.5, 0.75, 0.25 }) .. make_decoder_line("beyond", 20, { 0.25, 0.625, 0,
    ended = ',"ended_early":0.5,"not_ended":0' }) } }, { spec = make_decoder_spec() })
  local contents = all_metrics.make_cells_table(study)
  lu.assertEquals({ contents.subs, #contents.columns, contents.columns[3].title }, { { "exact match", "accuracy",
    "teacher-forced" }, 3, "beyond" })
  lu.assertEquals(contents.rows[1].cells[1].texts, { "100.0", "100.0", "100.0" })
  lu.assertEquals(contents.rows[1].cells[3].texts, { "0.0", "25.0", "62.5" })
  lu.assertEquals(captions.describe_decoding(study), "greedy answers, ended by the model")
  lu.assertStrContains(captions.describe(study, true), "Greedy answers, ended by the model. One learning rate")
end

-- A curve's band is the confidence interval of a single seed, or the quartiles of several seeds.
function TestCaptions.test_a_band_is_an_interval_of_one_seed_or_of_several()
  local lines = make_decoder_line("beyond", 20, { 0.25, 0.75, 0.5 })
  local item = { kind = "curves", lines = "encoding" }
  local _, study = write_cell("one_seed", { [0.1] = { lines } }, { spec = make_decoder_spec() })
  local figure = figures.make_by_length(study, item)
  lu.assertEquals(figure.panels[1].curves[1].band, { { 20, 40.0, 60.0 } })
  lu.assertStrContains(figure.caption, "the band of a single seed is the 95% Wilson interval of its exact match")
  lu.assertStrContains(figure.caption, "Greedy answers, answer length given.")
  lu.assertNotStrContains(figure.caption, "chance")
  _, study = write_cell("seeds", { [0.1] = { lines, lines, lines } }, { spec = make_decoder_spec() })
  figure = figures.make_by_length(study, item)
  lu.assertEquals(figure.panels[1].curves[4].band, { { 20, 50.0, 50.0 } })
  lu.assertNotStrContains(figure.caption, "Wilson")
  lu.assertStrContains(figure.caption, "quartiles of the seeds")
end

-- The cost of a run follows from the tokens and operations of its plan.
function TestCaptions.test_cost_of_a_run()
  local cell, study = write_cell("cost", make_two_rates(nil, nil, 0.9, 0.5),
    { parameters = 1234567, train_seconds = 120 })
  study.get_plan = function()
    return { mean_tokens = 10.5, train = { batch = 8 }, flops_per_step = 2e9, task = {}, parameters = 1234567 }
  end
  lu.assertEquals(cost.compute(study, cell, cell.summary.best_run), { parameters = 1234567, tokens = 8400.0,
    flops = 2e11, is_upper_bound = false })
  local texts = lists.map(cost.make_cells_table(study).rows[1].cells, function(entry) return entry.texts[1] end)
  lu.assertEquals(texts, { "0.1, 0.2", "0.1", "in_distribution", "1,234,567", "8,400", "2.00e+11", "2 min 00 s",
    "4 min 00 s" })
end

-- A requested metric is in titles, tables and files.
function TestCaptions.test_another_metric()
  local dir = write_run("metric", "reverse_string_rope", 0, 0.1, { exit = 0, facts = { spec = make_decoder_spec() },
    eval = make_decoder_line("in_distribution", 5, { 1, 1, 1 }) .. make_decoder_line("beyond", 20,
      { 0.25, 0.75, 0.125 }) })
  local root = get_root(dir)
  local function print_report(metric)
    local _, _, output = reports.run_verb(report.run, { project = reports.project, runs = root, metric = metric,
      no_cache = true })
    return (output:gsub("%s+", " "))
  end
  lu.assertStrContains(print_report(), "A score is the exact match at the last step, in percent. Length 20, beyond "
    .. "training. Greedy answers, answer length given.")
  lu.assertStrContains(print_report("accuracy_teacher_forced"), "Teacher-forced accuracy in percent: median")
  lu.assertStrContains(support.read(root .. "/report/runs.csv"), ",accuracy_teacher_forced,beyond,75,,,1,,greedy,")
  lu.assertStrContains(print_report("loss"), "A score is the loss at the last step, in nats.")
end

support.run()
