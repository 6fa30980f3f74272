-- A forward pass as lines of Python, from expressions in order.
--
-- Input: items { out, reads, text, rank } (operations.lua) and loops over blocks { out, reads, loop } (classes.lua).
-- Output: lines. What is read once is written where it is read, unless the line becomes too long; what has a name is
-- called as in the description, and what takes the place of the stream's value, once nothing reads that any more, `h`;
-- but what blocks read from outside keeps its name.

local names = require("export.names")

local M = {}

local LINE = 100 -- characters of an expression at most

local Pass = {}
Pass.__index = Pass

-- The expression of an item as things stand: values without a name are written out.
function Pass:text(item)
  return item.text(function(i, rank)
    local value = item.reads[i]
    local inner = self.inner[value]
    if not inner then
      return self.names[value] or value.width.count == self.width and not value.is_external and "h" or value.name
    end
    local text = self:text(inner)
    return inner.rank < rank and ("(%s)"):format(text) or text
  end)
end

-- Which items are written where they are read: self.inner, by value.
function Pass:settle(items, result)
  local reads, named = { [result] = 1 }, { [result] = true }
  for _, item in ipairs(items) do
    for _, value in ipairs(item.reads) do
      reads[value] = (reads[value] or 0) + 1
      named[value] = named[value] or item.loop ~= nil
    end
  end
  for _, item in ipairs(items) do
    self.inner[item.out] = not item.loop and reads[item.out] == 1 and not named[item.out] and item or nil
  end
  for i = #items, 1, -1 do
    if not items[i].loop and not self.inner[items[i].out] then
      self:shorten(items[i])
    end
  end
end

-- Gives names to the longest parts of an expression until it fits.
function Pass:shorten(item)
  while #self:text(item) > LINE do
    local longest
    for _, value in ipairs(item.reads) do
      local inner = self.inner[value]
      local length = inner and #self:text(inner) or 0
      longest = inner and length > (longest and longest.length or 0) and { value = value, length = length } or longest
    end
    if not longest then
      return
    end
    self.inner[longest.value] = nil
  end
end

-- Values with names that an item reads, also by way of those that are written out.
function Pass:variables_of(item, list)
  list = list or {}
  for _, value in ipairs(item.reads) do
    if self.inner[value] then
      self:variables_of(self.inner[value], list)
    else
      list[#list + 1] = value
    end
  end
  return list
end

-- The name of a value: `h` where the one of that name is not read behind statement i; else `word`.
function Pass:name(value, i, word)
  local free = not self.stream or (self.last[self.stream] or 0) <= i
  if free and value.width.count == self.width and not value.is_external then
    self.stream = value
    return "h"
  end
  return names.variable(self.variables, word)
end

-- Lines that are too long go on behind a comma within parentheses.
local function wrapped(lines, text, room)
  local inside = 0
  while #text > room do
    local depth, at = inside, nil
    for i = 1, room do
      local c = text:sub(i, i)
      depth = depth + ((c == "(" or c == "[") and 1 or (c == ")" or c == "]") and -1 or 0)
      at = c == " " and depth > 0 and text:sub(i - 1, i - 1) == "," and i or at
    end
    if not at then
      break
    end
    lines[#lines + 1] = text:sub(1, at - 1)
    text, inside = "    " .. text:sub(at + 1), 1
  end
  lines[#lines + 1] = text
end

function Pass:loop(item, i, lines)
  local x, loop = item.reads[1], item.loop
  local name = self.names[x]
  if self.last[x] > i then
    local copy = self:name(item.out, i, loop.name .. "_output")
    lines[#lines + 1] = ("%s = %s"):format(copy, name)
    name = copy
  elseif self.stream == x then
    self.stream = item.out
  end
  self.names[item.out] = name
  local variable, arguments = names.variable(self.variables, loop.name), { name }
  for k = 2, #item.reads do
    arguments[k] = self.names[item.reads[k]]
  end
  for _, argument in ipairs(loop.arguments) do
    arguments[#arguments + 1] = argument
  end
  local heads, indent = { ("for %s in %s:"):format(variable, loop.modules) }, ""
  if loop.times > 1 then
    table.insert(heads, 1, ("for _ in range(%d):"):format(loop.times))
  end
  for _, head in ipairs(heads) do
    lines[#lines + 1], indent = indent .. head, indent .. "    "
  end
  for _, line in ipairs(loop.lines) do
    lines[#lines + 1] = indent .. line
  end
  wrapped(lines, ("%s%s = %s(%s)"):format(indent, name, variable, table.concat(arguments, ", ")), LINE + 8)
end

-- given: { items, result (the value that is returned), width (of the stream), stream (the value that is `h` at first,
-- or nil), arguments (names of arguments), names (of values that have one) }
function M.lines(given)
  local pass = setmetatable({ inner = {}, last = {}, names = given.names, width = given.width, stream = given.stream,
    variables = names.variables({ "h", table.unpack(given.arguments) }) }, Pass)
  pass:settle(given.items, given.result)
  local statements = {}
  for _, item in ipairs(given.items) do
    if not pass.inner[item.out] then
      statements[#statements + 1] = item
      for _, value in ipairs(pass:variables_of(item)) do
        pass.last[value] = #statements
      end
    end
  end
  local lines = {}
  for i, item in ipairs(statements) do
    if item.loop then
      pass:loop(item, i, lines)
    elseif item.out == given.result then
      wrapped(lines, "return " .. pass:text(item), LINE + 8)
    else
      local text = pass:text(item)
      local name = pass:name(item.out, i, item.out.name)
      pass.names[item.out] = name
      wrapped(lines, ("%s = %s"):format(name, text), LINE + 8)
    end
  end
  return lines
end

return M
