-- Evaluations while a model trains (eval.during): means over the lines of a step.
--
-- Input: rows as evaluation_lines.lua gives them. Output: a list of { step, mean, sets }, the means { accuracy,
-- accuracy_teacher_forced, exact_match, loss } of all that is held out, of training data where nothing is, and in sets
-- of each set of finite data by its name.

local M = {}

local MEANS = { "accuracy", "accuracy_teacher_forced", "exact_match", "loss" }

local function add_mean(mean, row)
  for _, name in ipairs(MEANS) do
    local value = tonumber(row[name])
    if value then
      mean[name] = mean[name] or { sum = 0, count = 0 }
      mean[name].sum, mean[name].count = mean[name].sum + value, mean[name].count + 1
    end
  end
end

local function finish_mean(mean)
  local finished = {}
  for name, of in pairs(mean) do
    finished[name] = of.sum / of.count
  end
  return next(finished) and finished or nil
end

-- The set that these evaluations go over where it is one alone, which their lines then leave out; nil otherwise.
local function only_set(spec)
  local eval = spec and spec.eval
  local splits = eval and eval.during and eval.during.splits
  return splits and #splits == 1 and splits[1] or nil
end

-- Adds a line to a list; spec: that of the run.
function M.add(list, spec, row)
  local last, set = list[#list], row.set or only_set(spec)
  if not last or last.step ~= row.step then
    last = { step = row.step, all = {}, sets = {} }
    list[#list + 1] = last
  end
  if set then
    last.sets[set] = last.sets[set] or {}
    add_mean(last.sets[set], row)
  end
  if set ~= "train" then
    add_mean(last.all, row)
  end
end

function M.finish(list)
  for i, point in ipairs(list) do
    local sets = {}
    for name, mean in pairs(point.sets) do
      sets[name] = finish_mean(mean)
    end
    list[i] = { step = point.step, mean = finish_mean(point.all) or sets.train, sets = next(sets) and sets }
  end
end

return M
