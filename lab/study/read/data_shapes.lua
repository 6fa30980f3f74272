-- Lengths of a file's examples, for estimates; only the trainer checks that the examples are valid.
--
-- Input: the path of a file of examples (docs/own-task.md), names of axes, facts of the task (its input_symbols and
-- output_symbols, if they are known). Lines that are not examples are ignored. A file is read again only after its size
-- or times change. Output: nil if the file does not exist or is a damaged gzip file; else
--   count    the number of examples
--   shapes   a list of { input, output, count }: numbers of input and output tokens, and the number of examples with
--            these numbers
--   groups   a list of { input, output, group, count }; group: a text of the examples' values on the axes
-- The lists also map keys to their entries: "<input> <output>" in shapes, "<input> <output> <group>" in groups.

local canonical = require("base.canonical")
local input = require("base.input")
local lfs = require("lfs")
local line_formats = require("spec.task.line_formats")
local lists = require("base.lists")

local M = {}

local cache = {} -- results of earlier calls, by path, size, times, axes and alphabets

-- Returns the number of items in a JSON list of numbers and names, from the text between its brackets.
local function count_items(text)
  local plain_text = text:gsub('"[^"]*"', "0")
  return plain_text:find("%d") and select(2, plain_text:gsub(",", "")) + 1 or 0
end

-- Returns the numbers of input and output tokens of a line in JSON with plain lists of tokens; nil for other lines.
local function count_lists(line)
  local inputs = line:match('"input"%s*:%s*%[([^%[%]]*)%]')
  local outputs = line:match('"target"%s*:%s*%[([^%[%]]*)%]')
  if inputs and outputs and not line:find("\\", 1, true) and not line:find('"[%[%]]') then
    return count_items(inputs), count_items(outputs)
  end
end

-- Returns the number of tokens in an input or a target; nil if it is neither text nor a list.
local function count_tokens(value, is_symbol)
  if type(value) == "string" then
    return line_formats.count_symbols(value, is_symbol)
  end
  return type(value) == "table" and #value or nil
end

-- Returns an example's values on the axes as one text, with "-" for an axis without a value. inputs: the value on
-- "length"; get_value(axis): the value on another axis, or nil.
local function format_group(inputs, axes, get_value)
  return table.concat(lists.map(axes, function(axis)
    return axis == "length" and inputs or get_value(axis) or "-"
  end), " ")
end

-- Makes a function that takes the lines of a file and returns for each example the numbers of its input and output
-- tokens and its group; nil for other lines.
local function make_counter(axes, task)
  local read = line_formats.make_reader()
  local is_input, is_output = lists.to_set(task.input_symbols or {}), lists.to_set(task.output_symbols or {})
  return function(line)
    local inputs, outputs = count_lists(line)
    if inputs then
      return inputs, outputs, format_group(inputs, axes, function(axis)
        return line:match('"' .. axis .. '"%s*:%s*(%d+)')
      end)
    end
    local example = read(line)
    inputs = example and count_tokens(example.input, is_input)
    outputs = example and count_tokens(example.target, is_output)
    if inputs and outputs then
      return inputs, outputs, format_group(inputs, axes, function(axis)
        return math.tointeger(tonumber(example[axis] or ""))
      end)
    end
  end
end

-- Counts an example in the entry of its key; `entries_by_key` is also the list of all entries.
local function count_example(entries_by_key, key, inputs, outputs, group)
  if not entries_by_key[key] then
    entries_by_key[key] = { input = inputs, output = outputs, group = group, count = 0 }
    entries_by_key[#entries_by_key + 1] = entries_by_key[key]
  end
  entries_by_key[key].count = entries_by_key[key].count + 1
end

-- Counts the examples of a file. Returns the tables of M.read; nil if the file cannot be read.
local function read_file(path, axes, task)
  local file = input.open_lines(path, math.maxinteger)
  if not file then
    return nil
  end
  local result, count_line = { count = 0, shapes = {}, groups = {} }, make_counter(axes, task)
  for line in file:lines() do
    local inputs, outputs, group = count_line(line)
    if inputs then
      local shape = inputs .. " " .. outputs
      result.count = result.count + 1
      count_example(result.shapes, shape, inputs, outputs)
      count_example(result.groups, shape .. " " .. group, inputs, outputs, group)
    end
  end
  return file:close() and result or nil
end

function M.read(path, axes, task)
  local attributes = lfs.attributes(path)
  if not attributes or attributes.mode ~= "file" then
    return nil
  end
  local key = canonical.format({ path, attributes.size, attributes.modification, attributes.change, axes,
    task.input_symbols or {}, task.output_symbols or {} })
  cache[key] = cache[key] or read_file(path, axes, task)
  return cache[key]
end

return M
