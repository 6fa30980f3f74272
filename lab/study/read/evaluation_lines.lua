-- Lines of eval.jsonl as rows that have the names of today, whatever version of a trainer wrote them.
--
-- Input: what run.json says of the run (facts: spec, data), and a line. Output: a row, described at M.FIELDS, or what
-- is damaged. Lines of sampled tasks that are older say train and test where they mean lengths in_distribution, between
-- and beyond those of training; older lines of generative models (spec/measures.lua) do not say that the target was
-- given, and call the teacher-forced accuracy accuracy.
-- Invariants: writes nothing; without facts a row is as its line says.

local diagnostics = require("base.diagnostics")
local input = require("base.input")
local measures = require("spec.measures")
local run_shapes = require("lab.study.read.run_shapes")
local shapes = require("lab.study.read.shapes")
local tasks = require("spec.task.tasks")

local M = {}

-- Keys of a line that rows have under the same name. exact_match and loss are texts, "" where the line has none; length
-- is that of `by`, and `by` is nil where there is nothing else in it and the line is plain.
M.FIELDS = { "set", "of", "order", "batch", "decoding", "counted", "accuracy", "accuracy_teacher_forced",
  "exact_match_low", "exact_match_high", "ended_early", "not_ended", "sd_over_draws", "sd_over_sequences", "beyond",
  "trained", "novel", "data", "seed" }

local SPLITS = { during = true, test = true, train = true, validation = true, in_distribution = true, between = true,
  beyond = true }
local OLDER = { train = true, test = true }

-- Plain lines as the runtime writes them. Those whose numbers fit run_shapes.lua are taken apart by patterns; all
-- others, with keys in another order or more of them, and those that are damaged, go through the JSON decoder.
local NUMBER = "([%d.e+-]+)"
local OF_ENCODERS = '^{"step":(%d+),"split":"([%a_]+)","by":{"length":(%d+)},"examples":(%d+),"draws":(%d+),"accuracy":'
  .. NUMBER .. ',"exact_match":' .. NUMBER
local OLDER_LINE = OF_ENCODERS .. ',"loss":' .. NUMBER .. ',"sd_over_draws":' .. NUMBER .. "}$"
local LINE = OF_ENCODERS .. ',"exact_match_low":' .. NUMBER .. ',"exact_match_high":' .. NUMBER .. ',"loss":' .. NUMBER
  .. ',"sd_over_draws":' .. NUMBER .. ',"sd_over_sequences":' .. NUMBER .. "}$"
local FRONT = '^{"step":(%d+),"split":"([%a_]+)","by":{"length":(%d+)},()'
local PAIR = '^"([%a_]+)":([%d.e+-]+)([,}])()'
local WORD_PAIR = '^"([%a_]+)":"([%a_]+)"([,}])()'

local KNOWN_WORDS = { decoding = { greedy = true, teacher_forced = true }, order = { file = true } }
local AS_TEXT = { exact_match = true, loss = true }

local function fits(value, shape)
  return value and value >= shape.min and value <= shape.max
    and (shape.type ~= "integer" or math.type(value) == "integer")
end

local function clear(row)
  for _, name in ipairs(M.FIELDS) do
    row[name] = nil
  end
  row.by, row.exact_match, row.loss = nil, "", ""
end

-- The front of a line, which all have.
local function set_front(row, step, split, length)
  local fields = run_shapes.evaluation.fields
  row.step, row.split, row.length = tonumber(step), split, tonumber(length)
  return SPLITS[split] and fits(row.step, fields.step) and fits(row.length, fields.by.fields.length)
end

-- Takes what a pattern found of a line of an encoder.
local function set_numbers(row, step, split, length, examples, draws, accuracy, exact, loss, spread)
  local fields = run_shapes.evaluation.fields
  clear(row)
  row.examples, row.draws, row.accuracy = tonumber(examples), tonumber(draws), tonumber(accuracy)
  row.exact_match, row.loss, row.sd_over_draws = exact, loss, tonumber(spread)
  return set_front(row, step, split, length) and fits(row.examples, fields.examples) and fits(row.draws, fields.draws)
    and fits(row.accuracy, fields.accuracy) and fits(tonumber(exact), fields.exact_match)
    and fits(tonumber(loss), fields.loss) and fits(row.sd_over_draws, fields.sd_over_draws)
end

local function take_older(line, row)
  local step, split, length, examples, draws, accuracy, exact, loss, spread = line:match(OLDER_LINE)
  return step and set_numbers(row, step, split, length, examples, draws, accuracy, exact, loss, spread)
end

local function take_encoders(line, row)
  local step, split, length, examples, draws, accuracy, exact, low, high, loss, spread, sequences = line:match(LINE)
  if not step or not set_numbers(row, step, split, length, examples, draws, accuracy, exact, loss, spread) then
    return false
  end
  local fields = run_shapes.evaluation.fields
  row.exact_match_low, row.exact_match_high = tonumber(low), tonumber(high)
  row.sd_over_sequences = tonumber(sequences)
  return fits(row.exact_match_low, fields.exact_match_low) and fits(row.exact_match_high, fields.exact_match_high)
    and fits(row.sd_over_sequences, fields.sd_over_sequences)
end

-- One pair of a name and a value behind `at`; returns where the next begins and the mark between, or nil.
local function take_pair(line, at, row, seen)
  local name, text, mark, after = line:match(PAIR, at)
  local value = name and tonumber(text)
  if value then
    local shape = run_shapes.evaluation.fields[name]
    if not shape or not shape.min or not fits(value, shape) then
      return nil
    end
    value = AS_TEXT[name] and text or value
  else
    name, value, mark, after = line:match(WORD_PAIR, at)
    if not (KNOWN_WORDS[name] or {})[value] then
      return nil
    end
  end
  if seen[name] then
    return nil
  end
  seen[name], row[name] = true, value
  return after, mark
end

local function take_plain(line, row)
  local step, split, length, at = line:match(FRONT)
  if not step then
    return false
  end
  clear(row)
  row.examples, row.draws = nil, nil
  local mark, seen = ",", {}
  while at and mark == "," do
    at, mark = take_pair(line, at, row, seen)
  end
  return at == #line + 1 and set_front(row, step, split, length) and row.examples and row.draws
    and not run_shapes.unmeasured(row)
end

local function take_any(line, row)
  local value, problem = input.decode(line)
  problem = problem or shapes.problem(value, run_shapes.evaluation)
  if problem then
    return problem
  elseif not SPLITS[value.split] then
    return { field = "split", found = diagnostics.show(value.split),
      expected = run_shapes.evaluation.fields.split.expected }
  end
  clear(row)
  for _, name in ipairs(M.FIELDS) do
    row[name] = value[name]
  end
  row.step, row.split, row.by, row.length = value.step, value.split, value.by, value.by.length
  row.examples, row.draws = value.examples, value.draws
  row.exact_match, row.loss = tostring(value.exact_match or ""), tostring(value.loss or "")
end

-- ---- older lines ----

-- The split of a length of a sampled task, as trainers name it (runtime/eval/evaluate.h), as a function; lengths: those
-- of training.
function M.splits(lengths)
  local trained, longest = {}, 0
  for _, n in ipairs(lengths) do
    trained[n], longest = true, math.max(longest, n)
  end
  return function(n)
    return trained[n] and "in_distribution" or n < longest and "between" or "beyond"
  end
end

-- The same of a run; nil where it is of finite data, whose splits are its sets, or does not say.
local function splits_of(facts)
  local spec = facts.spec
  local lengths = spec and spec.train and not facts.data and not spec.task.data and tasks.lengths(spec.train.lengths)
  return lengths and #lengths > 0 and M.splits(lengths) or nil
end

-- A function that gives a row of a run the names of today.
local function renaming(facts)
  local split_of, generative = splits_of(facts), measures.is_generative(facts.spec)
  return function(row)
    if split_of and OLDER[row.split] then
      row.split = row.length and split_of(row.length) or row.split
    end
    if generative and not row.decoding then
      row.decoding = "teacher_forced"
      row.accuracy, row.accuracy_teacher_forced = nil, row.accuracy_teacher_forced or row.accuracy
    end
  end
end

-- A function(line, row) that fills a row, the same table each time, and returns what is damaged, or nil. facts: what
-- run.json says, nil where nobody knows.
function M.reader(facts)
  local rename = facts and renaming(facts)
  return function(line, row)
    local problem
    if not take_encoders(line, row) and not take_older(line, row) and not take_plain(line, row) then
      problem = take_any(line, row)
    end
    if rename and not problem then
      rename(row)
    end
    return problem
  end
end

return M
