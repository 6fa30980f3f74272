-- Costs of a study's runs: parameters, tokens, operations, times, and the learning rates that were tried.
--
-- Input: a study with the results of its cells (cells.lua) and get_plan (open_study.lua). Output: M.make_cells_table
-- returns a table (score_tables.lua); M.compute returns the cost of one run, with nil for unknown numbers:
--   parameters   the number of parameters
--   tokens       the number of tokens, of all streams, in the sequences of the whole training
--   flops        floating-point operations: the plan's number for a step times the number of steps
--   is_upper_bound   true for a user's own dataset files: tokens and flops are upper bounds, computed with the longest
--                    sequence. For other tasks they are means over the training lengths

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local score_tables = require("lab.study.report.tables.score_tables")
local wording = require("base.wording")

local M = {}

local MAX_RATES = 4 -- more rates are not listed one by one

function M.compute(study, cell, run)
  local plan, steps = study.get_plan and study.get_plan(cell), run.test and run.test.step or run.facts.step
  local cost = { parameters = run.facts.parameters or plan and plan.parameters }
  if plan and steps then
    cost.tokens, cost.flops = plan.mean_tokens * plan.train.batch * steps, plan.flops_per_step * steps
    cost.is_upper_bound = plan.task.data and not plan.task.data.is_generated or false
  end
  return cost
end

function M.format_count(value)
  if not value then
    return entries.MISSING
  elseif value >= 1e9 then
    return ("%.2e"):format(value)
  end
  local text = ("%d"):format(value // 1)
  for end_of_group = #text - 3, 1, -3 do
    text = text:sub(1, end_of_group) .. "," .. text:sub(end_of_group + 1)
  end
  return text
end

local function format_rates(rates)
  local texts = lists.map(rates, function(rate) return rate.rate > 0 and ("%g"):format(rate.rate) or nil end)
  if #texts > MAX_RATES then
    return ("%d, %s to %s"):format(#texts, texts[1], texts[#texts])
  end
  return #texts > 0 and table.concat(texts, ", ") or entries.MISSING
end

local function make_row(study, cell)
  local best_rate, best_run, hours = cell.summary.best_rate, cell.summary.best_run, cell.summary.hours
  local cost = best_run and M.compute(study, cell, best_run) or {}
  local prefix, time = cost.is_upper_bound and "at most " or "", hours.mean and 3600 * hours.mean
  return { score_tables.format_key(study, cell), format_rates(cell.summary.rates),
    best_rate and ("%g"):format(best_rate.rate) or entries.MISSING,
    captions.name_chosen(cell) or best_run and "one rate" or entries.MISSING, M.format_count(cost.parameters),
    cost.tokens and prefix .. M.format_count(cost.tokens) or "not known",
    cost.flops and prefix .. ("%.2e"):format(cost.flops) or "not known",
    time and wording.format_duration(time) or entries.MISSING,
    time and wording.format_duration(time * hours.count) or entries.MISSING, cell = cell }
end

function M.make_cells_table(study)
  if not lists.find(study.cells, function(cell) return cell.summary.best_run end) then
    return nil
  end
  local caption = "Tokens and operations (FLOPs) of training are those of one run: means over its training lengths, "
    .. "multiplied by its number of steps. Times are durations of training, without evaluation: the mean of a run, and "
    .. "the sum of all runs."
  return entries.tabulate({ name = "cost", title = "What it took", caption = caption, heads = { "cell", "rates tried",
    "chosen", "chosen on", "parameters", "tokens", "FLOPs", "run time", "all runs" },
    rows = lists.map(study.cells, function(cell) return make_row(study, cell) end) })
end

return M
