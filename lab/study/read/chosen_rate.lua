-- The choice of a cell's learning rate, and of the examples that decide it.
--
-- Input: the runs of a cell that have a score, and `scored` of a study ({ split, select, metric }, metrics.lua). Output
-- of M.of: { set, beyond, scored, named, rates }. set: the name of the deciding evaluation (runs.evaluation). beyond:
-- whether some of its examples are beyond training. scored: whether scores are on this set, too. named: whether the
-- study names the set. rates: the number of rates with a score. If the study names no set (select), it is the first of
-- these on which all runs were evaluated: validation (a separate stream or a set of dataset files), the in_distribution
-- part of the test, the scored set.

local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")

local M = {}

local IN_DISTRIBUTION = { "validation", "in_distribution" }

local function set_of(list, scored)
  return scored.select or lists.find(IN_DISTRIBUTION, function(set)
    return set ~= scored.split and list[1]
      and not lists.find(list, function(run) return not runs.score(run, set, scored.metric) end)
  end) or scored.split
end

function M.of(list, scored)
  local set = set_of(list, scored)
  local choice = { set = set, named = scored.select ~= nil, beyond = false, scored = false,
    rates = #lists.group(list, function(run) return run.learning_rate or false end) }
  for _, run in ipairs(list) do
    local evaluation = runs.evaluation(run, set)
    choice.beyond = choice.beyond or runs.is_beyond(run, set)
    choice.scored = choice.scored or evaluation ~= nil and evaluation == runs.evaluation(run, scored.split)
  end
  return choice
end

local function mean_of(list, set, metric)
  return statistics.mean(lists.map(list, function(run) return runs.score(run, set, metric) end))
end

-- Whether a rate is better than `best`, a lower rate: by its mean on the deciding set; if the means are equal, by the
-- loss there, unless the study names the set. If the losses are equal, too, it is not better.
local function is_better(rate, best, metric, choice)
  if not best or rate.chosen_by ~= best.chosen_by then
    return metrics.is_better(metric, rate.chosen_by, best and best.chosen_by)
  end
  return not choice.named and rate.loss ~= nil and best.loss ~= nil and rate.loss < best.loss
end

-- Returns the best of a cell's rates, which are in ascending order and have `runs`; nil if no rate has a score on the
-- deciding set. Sets chosen_by and loss of each rate, the means on that set.
function M.best(rates, metric, choice)
  local best
  for _, rate in ipairs(rates) do
    rate.chosen_by, rate.loss = mean_of(rate.runs, choice.set, metric), mean_of(rate.runs, choice.set, "loss")
    if rate.chosen_by and is_better(rate, best, metric, choice) then
      best = rate
    end
  end
  return best
end

return M
