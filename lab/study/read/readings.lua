-- Readings that a run used: choices where a paper and its released code differ, or where a paper leaves a choice open.
--
-- Input: a run (runs.lua). Output: a list of { question, answer }, in a fixed order, for the questions that its spec
-- raises; a field that an older run lacks has its default. docs/reports.md explains each reading.

local lists = require("base.lists")

local get = lists.at

local M = {}

M.TITLE = "Readings (interpretations) that the runs used, where papers leave a choice open or code differs"

-- The value of a field, which may be false, or the field's default if it is absent.
local function flag(spec, path, default)
  local parent, name = path:match("^(.*)%.([^.]+)$")
  local at = get(spec, parent)
  if type(at) ~= "table" or at[name] == nil then
    return default
  end
  return at[name]
end

local function kind_of(facet)
  return type(facet) == "table" and facet.kind or "none"
end

local function is_randomized(spec)
  return get(spec, "encoding.positions.kind") == "randomized"
end

local READINGS = { drawn = "two-sided, signed by the order of the tokens", clamped = "clamped to one side",
  difference = "differences of the drawn positions" }
local DRAWS = { pass = "once per pass", layer = "once per layer" }
local RANGES = { zero_based = "from 0", one_based = "from 1" }
local USUAL_RANGE = "from 0 where positions are drawn, from 1 where distances are"

local function lengths_text(field)
  if type(field) ~= "table" then
    return nil
  elseif type(field.list) == "table" then
    return table.concat(field.list, ", ")
  elseif math.type(field.first) ~= "integer" or math.type(field.last) ~= "integer" then
    return nil
  end
  local step = math.tointeger(field.step) or 1
  return ("%d to %d"):format(field.first, field.last) .. (step > 1 and (" in steps of %d"):format(step) or "")
end

local function batch_text(spec)
  local examples, batch = get(spec, "eval.examples"), get(spec, "eval.batch")
  if not examples then
    return nil
  end
  return batch and ("batches of %s, %s examples per length"):format(batch, examples)
    or ("one batch of %s per length"):format(examples)
end

local LOSSES = { all = "all, masked ones, too", counted = "those that count (mask 1)" }

-- Each function returns the answer, or nil if the spec and the other facts of run.json do not raise the question.
local QUESTIONS = {
  { "randomized distances", function(spec)
    if is_randomized(spec) and (kind_of(get(spec, "encoding.relative")) ~= "none" or get(spec, "encoding.score")) then
      local reading = get(spec, "encoding.positions.reading") or "drawn"
      return READINGS[reading] or tostring(reading)
    end
  end },
  { "sides of a draw", function(spec)
    return is_randomized(spec) and get(spec, "encoding.positions.sides") or nil
  end },
  { "positions are drawn", function(spec)
    local draw = is_randomized(spec) and get(spec, "encoding.positions.draw")
    return draw and (DRAWS[draw] or tostring(draw)) or nil
  end },
  { "range of the draws", function(spec)
    if not is_randomized(spec) then
      return nil
    end
    local range = get(spec, "encoding.positions.range")
    return ("up to %s, %s%s"):format(get(spec, "encoding.positions.max_position"),
      range and (RANGES[range] or tostring(range)) or USUAL_RANGE,
      flag(spec, "encoding.positions.sorted", true) and "" or ", unsorted")
  end },
  { "rows of a learned table", function(spec)
    local rows = get(spec, "encoding.additive.rows")
    return rows and tostring(rows) or nil
  end },
  { "dropout in evaluation", function(spec)
    return flag(spec, "eval.dropout", false) and "on" or "off"
  end },
  { "lengths evaluated", function(spec)
    return lengths_text(get(spec, "eval.lengths"))
  end },
  { "evaluation batch", batch_text },
  { "order of the outputs", function(spec)
    local order = get(spec, "task.options.order")
    return order and tostring(order):gsub("_", " ") or nil
  end },
  { "labels in the loss", function(_, facts)
    local data = type(facts.data) == "table" and facts.data
    return not (data and not data.train_masked) and LOSSES[facts.loss] or nil
  end },
  { "spare token", function(spec)
    return flag(spec, "model.spare_token", true) and "one" or "none"
  end },
  { "training steps", function(spec)
    local steps = get(spec, "train.steps")
    return steps and tostring(steps) or nil
  end },
  { "arithmetic", function(spec)
    return tostring(spec.precision or "float32")
  end },
}

-- The readings of a run. The number of steps is that of the run's end, since flags override the spec's number.
function M.of(run)
  local spec = run.facts.spec
  return lists.map(spec and QUESTIONS or {}, function(question)
    local answer = question[2](spec, run.facts)
    if question[1] == "training steps" and run.test then
      answer = ("%d"):format(run.test.step)
    end
    return answer and { question = question[1], answer = answer }
  end)
end

-- Readings of many runs: a list of { question, answers = { { answer, count }, ... } }, most frequent answer first.
function M.count(list)
  local all = lists.flat(list, M.of)
  return lists.map(QUESTIONS, function(question)
    local asked = lists.filter(all, function(item) return item.question == question[1] end)
    local answers = lists.map(lists.group(asked, function(item) return item.answer end), function(same)
      return { answer = same.key, count = #same }
    end)
    table.sort(answers, function(a, b) return a.count > b.count or a.count == b.count and a.answer < b.answer end)
    return answers[1] and { question = question[1], answers = answers }
  end)
end

M.lengths_text = lengths_text

return M
