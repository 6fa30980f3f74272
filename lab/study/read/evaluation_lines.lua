-- Lines of eval.jsonl as rows.
--
-- Input: a line. Output: a row, or a problem; M.read describes both. Reads and writes no file.

local diagnostics = require("base.diagnostics")
local input = require("base.input")
local lists = require("base.lists")
local run_shapes = require("lab.study.read.run_shapes")
local shapes = require("lab.study.read.shapes")

local M = {}

local SPLITS = { during = true, test = true, train = true, validation = true, in_distribution = true, between = true,
  beyond = true }

-- Patterns that parse plain lines exactly as the runtime writes them; the JSON decoder parses all other lines.
local FRONT = '^{"step":(%d+),"split":"([%a_]+)","by":{"length":(%d+)},()'
local PAIR = '^"([%a_][%w_]*)":(-?%d[%d.eE+-]*)([,}])()'
local WORD_PAIR = '^"([%a_]+)":"([%a_]+)"([,}])()'

-- The valid words of the fields whose values are words, by the field's name.
local WORDS = { decoding = { greedy = true, teacher_forced = true }, order = { file = true } }
local AS_TEXT = { exact_match = true, loss = true } -- measures that a row has as texts

local function is_in_shape(value, shape)
  return shape ~= nil and shape.min ~= nil and value >= shape.min and value <= shape.max
    and (shape.type ~= "integer" or math.type(value) == "integer")
end

-- Returns a row from the pairs of a line from byte `position` on; nil if a pair is not valid. A name may occur only
-- once, with a number that `shape` allows or with a word of WORDS. texts: the set of names whose numbers stay texts.
function M.parse_pairs(line, position, shape, texts)
  local row = {}
  repeat
    local name, text, separator, next_position = line:match(PAIR, position)
    local value = tonumber(text)
    if not name then
      name, value, separator, next_position = line:match(WORD_PAIR, position)
    end
    local is_valid
    if text then
      is_valid = value and is_in_shape(value, shape.fields[name] or shape.other_fields)
    else
      is_valid = shape.fields[name] and WORDS[name] and WORDS[name][value]
    end
    if not is_valid or row[name] then
      return nil
    end
    row[name], position = texts[name] and text or value, next_position
  until separator == "}"
  return position > #line and row or nil
end

-- Returns the row of a plain line, whose only axis is the length; nil for other lines.
local function parse_plain(line)
  local shape = run_shapes.evaluation
  local step, split, length, position = line:match(FRONT)
  local row = SPLITS[split] and M.parse_pairs(line, position, shape, AS_TEXT)
  if not row or row.step or not row.examples or not row.draws or run_shapes.find_missing_accuracy(row) then
    return nil
  end
  row.step, row.split, row.length = tonumber(step), split, tonumber(length)
  row.exact_match, row.loss = row.exact_match or "", row.loss or ""
  local is_valid = is_in_shape(row.step, shape.fields.step)
    and is_in_shape(row.length, shape.fields.by.fields.length)
  return is_valid and row or nil
end

-- Returns the row of any line, or nil and a problem.
local function parse_any(line)
  local row, problem = input.decode(line)
  problem = problem or shapes.find_problem(row, run_shapes.evaluation)
  if not problem and not SPLITS[row.split] then
    problem = { field = "split", found = diagnostics.show(row.split),
      expected = run_shapes.evaluation.fields.split.expected }
  end
  if problem then
    return nil, problem
  end
  row.length, row.exact_match, row.loss = row.by.length, tostring(row.exact_match or ""), tostring(row.loss or "")
  return row
end

-- Returns the row of a line, or nil and a problem { field, found, expected }. A row has the fields of its line, among
-- them:
--   by: { <axis> = number }; nil if parse_plain has parsed the line
--   length: the number on the axis "length", or nil
--   exact_match, loss: as texts, "" if the line lacks them
--   seed: nil for the standard seed
--   decoding: "greedy" or "teacher_forced", nil for models that are not generative
--   set: the set of examples, for the split "during" of a run with several sets
--   trained: the share of examples that were trained on
--   novel: true if trained examples were left out
--   beyond: the axes on which the condition exceeds all training examples
--   of: the number of existing examples, if fewer were evaluated
--   order: "file" if the evaluated examples are the first ones of the file
--   data: the first digits of the SHA-256 of the file of examples
--   places: accuracies by place, for M.decode, or nil
--   by_example: results of single examples, for M.decode, or nil
function M.read(line)
  local front_of_examples, by_example = line:match('^(.-),"by_example":(%b{})}$')
  line = front_of_examples and front_of_examples .. "}" or line
  local front, places = line:match('^(.-),"places":(%b{})}$')
  local row, problem = parse_plain(front and front .. "}" or line)
  if row then
    row.places = places
  else
    row, problem = parse_any(line)
  end
  if row then
    row.by_example = by_example or row.by_example
  end
  return row, problem
end

-- Returns the value of a field of a row, or nil and a problem. name: "places" or "by_example". M.read leaves these
-- fields of plain lines as texts, since they may have thousands of numbers, and few readers need them.
function M.decode(row, name)
  if type(row[name]) == "table" then
    return row[name]
  end
  local value, problem = input.decode(row[name])
  problem = problem or shapes.find_problem(value, run_shapes[name])
  if problem then
    return nil, lists.merge(problem, { field = problem.field == "" and name or name .. "." .. problem.field })
  end
  return value
end

return M
