-- A forward pass as lines of Python, from a list of expressions.
--
-- Input: items { out, reads, text, rank } (operations.lua) and loops over blocks { out, reads, loop } (classes.lua).
-- Output: lines. A value with one reader is written inside the reader's expression, unless the line becomes too long or
-- the reader is a loop. Other values are variables, named as in the network's description; but values of the stream's
-- width are named `h` if nothing reads the old `h` later. Values from outside of a block keep their names.

local lists = require("base.lists")
local names = require("lab.export.python_names")

local M = {}

local LINE = 112 -- most characters of a line, without the class's indentation

-- An attempt to write the lines: inner (find_inner), last (the number of the last statement that reads a value), names
-- (of values), width (of the stream), stream (the value that is `h` now, or nil), variables (taken names).
local Pass = {}
Pass.__index = Pass

function Pass:format_item(item)
  return item.text(function(i, rank)
    local value = item.reads[i]
    local inner = self.inner[value]
    if not inner then
      return self.names[value]
    end
    local text = self:format_item(inner)
    return inner.rank < rank and ("(%s)"):format(text) or text
  end)
end

-- Returns the items of the values that are written inside their reader's expression, by value: values that are read
-- exactly once, and not by a loop.
local function find_inner(items, result)
  local reads, named, inner = { [result] = 1 }, { [result] = true }, {}
  for item, value in lists.iterate_nested(items, "reads") do
    reads[value] = (reads[value] or 0) + 1
    named[value] = named[value] or item.loop ~= nil
  end
  for _, item in ipairs(items) do
    inner[item.out] = not item.loop and reads[item.out] == 1 and not named[item.out] and item or nil
  end
  return inner
end

-- Returns the value with the longest expression among the parts of an item that have no variable yet.
function Pass:find_longest_part(item)
  local longest, most = nil, 0
  for _, value in ipairs(item.reads) do
    local length = self.inner[value] and #self:format_item(self.inner[value]) or 0
    if length > most then
      longest, most = value, length
    end
  end
  return longest
end

-- Records that statement number `place` reads an item's variables, also through values written inside it.
function Pass:note_reads(item, place)
  for _, value in ipairs(item.reads) do
    if self.inner[value] then
      self:note_reads(self.inner[value], place)
    else
      self.last[value] = place
    end
  end
end

-- Returns a variable for a value: `h` if the value has the stream's width, no block reads it from outside, and nothing
-- reads the current `h` after statement i; otherwise a name made of `word`.
function Pass:choose_name(value, i, word)
  local free = not self.stream or (self.last[self.stream] or 0) <= i
  if free and value.width.count == self.width and not value.is_external then
    self.stream = value
    return "h"
  end
  return names.add_variable(self.variables, word)
end

-- Adds a text to the lines, wrapped after commas within parentheses if it is too long.
local function add_wrapped(lines, text)
  local inside, indent = 0, text:match("^ *") .. "    "
  while #text > LINE do
    local depth, at = inside, nil
    for i = 1, LINE do
      local c = text:sub(i, i)
      depth = depth + ((c == "(" or c == "[") and 1 or (c == ")" or c == "]") and -1 or 0)
      at = c == " " and depth > 0 and text:sub(i - 1, i - 1) == "," and i or at
    end
    if not at then
      break
    end
    lines[#lines + 1] = text:sub(1, at - 1)
    text, inside = indent .. text:sub(at + 1), 1
  end
  lines[#lines + 1] = text
end

-- Adds a loop, statement i. The result gets the variable of the input x, unless x is read later or by every repetition.
function Pass:add_loop(item, i, lines)
  local x, loop = item.reads[1], item.loop
  local others = { table.unpack(item.reads, 2) }
  local name, is_needed = self.names[x], self.last[x] > i or lists.has(others, x)
  if is_needed then
    local word = loop.name .. "_output"
    local own = self.stream == x and names.add_variable(self.variables, word)
      or self:choose_name(item.out, i - 1, word) -- a repetition may read `h` after an earlier repetition has changed it
    lines[#lines + 1] = ("%s = %s"):format(own, name)
    name = own
  elseif self.stream == x then
    self.stream = item.out
  end
  self.names[item.out] = name
  local variable = names.add_variable(self.variables, loop.name)
  local arguments = lists.map(others, function(value) return self.names[value] end)
  arguments = lists.append({ name, table.unpack(arguments) }, loop.arguments)
  local heads, indent = { ("for %s in %s:"):format(variable, loop.modules) }, ""
  if loop.times > 1 then
    table.insert(heads, 1, ("for _ in range(%d):"):format(loop.times))
  end
  for _, head in ipairs(heads) do
    lines[#lines + 1], indent = indent .. head, indent .. "    "
  end
  lists.append(lines, lists.map(loop.lines, function(line) return indent .. line end))
  add_wrapped(lines, ("%s%s = %s(%s)"):format(indent, name, variable, table.concat(arguments, ", ")))
end

-- Returns the items that are statements of their own, and records what they read.
function Pass:list_statements(items)
  local list = lists.filter(items, function(item) return not self.inner[item.out] end)
  for i, item in ipairs(list) do
    self:note_reads(item, i)
  end
  return list
end

-- Returns the lines; or nil and a value that needs a variable, since the line that contains the value is too long.
function Pass:write(items, result)
  local lines = {}
  for i, item in ipairs(self:list_statements(items)) do
    if item.loop then
      self:add_loop(item, i, lines)
    else
      local text = self:format_item(item)
      local name = item.out ~= result and self:choose_name(item.out, i, item.out.name)
      self.names[item.out] = name or nil
      text = name and ("%s = %s"):format(name, text) or "return " .. text
      local part = #text > LINE and self:find_longest_part(item)
      if part then
        return nil, part
      end
      add_wrapped(lines, text)
    end
  end
  return lines
end

-- given: { items, result (the returned value), width (of the stream), stream (the value that is `h` at first, or nil),
-- arguments (names of arguments), names (of named values) }
function M.write(given)
  local inner = find_inner(given.items, given.result)
  while true do
    local pass = setmetatable({ inner = inner, last = {}, names = lists.merge(given.names), width = given.width,
      stream = given.stream, variables = names.new_variables({ "h", table.unpack(given.arguments) }) }, Pass)
    local lines, part = pass:write(given.items, given.result)
    if lines then
      return lines
    end
    inner[part] = nil
  end
end

return M
