-- Reads examples from the lines of a file. The formats are those of runtime/data/datasets/line_formats.c.
--
-- Input: the lines of one file, in their order. Output for each line:
--   an example        { input, target, ... }: values of JSON keys, or texts of columns
--   nil               the line has no example
--   nil and a table   the problem, { found, expected }

local input = require("base.input")

local M = {}

local BYTE_ORDER_MARK = "\xef\xbb\xbf"

local function read_json(line)
  local object, problem = input.decode(line)
  if type(object) ~= "table" then
    return nil, problem or { found = "not a JSON object", expected = '{"input":[...],"target":[...]}' }
  end
  return object
end

-- Splits a line at tabs, and removes blanks at both ends of each column.
local function split_columns(line)
  local columns = {}
  for column in (line .. "\t"):gmatch("([^\t]*)\t") do
    columns[#columns + 1] = column:match("^ *(.-) *$")
  end
  return columns
end

-- Reads a line in the format of the SCAN data set.
local function read_scan(line)
  local input_text, target_text = line:match("^%s*IN: *(.-) *OUT: *(.-) *$")
  if not input_text then
    return nil, { found = "a line without IN: and OUT:", expected = "IN: ... OUT: ..., as in the first line" }
  end
  return { input = input_text, target = target_text }
end

-- Returns the function that reads a line, and whether the first line names columns; nil for an unknown format.
local function choose_format(first_line)
  if first_line:find("^%s*{") then
    return read_json, false
  elseif first_line:find("^%s*IN:") then
    return read_scan, false
  elseif first_line:find("\t", 1, true) then
    local names = split_columns(first_line)
    local is_head = names[1] == "input" and names[2] == "target" or names[1] == "target" and names[2] == "input"
    names = is_head and names or { "input", "target" }
    return function(row)
      local example = {}
      for i, column in ipairs(split_columns(row)) do
        example[names[i] or ""] = column
      end
      return example
    end, is_head
  end
end

-- Makes a function that reads the next line of a file.
function M.make_reader()
  local read_line, is_first = nil, true
  return function(line)
    local is_head = false
    line = line:gsub("\r$", "")
    if is_first and line:sub(1, 3) == BYTE_ORDER_MARK then
      line = line:sub(4)
    end
    is_first = false
    if not line:find("%S") then
      return nil
    elseif not read_line then
      read_line, is_head = choose_format(line)
    end
    if is_head then
      return nil
    elseif not read_line then
      return nil, { found = "a line that is not an example", expected = "a format of docs/own-task.md" }
    end
    return read_line(line)
  end
end

-- Counts the symbols of a text: its words, if blanks separate symbols; 1 for a text that is a symbol; else its
-- characters. is_symbol: the alphabet as a set.
function M.count_symbols(text, is_symbol)
  if not is_symbol[" "] then
    text = text:match("^ *(.-) *$")
    if text:find(" ", 1, true) then
      return select(2, text:gsub("[^ ]+", ""))
    elseif is_symbol[text] then
      return 1
    end
  end
  return utf8.len(text) or #text
end

return M
