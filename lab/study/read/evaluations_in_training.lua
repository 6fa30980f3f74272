-- Evaluations during training (eval.during): the means over the lines of each step.
--
-- Input: rows from evaluation_lines.lua, the spec of their run. Output: a list of { step, mean, sets }. mean: the means
-- { accuracy, accuracy_teacher_forced, exact_match, loss } over all held-out examples, or over training examples if
-- none are held out. sets: the means over each dataset file's set, by the set's name.

local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")

local MEANS = { "accuracy", "accuracy_teacher_forced", "exact_match", "loss" }

local function means_of(rows)
  local means = {}
  for _, name in ipairs(MEANS) do
    means[name] = statistics.mean(lists.map(rows, function(row) return tonumber(row[name]) end))
  end
  return next(means) and means or nil
end

return function(rows, spec)
  local splits = lists.at(spec, "eval.during.splits")
  local only = splits and #splits == 1 and splits[1] -- lines omit the name if there is a single set
  local function set_of(row)
    return row.set or only or false
  end
  return lists.map(lists.group(rows, function(row) return row.step end), function(point)
    local sets = {}
    for _, rows_of in ipairs(lists.group(point, set_of)) do
      if rows_of.key then
        sets[rows_of.key] = means_of(rows_of)
      end
    end
    local held_out = lists.filter(point, function(row) return set_of(row) ~= "train" end)
    return { step = point.key, mean = means_of(held_out) or sets.train, sets = next(sets) and sets }
  end)
end
