-- The number of passes after which models with loops stop: the number of training; the task length of each example
-- (the oracle); or the number at which the model is most confident.
--
-- Input: a run (runs.lua). Output: whether it stops by the oracle; the evaluation of a split (evaluations.lua) with the
-- passes that confidence chooses.

local lists = require("base.lists")
local runs = require("lab.study.read.runs")

local M = {}

-- Whether the number of passes of a run's own score is the task length of each example, which no model determines
-- itself.
function M.uses_oracle(run)
  return lists.get(run.facts, "spec.model.loops.times") == "length"
end

-- Returns the evaluation of a split in which each length has the number of passes with the least uncertainty, the same
-- for all examples of the length; this choice needs no labels (Fan et al. 2024). nil unless several numbers of passes
-- were evaluated.
function M.choose_by_confidence(run, split)
  local levels = lists.map(runs.list_levels(run, "passes"), function(value)
    return runs.get_level_evaluation(run, "passes", value, split)
  end)
  local lengths = levels[1] and levels[1].lengths or {}
  local is_complete = levels[2] and not lists.any(levels, function(level)
    return #level.lengths ~= #lengths or not level.uncertainty or lists.any(level.uncertainty, function(value)
      return not tonumber(value)
    end)
  end)
  local chosen_levels = is_complete and lists.map(lengths, function(_, i)
    local best = levels[1]
    for _, level in ipairs(levels) do
      best = tonumber(level.uncertainty[i]) < tonumber(best.uncertainty[i]) and level or best
    end
    return best
  end)
  local function list(name)
    return lists.map(chosen_levels, function(level, i) return level[name][i] end)
  end
  return chosen_levels and { split = split, lengths = lengths, counts = list("counts"), accuracy = list("accuracy"),
    exact_match = list("exact_match"), loss = list("loss") } or nil
end

return M
