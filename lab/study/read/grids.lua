-- Grids: the lengths or conditions over which a score is averaged.
--
-- Input: evaluations (evaluations.lua), or cells whose runs were read. Output: a grid { key, text }: key identifies the
-- grid; text describes it, as in "mean over 9 lengths 60..500".

local lists = require("base.lists")
local runs = require("lab.study.read.runs")
local wording = require("base.wording")

local M = {}

-- The numbers of an axis, in words: "9 lengths 60..500", "length 60", "3 values of digits 6..50".
local function numbers_text(axis, lengths)
  local first, last = lengths[1], lengths[#lengths]
  if #lengths == 1 then
    return ("%s %g"):format(axis, first)
  elseif axis == "length" then
    return ("%d lengths %g..%g"):format(#lengths, first, last)
  end
  return ("%d values of %s %g..%g"):format(#lengths, axis, first, last)
end

-- The grid of an evaluation of a run.
local function grid_of(run, evaluation)
  local text = numbers_text(run.axis, evaluation.lengths)
  if evaluation.weighted then
    local count = lists.sum(evaluation.counts, function(examples) return examples end)
    local total = lists.sum(evaluation.totals or evaluation.counts, function(examples) return examples end)
    text = ("share of %s, %s"):format(total > count and ("%d examples, by %d of them"):format(total, count)
      or wording.count(count, "example"), text)
  elseif #evaluation.lengths > 1 then
    text = "mean over " .. text
  end
  return { text = text, key = ("%s %s"):format(run.axis, table.concat(evaluation.lengths, ",")) }
end

-- The most frequent grid of the runs in a list on a set; of equally frequent grids, the first. nil without runs.
function M.usual(list, set)
  local grids = lists.map(list, function(run)
    local evaluation = runs.evaluation(run, set)
    return evaluation and grid_of(run, evaluation)
  end)
  local best = {}
  for _, same in ipairs(lists.group(grids, function(grid) return grid.key end)) do
    best = #same > #best and same or best
  end
  return best[1]
end

return M
