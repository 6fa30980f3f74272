-- Novelty in a report: scores by length, next to shares that tell how much of a test sequence occurs in no training
-- sequence (lab/pages/novelty.lua).
--
-- Input: a study with the results of its cells (cells.lua) and get_plan (open_study.lua). Output: M.find returns, for a
-- cell, a table from lengths to shares { positions, distances, keys }, empty if they are unknown; a cell's shares are
-- computed only once. M.make_cells_table returns a table as in score_tables.lua, with rows for some lengths of each
-- cell; nil if no cell was evaluated at a length with something new.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local evaluations = require("lab.study.read.evaluations")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local novelty = require("lab.pages.novelty")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")
local statistics = require("lab.study.read.statistics")

local M = {}

M.DESCRIPTION = "shares of a test sequence that are new (not in training): tokens at later positions, pairs of a "
  .. "query and a visible key at farther distances, queries with more visible keys"

local SHARES = { "positions", "distances", "keys" }

-- Returns the scores of a cell's chosen runs, { [length] = list of scores }; and the lengths in ascending order.
local function list_scores(study, cell)
  local metric, scores, lengths = metrics.by_name[study.scored.metric], {}, {}
  for _, run in ipairs(runs.get_chosen_runs(cell)) do
    for _, evaluation in ipairs(run.axis == "length" and runs.get_curve(run, study.scored.split) or {}) do
      for i, length in ipairs(evaluation.lengths) do
        local value = tonumber((evaluation[study.scored.metric] or {})[i])
        lengths[#lengths + 1] = value and not scores[length] and length or nil
        scores[length] = scores[length] or value and {}
        table.insert(scores[length] or {}, value and metric.factor * value)
      end
    end
  end
  table.sort(lengths)
  return scores, lengths
end

-- Returns all lengths at which a run of the cell was evaluated.
local function list_evaluated(cell)
  local lengths = {}
  for _, run in ipairs(cell.runs) do
    for _, split in ipairs(run.axis == "length" and evaluations.SPLITS or {}) do
      lists.append(lengths, (run[split] or {}).lengths or {})
    end
  end
  return lists.drop_repeats(lengths)
end

function M.find(study, cell)
  if not cell.novelty then
    local plan = study.get_plan and study.get_plan(cell)
    cell.novelty = {}
    for _, entry in ipairs(plan and novelty.list(plan, list_evaluated(cell)) or {}) do
      cell.novelty[entry.length] = entry.shares
    end
  end
  return cell.novelty
end

-- Returns a share as text; "-" for nil: if the positions of an encoding are not indices, only the share `keys` exists.
local function format_share(share)
  return share and ("%.0f%%"):format(100 * share) or "-"
end

-- Returns rows for a cell: the first and the last length with something new, and some between.
local function make_rows(study, cell)
  local shares, form = M.find(study, cell), metrics.by_name[study.scored.metric].form
  local scores, lengths = list_scores(study, cell)
  local new_lengths = lists.filter(lengths, function(length)
    return lists.any(SHARES, function(name) return ((shares[length] or {})[name] or 0) > 0 end)
  end)
  return lists.map(novelty.choose_lengths(new_lengths), function(length)
    return lists.append({ score_tables.format_key(study, cell), ("%d"):format(length),
      form:format(statistics.mean(scores[length])), cell = cell },
      lists.map(SHARES, function(name) return format_share(shares[length][name]) end))
  end)
end

function M.make_cells_table(study)
  local metric = metrics.by_name[study.scored.metric]
  local rows = lists.collect(study.cells, function(cell) return make_rows(study, cell) end)
  return rows[1] and entries.tabulate({ name = "novelty",
    title = ("Novelty: mean %s in %s by length, next to what is new in a test sequence"):format(metric.title,
      metric.unit),
    caption = captions.join(M.DESCRIPTION .. "; -: positions are not indices", captions.name_rates(study)),
    heads = { "cell", "length", "score", "positions", "distances", "keys" }, rows = rows }) or nil
end

return M
