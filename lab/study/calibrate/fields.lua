-- Choices of a calibration. The paper's equations, its released code and good practice differ in these choices, so each
-- choice is a field (docs/calibration.md).
--
-- Input: the value of --reading; the words of --set, FIELD=VALUE. M.read returns nil and a message, or a table:
--   self     the choices of self-attention (found_lines.lua)
--   cross    the choices of cross-attention
--   scores   the value of the field `scores`

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local similar_names = require("base.similar_names")

local M = {}

local function make_choice(...)
  local words = { ... }
  return { expected = table.concat(words, ", "), read = function(text)
    return lists.has(words, text) and text or nil
  end }
end

-- Returns the type, { expected, read }, of a field with an integer from 1 on, or `word`. For the word, read returns
-- `meaning`.
local function make_count(word, meaning)
  return { expected = ("an integer from 1 on, or %s"):format(word), read = function(text)
    local number = math.tointeger(tonumber(text))
    return text == word and meaning or number and number >= 1 and number <= 1 << 20 and number or nil
  end }
end

local function make_number(min, max)
  return { expected = ("a number from %g to %g"):format(min, max), read = function(text)
    local number = tonumber(text)
    return number and number >= min and number <= max and number + 0.0 or nil
  end }
end

local DIRECTIONS = {
  expected = "1 (down the diagonal), -1 (down the anti-diagonal), 0 (down a column); several with commas",
  read = function(text)
    local list, is_listed = {}, {}
    for word in (text .. ","):gmatch("([^,]*),") do
      local direction = math.tointeger(tonumber(word))
      if not direction or direction < -1 or direction > 1 or is_listed[direction] then
        return nil
      end
      list[#list + 1], is_listed[direction] = direction, true
    end
    return list
  end,
}

local NO_LIMIT = {} -- the result of read for the word "all"; read_family replaces it by nil

-- A field: { name, type, default, value in the released code, value in the equations, doc }, values as texts. A name
-- that ends in .self or .cross concerns one attention family.
local NAME, TYPE, DEFAULT, CODE, EQUATIONS = 1, 2, 3, 4, 5 -- indices of these items
M.FIELDS = {
  { "scores", make_choice("weights", "logits", "raw"), "weights", "weights", "raw",
    "numbers that are averaged: weights: attention weights; logits: inputs of the softmax; raw: these inputs times the "
    .. "square root of head_dim" },
  { "rows", make_count("all", NO_LIMIT), "6", "6", "all", "number of first rows (queries) in which lines are read" },
  { "columns", make_count("all", NO_LIMIT), "all", "6", "all",
    "lines of direction 0 are read in the last column and in this number of columns before it" },
  { "line", make_choice("sum", "mean"), "sum", "sum", "mean", "value of a line: the sum or the mean of its cells" },
  { "shortest", make_count("half", "half"), nil, "1", "1",
    "least number of cells of a line; half: half the rows; default: 1 for sums, half for means" },
  { "precision", make_choice("float64", "float32"), "float64", "float32", "float64", "precision of sums" },
  { "over", make_choice("nonzero", "all"), "nonzero", "nonzero", "all",
    "lines over which mean and deviation are computed" },
  { "equal", make_choice("each", "merged"), "each", "merged", "each",
    "whether lines of equal value all count in mean and deviation (each), or as one line (merged)" },
  { "threshold.self", make_number(0, 1e6), "0.87", "0.87", "4", "deviations above the mean, in self-attention" },
  { "threshold.cross", make_number(0, 1e6), "4.5", "4.5", "4", "deviations above the mean, in cross-attention" },
  { "keep", make_choice("above", "at_least"), "above", "at_least", "above",
    "whether a line at the threshold is also kept" },
  { "spread", make_number(0, 1), "1e-6", "0", "0",
    "a deviation less than this share of the largest absolute value is noise: nothing is found" },
  { "value", make_choice("relative", "raw"), "relative", "raw", "relative",
    "bias of a kept line: its value minus the largest value of a line of the same head and direction (relative), or "
    .. "its value (raw)" },
  { "directions.self", DIRECTIONS, "1", "1", "1,-1,0", "directions of searched lines" },
  { "directions.cross", DIRECTIONS, "-1", "-1", "1,-1,0", "directions of searched lines" },
  { "align.self", make_choice("left", "right"), "left", "right", "left", "side that columns are counted from" },
  { "align.cross", make_choice("left", "right"), "right", "right", "left", "side that columns are counted from" },
  { "corner", make_choice("lines", "all", "none"), "lines", "all", "none",
    "heads of cross-attention in which the first query sees the last key: heads that keep a line, all, or none" },
}

-- Stores the value of a word "FIELD=VALUE" in `texts`, by field; returns an error message, or nil.
local function read_word(texts, word)
  local name, value = word:match("^([%w_.]+)=(.*)$")
  local field = lists.find(M.FIELDS, function(entry) return entry[NAME] == name end)
  if not name then
    return ("--set %s: not of the form FIELD=VALUE"):format(word)
  elseif not field then
    local names = lists.map(M.FIELDS, function(entry) return entry[NAME] end)
    local suggestion = similar_names.find(name, names)
    return ("--set %s: no such field\n  expected: %s"):format(name, suggestion and suggestion .. "?"
      or table.concat(names, ", "))
  elseif field[TYPE].read(value) == nil then
    return ("--set %s: found %s\n  expected: %s"):format(name, diagnostics.show(value), field[TYPE].expected)
  end
  texts[name] = value
end

-- Returns the text of each field, by name: the value of --set, or else the value of the reading.
local function list_texts(reading, words)
  local texts, column = {}, reading == "code" and CODE or reading == "equations" and EQUATIONS or DEFAULT
  for _, field in ipairs(M.FIELDS) do
    texts[field[NAME]] = field[column]
  end
  for _, word in ipairs(words) do
    local problem = read_word(texts, word)
    if problem then
      return nil, problem
    end
  end
  texts.shortest = texts.shortest or texts.line == "mean" and "half" or "1"
  return texts
end

-- Returns the values of the fields of a family, "self" or "cross", by name.
local function read_family(texts, family)
  local choices = {}
  for _, field in ipairs(M.FIELDS) do
    local name, family_of_field = field[NAME]:match("^([^.]+)%.?(.*)$")
    if name ~= "scores" and (family_of_field == "" or family_of_field == family) then
      local value = field[TYPE].read(texts[field[NAME]])
      choices[name] = value ~= NO_LIMIT and value or nil
    end
  end
  return choices
end

function M.read(reading, words)
  local texts, problem = list_texts(reading, words)
  if not texts then
    return nil, problem
  end
  local choices = { scores = texts.scores, self = read_family(texts, "self"), cross = read_family(texts, "cross") }
  choices.self.corner = "none"
  return choices
end

return M
