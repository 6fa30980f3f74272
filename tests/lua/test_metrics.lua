-- Metrics of scores: the metric of a study, the unit of scores, and the threshold of generalisation.

local support = dofile("tests/lua/support.lua")

local entries = require("lab.study.report.tables.table_entries")
local lu = require("luaunit")
local measures = require("spec.measures")
local metrics = require("lab.study.read.metrics")
local reports = require("reports")
local runs = require("lab.study.read.runs")

TestMetrics = { tearDown = support.clean }

-- Returns a study of one cell with a model of this kind. report: the items of the study's report.
local function make_study(kind, report)
  return { report = report, cells = { { runs = {}, spec = { resolved = { model = { kind = kind } } } } } }
end

-- Answers that are decoded token by token are scored by exact match; papers keep their metric and their threshold.
function TestMetrics.test_the_default_follows_model_and_paper()
  local default_criterion = { metric = "exact_match", above = 99 }
  local paper = { { kind = "table", published = "ruoss_2023/table1" } }
  for _, case in ipairs({ -- { study, fields of its report, expected metric, expected criterion of generalisation }
    { make_study("encoder"), {}, "accuracy", default_criterion },
    { make_study("decoder"), {}, "exact_match", default_criterion },
    { make_study("encoder_decoder"), {}, "exact_match", default_criterion },
    { make_study("encoder", paper), {}, "accuracy", { metric = "accuracy", above = 90 } },
    { make_study("decoder", { { kind = "curves", setting = "ruoss_2023/setting" } }), {}, "accuracy",
      { metric = "accuracy", above = 90 } },
    { make_study("encoder_decoder", paper), { metric = "exact_match" }, "exact_match",
      { metric = "exact_match", above = 90 } },
    { make_study("decoder", paper), { metric = "loss" }, "loss", default_criterion },
    { make_study("decoder"), { metric = "accuracy" }, "accuracy", default_criterion },
    { make_study("decoder"), { generalises = { metric = "accuracy", above = 95 } }, "exact_match",
      { metric = "accuracy", above = 95 } },
  }) do
    local scored = metrics.complete_scored(case[1], case[2])
    lu.assertEquals({ scored.split, scored.select or "", scored.metric, scored.generalises }, { "test", "", case[3],
      case[4] })
  end
  local mixed_study = make_study("encoder")
  mixed_study.cells[2] = make_study("decoder").cells[1]
  lu.assertEquals(metrics.complete_scored(mixed_study, {}).metric, "exact_match")
end

-- The run.json of a run in a folder records the kind of its model.
function TestMetrics.test_runs_without_a_study()
  local study = { cells = { { runs = { { facts = {} }, { facts = { spec = { model = { kind = "decoder" } } } } } } } }
  lu.assertEquals(metrics.complete_scored(study, {}).metric, "exact_match")
end

function TestMetrics.test_chance_belongs_to_token_accuracies()
  local names_with_chance = {}
  for _, name in ipairs(metrics.NAMES) do
    names_with_chance[#names_with_chance + 1] = metrics.by_name[name].has_chance and name or nil
  end
  lu.assertEquals(names_with_chance, { "accuracy", "accuracy_teacher_forced" })
end

-- Shares are in percent, a loss is in nats; a line without the metric gives no score.
function TestMetrics.test_scores_have_the_unit_of_their_metric()
  local evaluation = { lengths = { 5, 6 }, accuracy = { 0.5, 0.75 }, exact_match = { "0.25", "" },
    loss = { "0.5", "1.5" } }
  lu.assertEquals({ runs.compute_mean(evaluation, "accuracy"), runs.compute_mean(evaluation, "loss") }, { 62.5, 1 })
  lu.assertNil(runs.compute_mean(evaluation, "exact_match"))
  lu.assertNil(runs.compute_mean(evaluation, "accuracy_teacher_forced"))
end

-- The best learning rate, and the best run, is the one with the least loss.
function TestMetrics.test_the_least_loss_is_the_best()
  local study = reports.make_study("loss", reports.SCORES, { split = "test", metric = "loss" })
  local summary = study.cells[1].summary
  lu.assertEquals({ summary.best_score, summary.best_rate.mean, entries.name_metric(study) }, { 0.5, 0.5, "loss" })
  lu.assertEquals({ metrics.is_better("loss", 0.4, 0.5), metrics.is_better("loss", 0.5, 0.4),
    metrics.is_better("accuracy", 0.5, 0.4), metrics.is_better("accuracy", 0.4, nil) }, { true, false, true, true })
end

-- The share that generalises depends on the criterion, not on the metric of the scores.
function TestMetrics.test_share_of_runs_that_generalise()
  local function get_share(scored)
    return reports.make_study("good", reports.SCORES, scored).cells[2].summary.generalising_share
  end
  lu.assertEquals(get_share({ generalises = { metric = "accuracy", above = 96 } }), 2 / 6)
  lu.assertEquals(get_share({ generalises = { metric = "exact_match", above = 24 } }), 1)
  lu.assertEquals(get_share({}), 0) -- all lines have an exact match of 0.25
  lu.assertEquals(metrics.format_criterion({ metric = "exact_match", above = 99.9 }), "exact match above 99.9%")
end

function TestMetrics.test_names_of_metrics()
  lu.assertEquals(#metrics.NAMES, 4)
  for _, name in ipairs(metrics.NAMES) do
    lu.assertNotNil(measures.by_name[name].title, name)
  end
end

support.run()
