-- A table of a report: a claim about the scores of single seeds, and whether the runs show it.
--
-- Input: a study with the results of its cells (cells.lua), an item { rows, at, bound, passes }:
--   rows     the name of an axis; each of its values has a row
--   at       numbers on the axis of the evaluation, such as lengths; each number has a column
--   bound    { above = score } or { below = score }
--   passes   the number of passes of models with loops; nil: as many as in training
-- Output: a table as in score_tables.lua. An entry lists the scores of all seeds at the chosen learning rate. The last
-- column counts the seeds that meet the bound at all numbers. The runs show the claim if all requested seeds of all
-- rows have run and meet the bound.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local numbers = require("lab.study.report.tables.numbers")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

-- Returns the evaluations of a run with the requested passes.
local function list_evaluations(run, study, item)
  local splits = { "in_distribution", "between", "beyond" }
  return item.passes and lists.map(runs.has_sets(run) and { study.scored.split } or splits, function(split)
    return runs.get_level_evaluation(run, "passes", item.passes, split)
  end) or runs.get_curve(run, study.scored.split)
end

local function meets(bound, score)
  return score ~= nil and (not bound.above or score > bound.above) and (not bound.below or score < bound.below)
end

-- Makes a row. Adds the numbers of its seeds to the fields of `counts`:
--   requested   all requested seeds
--   scored      seeds with scores at all numbers
--   meeting     seeds that meet the bound at all numbers
local function make_row(study, item, row, counts)
  local form, list = metrics.by_name[study.scored.metric].form, runs.get_chosen_runs(row.cell)
  local meeting_count, scored_count = 0, 0
  local texts = lists.map(item.at, function() return {} end)
  for _, run in ipairs(list) do
    local evaluations, meets_bound, has_scores = list_evaluations(run, study, item), true, true
    for i, n in ipairs(item.at) do
      local score = numbers.find_score(evaluations, study.scored.metric, n)
      texts[i][#texts[i] + 1] = score and form:format(score) or entries.MISSING
      meets_bound, has_scores = meets_bound and meets(item.bound, score), has_scores and score ~= nil
    end
    meeting_count, scored_count = meeting_count + (meets_bound and 1 or 0), scored_count + (has_scores and 1 or 0)
  end
  local rate = row.cell and (row.cell.summary.best_rate or row.cell.summary.rates[1])
  local requested_count = rate and rate.requested or 0
  for name, number in pairs({ requested = requested_count, scored = scored_count, meeting = meeting_count }) do
    counts[name] = counts[name] + number
  end
  local columns = lists.map(texts, function(scores)
    return #scores > 0 and table.concat(scores, ", ") or entries.MISSING
  end)
  columns[#columns + 1] = ("%d of %d"):format(meeting_count, requested_count)
  return lists.append({ row.label, cell = row.cell }, columns)
end

local function describe(counts)
  local missed_count = counts.scored - counts.meeting
  local is_open = counts.requested == 0 or counts.scored < counts.requested
  if missed_count > 0 then
    return ("Not shown: %d of %d runs with a score miss the bound"):format(missed_count, counts.scored)
  end
  return is_open and ("Open: %d of %d runs have a score, and all of them meet the bound"):format(counts.scored,
    counts.requested) or ("Shown by all %d runs"):format(counts.requested)
end

function M.make_table(study, item)
  local axis, counts = numbers.find_axis(study) or "length", { requested = 0, scored = 0, meeting = 0 }
  local rows = lists.map(score_tables.list_along(study, item, item.rows), function(row)
    return make_row(study, item, row, counts)
  end)
  local metric = metrics.by_name[study.scored.metric]
  local claim = ("%s %s %g %s with every seed%s"):format(metric.title, item.bound.above and "above" or "below",
    item.bound.above or item.bound.below, metric.unit, item.passes and (", after %d passes"):format(item.passes) or "")
  local heads = lists.map(item.at, function(n) return score_tables.label(study, axis, n) end)
  return entries.tabulate({ title = score_tables.make_title(item, claim), rows = rows,
    caption = captions.join(describe(counts), item.title and claim, captions.describe_decoding(study),
      not item.passes and captions.name_stopping(study), captions.name_rates(study)),
    heads = lists.join({ item.rows }, lists.append(heads, { "seeds that meet the bound" })) })
end

return M
