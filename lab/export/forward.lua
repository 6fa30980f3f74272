-- Writes a forward pass as lines of Python, from a list of expressions.
--
-- Input, a list of items:
--   { out, reads, text, rank }   an expression (operations.lua)
--   { out, reads, loop }         a loop over blocks (classes.lua)
--   { out, reads, group }        a loop over the items of a group (classes.lua)
-- Output: lines. A value with one reader is inlined: written inside the reader's expression. It is not inlined if the
-- line becomes too long or the reader is a loop. Other values are variables, named as in the network's description. A
-- value of the stream's width is named `h` if nothing reads the earlier `h` any more. Values from outside of a block
-- keep their names.

local canonical = require("base.canonical")
local lists = require("base.lists")
local names = require("lab.export.python_names")

local M = {}

local MAX_LINE = 112 -- characters, without the indentation of a method

-- One attempt to write the lines. Fields:
--   inlined      the items of inlined values, by value
--   last_reads   the index of the last statement that reads a value, by value
--   names        the names of variables, by value
--   width        the width of the stream
--   h_value      the value that the variable `h` has after the statements written so far, or nil
--   variables    the set of taken names
--   variable     the variable to which the result is assigned; nil: the forward pass returns the result
--   result_text  the beginning of the statement that assigns or returns the result
--   keeps_h      whether no value may get the name `h`, since the result is assigned to another variable
local Pass = {}
Pass.__index = Pass

-- Returns the expression of an item, with the expressions of inlined values inside it.
function Pass:format_item(item)
  return item.text(function(i, rank)
    local value = item.reads[i]
    local inlined_item = self.inlined[value]
    if not inlined_item then
      return self.names[value]
    end
    local text = self:format_item(inlined_item)
    return inlined_item.rank < rank and ("(%s)"):format(text) or text
  end)
end

-- Returns the items of the values to inline, by value: values that are read exactly once, and not by a loop.
local function find_inlined(items, result)
  local read_counts, named_values, inlined_items = { [result] = 1 }, { [result] = true }, {}
  for item, value in lists.iterate_nested(items, "reads") do
    read_counts[value] = (read_counts[value] or 0) + 1
    named_values[value] = named_values[value] or not item.text
  end
  for _, item in ipairs(items) do
    inlined_items[item.out] = item.text and read_counts[item.out] == 1 and not named_values[item.out] and item or nil
  end
  return inlined_items
end

-- Returns the value with the longest expression among the values that are inlined into an item; nil if there is none.
function Pass:find_longest_inlined(item)
  local longest_value, longest_length = nil, 0
  for _, value in ipairs(item.reads) do
    local length = self.inlined[value] and #self:format_item(self.inlined[value]) or 0
    if length > longest_length then
      longest_value, longest_length = value, length
    end
  end
  return longest_value
end

-- Records that the statement with index i reads the variables of an item and of the values that are inlined into it.
function Pass:note_reads(item, i)
  for _, value in ipairs(item.reads) do
    if self.inlined[value] then
      self:note_reads(self.inlined[value], i)
    else
      self.last_reads[value] = i
    end
  end
end

-- Returns a variable for the value of the statement with index i: a name that begins with `word`, or `h` if
--   the value has the stream's width
--   no block reads the value from outside
--   no later statement reads the variable `h`
function Pass:choose_name(value, i, word)
  local is_h_free = not self.keeps_h and (not self.h_value or (self.last_reads[self.h_value] or 0) <= i)
  if is_h_free and value.width.count == self.width and not value.has_copy then
    self.h_value = value
    return "h"
  end
  return names.add_variable(self.variables, word)
end

-- Adds a text to the lines, wrapped after commas within parentheses if it is too long.
local function add_wrapped(lines, text)
  local first_depth, indent = 0, text:match("^ *") .. "    "
  while #text > MAX_LINE do
    local depth, break_at = first_depth, nil
    for i = 1, MAX_LINE do
      local char = text:sub(i, i)
      depth = depth + ((char == "(" or char == "[") and 1 or (char == ")" or char == "]") and -1 or 0)
      break_at = char == " " and depth > 0 and text:sub(i - 1, i - 1) == "," and i or break_at
    end
    if not break_at then
      break
    end
    lines[#lines + 1] = text:sub(1, break_at - 1)
    text, first_depth = indent .. text:sub(break_at + 1), 1
  end
  lines[#lines + 1] = text
end

-- Returns a variable for the result of a loop, the statement with index i. It is the variable of the loop's input x,
-- unless x is read again: by a later statement, or by every repetition as a value from outside.
function Pass:name_loop(item, i, lines, loop_name)
  local x = item.reads[1]
  local other_reads = { table.unpack(item.reads, 2) }
  local name, is_read_again = self.names[x], self.last_reads[x] > i or lists.has(other_reads, x)
  if is_read_again then
    local word = loop_name .. "_output"
    -- i - 1: the loop must not read `h` either, since every repetition changes the result.
    local result_name = self.h_value == x and names.add_variable(self.variables, word)
      or self:choose_name(item.out, i - 1, word)
    lines[#lines + 1] = ("%s = %s"):format(result_name, name)
    name = result_name
  elseif self.h_value == x then
    self.h_value = item.out
  end
  self.names[item.out] = name
  return name
end

-- Adds a loop over the modules of a block as the statement with index i.
function Pass:add_loop(item, i, lines)
  local loop = item.loop
  local name = self:name_loop(item, i, lines, loop.name)
  local other_reads = { table.unpack(item.reads, 2) }
  local variable = names.add_variable(self.variables, loop.name)
  local arguments = lists.map(other_reads, function(value) return self.names[value] end)
  arguments = lists.append({ name, table.unpack(arguments) }, loop.arguments)
  local heads, indent = { ("for %s in %s:"):format(variable, loop.modules) }, ""
  if loop.times ~= 1 then
    table.insert(heads, 1, ("for _ in range(%s):"):format(loop.times))
  end
  for _, head in ipairs(heads) do
    lines[#lines + 1], indent = indent .. head, indent .. "    "
  end
  lists.append(lines, lists.map(loop.lines, function(line) return indent .. line end))
  add_wrapped(lines, ("%s%s = %s(%s)"):format(indent, name, variable, table.concat(arguments, ", ")))
end

-- Adds a loop over the items of a group as the statement with index i.
function Pass:add_group(item, i, lines)
  local group = item.group
  local scope, name, inner_names = group.scope, self:name_loop(item, i, lines, group.name), {}
  inner_names[scope.input_value] = name
  for e, value in ipairs(scope.externals) do
    inner_names[value] = self.names[item.reads[e + 1]]
  end
  lines[#lines + 1] = ("for _ in range(%s):"):format(group.times)
  lists.append(lines, lists.map(M.write({ items = group.items, result = scope.output_value, width = self.width,
    h_value = scope.input_value, names = inner_names, arguments = canonical.sort_keys(self.variables),
    variable = name }), function(line) return "    " .. line end))
end

-- Returns the items that are statements of their own, and records what they read.
function Pass:list_statements(items)
  local list = lists.filter(items, function(item) return not self.inlined[item.out] end)
  for i, item in ipairs(list) do
    self:note_reads(item, i)
  end
  return list
end

-- Returns the lines; or nil and a value that must not be inlined, since the line that contains it is too long.
function Pass:write(items, result)
  local lines = {}
  for i, item in ipairs(self:list_statements(items)) do
    if item.loop or item.group then
      self[item.loop and "add_loop" or "add_group"](self, item, i, lines)
    else
      local text = self:format_item(item)
      local name = item.out ~= result and self:choose_name(item.out, i, item.out.name)
      self.names[item.out] = name or nil
      text = (name and name .. " = " or self.result_text) .. text
      local value = #text > MAX_LINE and self:find_longest_inlined(item)
      if value then
        return nil, value
      end
      add_wrapped(lines, text)
    end
  end
  local name = self.names[result]
  if name and name ~= self.variable then
    lines[#lines + 1] = self.result_text .. name
  end
  return lines
end

-- Returns the lines of a forward pass. request:
--   items       the items
--   result      the value that the pass computes
--   width       the width of the stream
--   h_value     the value that the variable `h` has at first, or nil
--   arguments   the names of the arguments
--   names       the names of values that have a name already, by value
--   variable    the variable to which the result is assigned; nil: the forward pass returns the result
function M.write(request)
  local inlined_items = find_inlined(request.items, request.result)
  while true do
    local pass = setmetatable({ inlined = inlined_items, last_reads = {}, names = lists.merge(request.names),
      width = request.width, h_value = request.h_value,
      variables = names.new_variables({ "h", table.unpack(request.arguments) }),
      variable = request.variable, result_text = request.variable and request.variable .. " = " or "return ",
      keeps_h = request.variable ~= nil and request.variable ~= "h" }, Pass)
    local lines, value = pass:write(request.items, request.result)
    if lines then
      return lines
    end
    inlined_items[value] = nil
  end
end

return M
