-- Lengths of a file's examples, for estimates; only the trainer checks that the examples are valid.
--
-- Input: the path of a file of examples (docs/own-task.md), names of axes. Output: { count, shapes, groups }, or nil if
-- the file does not exist or is torn. count: the number of examples. shapes: a list of { input, output, count }: the
-- numbers of input and output tokens, and the number of examples with them. groups: a list of { input, output, group,
-- count }, where group is a text of the examples' values on the axes. Both lists also map keys to their entries. Lines
-- that are no examples do not count. A file is read again only after its size or times change.

local canonical = require("base.canonical")
local input = require("base.input")
local lfs = require("lfs")

local M = {}

local known = {} -- results of earlier calls, by path, size, times and axes

-- Returns the number of items in a JSON list of numbers and names, from the text between its brackets.
local function count_items(text)
  local plain = text:gsub('"[^"]*"', "0")
  return plain:find("%d") and select(2, plain:gsub(",", "")) + 1 or 0
end

-- Returns the numbers of input and output tokens of a line; nil if it lacks a list. Unusual lines are parsed as JSON.
local function count_tokens(line)
  local inputs = line:match('"input"%s*:%s*%[([^%[%]]*)%]')
  local outputs = line:match('"target"%s*:%s*%[([^%[%]]*)%]')
  if inputs and outputs and not line:find("\\", 1, true) and not line:find('"[%[%]]') then
    return count_items(inputs), count_items(outputs)
  end
  local example = input.decode(line)
  if type(example) ~= "table" or type(example.input) ~= "table" or type(example.target) ~= "table" then
    return nil
  end
  return #example.input, #example.target
end

-- Returns the values of a line on the axes as one text, "-" where the line has none. inputs: the value on "length".
local function format_group(line, inputs, axes)
  local words = {}
  for i, axis in ipairs(axes) do
    words[i] = axis == "length" and inputs or line:match('"' .. axis .. '"%s*:%s*(%d+)') or "-"
  end
  return table.concat(words, " ")
end

-- Counts an example in the entry of its key in `entries`, a list that also maps keys to entries.
local function count_example(entries, key, inputs, outputs, group)
  if not entries[key] then
    entries[key] = { input = inputs, output = outputs, group = group, count = 0 }
    entries[#entries + 1] = entries[key]
  end
  entries[key].count = entries[key].count + 1
end

local function read_file(path, axes)
  local file = input.open_lines(path, math.maxinteger)
  if not file then
    return nil
  end
  local found = { count = 0, shapes = {}, groups = {} }
  for line in file:lines() do
    local inputs, outputs = count_tokens(line)
    if inputs then
      local shape, group = inputs .. " " .. outputs, format_group(line, inputs, axes)
      found.count = found.count + 1
      count_example(found.shapes, shape, inputs, outputs)
      count_example(found.groups, shape .. " " .. group, inputs, outputs, group)
    end
  end
  return file:close() and found or nil
end

function M.read(path, axes)
  local attributes = lfs.attributes(path)
  if not attributes or attributes.mode ~= "file" then
    return nil
  end
  local key = canonical.format({ path, attributes.size, attributes.modification, attributes.change, axes })
  known[key] = known[key] or read_file(path, axes)
  return known[key]
end

return M
