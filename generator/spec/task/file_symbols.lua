-- The alphabets of a file of examples, for a spec that does not list them.
--
-- Input: the path of a file in a format of docs/own-task.md; has_one_output: true if a target without blanks is one
-- symbol, and not a symbol for each character. Output: { input, output }, the symbols of all inputs and of all targets,
-- as sorted lists of texts; or nil and the problem, { found, expected, line }. If tokens are numbers, the symbols are
-- those from 0 to the greatest one. Only form and tokens are read here; the trainer checks the rest.

local input = require("base.input")
local lists = require("base.lists")

local M = {}

local LARGEST = 256 << 20 -- bytes
local LARGEST_TOKEN = 65535 -- tokens have 16 bits
local BYTE_ORDER_MARK = "\xef\xbb\xbf"

-- Adds a text to a side of the examples: its words, and its characters, which count if no text of the side has blanks.
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

-- Takes the tokens at a key of a line in JSON: a list of texts or numbers, or a text.
local function take_tokens(side, value)
  if type(value) == "string" then
    add_text(side, value)
  elseif type(value) == "table" then
    for _, token in ipairs(value) do
      local is_number = math.type(token) == "integer"
      if is_number and token >= 0 and token <= LARGEST_TOKEN then
        side.greatest = math.max(side.greatest or 0, token)
      elseif type(token) == "string" then
        side.names[token] = true
      elseif not (side.may_be_null and token == input.NULL) then
        return false
      end
    end
  end
  return true
end

local function take_json(line, sides)
  local object, problem = input.decode(line)
  if type(object) ~= "table" then
    return problem or { found = "no JSON object", expected = '{"input":[...],"target":[...]}' }
  elseif not take_tokens(sides.input, object.input) or not take_tokens(sides.target, object.target) then
    return { found = ("tokens that are neither texts nor numbers from 0 to %d"):format(LARGEST_TOKEN),
      expected = "lists of symbols" }
  end
end

-- The columns of a line with tabs, without blanks at their ends.
local function split_columns(line)
  local columns = {}
  for column in (line .. "\t"):gmatch("([^\t]*)\t") do
    columns[#columns + 1] = column:match("^ *(.-) *$")
  end
  return columns
end

local function take_columns(line, sides, names)
  for i, column in ipairs(split_columns(line)) do
    local side = sides[names[i] or ""]
    if side then
      add_text(side, column)
    end
  end
end

local function take_scan(line, sides)
  local from, to = line:match("^%s*IN:(.*)OUT:(.*)$")
  if not from then
    return { found = "a line without IN: and OUT:", expected = "IN: ... OUT: ..., as in the first line" }
  end
  add_text(sides.input, from)
  add_text(sides.target, to)
end

-- Returns the function that takes a line of the file, by the first line, and whether this line names columns; or nil.
local function choose_taker(line)
  if line:find("^%s*{") then
    return take_json, false
  elseif line:find("^%s*IN:") then
    return take_scan, false
  elseif line:find("\t", 1, true) then
    local names = split_columns(line)
    local is_head = names[1] == "input" and names[2] == "target" or names[1] == "target" and names[2] == "input"
    names = is_head and names or { "input", "target" }
    return function(row, sides) return take_columns(row, sides, names) end, is_head
  end
end

local function is_before(a, b)
  local x, y = math.tointeger(tonumber(a)), math.tointeger(tonumber(b))
  if x and y then
    return x < y or x == y and a < b
  end
  return x ~= nil and y == nil or (x == nil) == (y == nil) and a < b
end

-- The alphabet of a side; nil if it has both names and numbers.
local function make_alphabet(side)
  local names, seen = {}, lists.merge(side.names, side.by_word and side.words or side.characters)
  if side.greatest and next(seen) then
    return nil
  end
  for id = 0, side.greatest or -1 do
    names[#names + 1] = tostring(id)
  end
  for name in pairs(seen) do
    names[#names + 1] = name
  end
  table.sort(names, is_before)
  return names
end

local function read_lines(file, sides)
  local take, is_head
  local number = 0
  for line in file:lines() do
    number = number + 1
    line = line:gsub("\r$", "")
    line = number == 1 and line:sub(1, 3) == BYTE_ORDER_MARK and line:sub(4) or line
    if line:find("%S") then
      local first = not take
      if first then
        take, is_head = choose_taker(line)
      end
      local problem = not take and { found = "a line that is no example", expected = "a format of docs/own-task.md" }
        or not (first and is_head) and take(line, sides)
      if problem then
        problem.line = number
        return problem
      end
    end
  end
end

function M.read(path, has_one_output)
  local file, problem = input.open_lines(path, LARGEST)
  if not file then
    return nil, problem or { found = "no such file", expected = "a file of examples" }
  end
  local function make_side(is_target) -- names: tokens in lists of JSON
    return { names = {}, words = {}, characters = {}, by_word = is_target and has_one_output, may_be_null = is_target }
  end
  local sides = { input = make_side(false), target = make_side(true) }
  problem = read_lines(file, sides)
  local is_whole, damage = file:close()
  if problem or not is_whole then
    return nil, problem or damage
  end
  local made = { input = make_alphabet(sides.input), output = make_alphabet(sides.target) }
  if not made.input or not made.output then
    return nil, { found = "both names and numbers as tokens", expected = "task.input_symbols and task.output_symbols" }
  elseif #made.input == 0 or #made.output == 0 then
    return nil, { found = "no examples", expected = "inputs and targets" }
  end
  return made
end

return M
