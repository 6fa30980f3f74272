-- The alphabets of a file of examples, for a spec that does not list them.
--
-- Input: the path of a file in a format of docs/own-task.md; has_one_output: whether a target without blanks is one
-- symbol; otherwise each character of such a target is a symbol. Output: { input, output }, the symbols of all inputs
-- and the symbols of all targets, as sorted lists of texts; or nil and the problem, { found, expected, line }. If
-- tokens are numbers, the symbols are the numbers from 0 to the largest token. This module reads only the form and the
-- tokens; the trainer makes all other checks.

local input = require("base.input")
local line_formats = require("spec.task.line_formats")
local lists = require("base.lists")

local M = {}

local MAX_BYTES = 256 << 20
local MAX_TOKEN = 65535 -- tokens have 16 bits

-- Makes an empty side, a table that collects the tokens of all inputs, or of all targets. An input (or a target) is a
-- text or a JSON list. name: "input" or "target". Fields of a side:
--   names           the set of names (strings) that are items of lists
--   max_token       the largest number that is an item of a list, or nil
--   words           the set of words in texts
--   characters      the set of characters in texts
--   by_word         whether the symbols of texts are the words, not the characters
--   may_be_null     whether an item of a list may be null
local function make_side(name, has_one_output)
  local is_target = name == "target"
  return { names = {}, words = {}, characters = {}, by_word = is_target and has_one_output, may_be_null = is_target }
end

-- Adds the words and the characters of a text to a side. If a text has blanks, the symbols of the side are words.
local function add_text(side, text)
  text = text:match("^ *(.-) *$")
  side.by_word = side.by_word or text:find(" ", 1, true) ~= nil
  for word in text:gmatch("[^ ]+") do
    side.words[word] = true
  end
  for character in text:gmatch(utf8.charpattern) do
    side.characters[character] = true
  end
end

-- Adds the tokens of a JSON value (a list of texts or numbers, or a text) to a side; returns false for invalid tokens.
local function take_tokens(side, value)
  if type(value) == "string" then
    add_text(side, value)
  elseif type(value) == "table" then
    for _, token in ipairs(value) do
      local is_number = math.type(token) == "integer"
      if is_number and token >= 0 and token <= MAX_TOKEN then
        side.max_token = math.max(side.max_token or 0, token)
      elseif type(token) == "string" then
        side.names[token] = true
      elseif not (side.may_be_null and token == input.NULL) then
        return false
      end
    end
  end
  return true
end

-- Adds the tokens of an example; returns the problem, if there is one.
local function take_example(example, sides)
  if not take_tokens(sides.input, example.input) or not take_tokens(sides.target, example.target) then
    return { found = ("tokens that are neither texts nor numbers from 0 to %d"):format(MAX_TOKEN),
      expected = "lists of symbols" }
  end
end

-- The order of symbols: first integers by their values, then other texts.
local function is_before(a, b)
  local x, y = math.tointeger(tonumber(a)), math.tointeger(tonumber(b))
  if x and y then
    return x < y or x == y and a < b
  end
  return x ~= nil and y == nil or (x == nil) == (y == nil) and a < b
end

-- The alphabet of a side; nil if its tokens are both texts and numbers.
local function make_alphabet(side)
  local names, texts = {}, lists.merge(side.names, side.by_word and side.words or side.characters)
  if side.max_token and next(texts) then
    return nil
  end
  for id = 0, side.max_token or -1 do
    names[#names + 1] = tostring(id)
  end
  for name in pairs(texts) do
    names[#names + 1] = name
  end
  table.sort(names, is_before)
  return names
end

-- Reads all lines into the sides; returns the problem with a line, if there is one.
local function read_lines(file, sides)
  local read_line, number = line_formats.make_reader(), 0
  for line in file:lines() do
    local example, problem = read_line(line)
    number = number + 1
    problem = problem or example and take_example(example, sides)
    if problem then
      problem.line = number
      return problem
    end
  end
end

function M.read(path, has_one_output)
  local file, problem = input.open_lines(path, MAX_BYTES)
  if not file then
    return nil, problem or { found = "no such file", expected = "a file of examples" }
  end
  local sides = { input = make_side("input", has_one_output), target = make_side("target", has_one_output) }
  problem = read_lines(file, sides)
  local is_complete, damage = file:close()
  if problem or not is_complete then
    return nil, problem or damage
  end
  local alphabets = { input = make_alphabet(sides.input), output = make_alphabet(sides.target) }
  if not alphabets.input or not alphabets.output then
    return nil, { found = "both names and numbers as tokens", expected = "task.input_symbols and task.output_symbols" }
  elseif #alphabets.input == 0 or #alphabets.output == 0 then
    return nil, { found = "no examples", expected = "inputs and targets" }
  end
  return alphabets
end

return M
