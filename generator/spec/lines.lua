-- The lines of an attention: pairs of a query and a key that lie on a straight line, and what their scores gain.
--
-- Input: a node of the spec; the model's heads, nil where they are wrong; report(node, field, what, expected). Output:
-- M.read's list of { head, direction, line, value }, sorted by the first three, the same for the same lines in any
-- order; or nil after errors. Invariants: no line stands twice; integers but for the value, a float up to LARGEST.

local LARGEST = require("facets.lines").LARGEST
local diagnostics = require("base.diagnostics")
local locate = require("spec.reading.locate")
local tree = require("spec.reading.tree")

local M = {}

M.MOST = 4096 -- of one attention
M.FARTHEST = 1048576 -- from the first of its direction
M.TEXT = "{ { head = 0, direction = -1, line = 1, value = 2.5 }, ... }, each line once"

local function integer_from(low, high)
  return function(value)
    local whole = type(value) == "number" and math.tointeger(value)
    return whole and whole >= low and whole <= high and whole or nil
  end, ("an integer from %d to %d"):format(low, high)
end

local function field(name, take, expected)
  return { name = name, take = take, expected = expected }
end

local FIELDS = {
  field("head", integer_from(0, 63)),
  field("direction", integer_from(-1, 1)),
  field("line", integer_from(-M.FARTHEST, M.FARTHEST)),
  field("value", function(value)
    return type(value) == "number" and math.abs(value) <= LARGEST and value + 0.0 or nil
  end, "a number from -1e20 to 1e20"),
}
FIELDS[2].expected = "1, 0 or -1"

local IS_FIELD = {}
for _, each in ipairs(FIELDS) do
  IS_FIELD[each.name] = true
end

-- Of a number that does not fit, or of what is no number.
local function found(node)
  return tree.is_table(node) and "a table" or diagnostics.show(node.value)
end

-- One line; nil after errors.
local function read_line(node, path, heads, report)
  if not tree.is_table(node) or #node.items > 0 then
    report(node, path, (tree.is_table(node) and "a list" or found(node)) .. " is no line", M.TEXT)
    return nil
  end
  local line, good = {}, true
  for name, inner in tree.each(node) do
    if not IS_FIELD[name] then
      report(inner, path .. "." .. name, "no such field", "head, direction, line, value")
      good = false
    end
  end
  for _, each in ipairs(FIELDS) do
    local inner = node.fields[each.name]
    local value = inner and each.take(inner.value)
    if not value then
      report(inner or node, path .. "." .. each.name, inner and found(inner) .. " does not fit here" or "is missing",
        each.expected)
      good = false
    end
    line[each.name] = value
  end
  if good and heads and line.head >= heads then
    report(node.fields.head, path .. ".head", ("there is no head %d"):format(line.head),
      ("from 0 to %d; model.heads = %d"):format(heads - 1, heads))
    good = false
  end
  if good and line.direction == 0 and line.line < 0 then
    report(node.fields.line, path .. ".line", ("there is no key %d"):format(line.line),
      "from 0 on, where the direction is 0: keys are counted from one side")
    good = false
  end
  return good and line or nil
end

local function before(a, b)
  for _, name in ipairs({ "head", "direction", "line" }) do
    if a[name] ~= b[name] then
      return a[name] < b[name]
    end
  end
  return false
end

function M.read(node, path, heads, report)
  if not tree.is_table(node) or next(node.fields) then
    report(node, path, found(node) .. " is no list of lines", M.TEXT)
    return nil
  elseif #node.items > M.MOST then
    report(node, path, ("%d lines"):format(#node.items), ("at most %d for one attention"):format(M.MOST))
    return nil
  end
  local list, first, good = {}, {}, true
  for i, item in ipairs(node.items) do
    local line = read_line(item, locate.join(path, i), heads, report)
    local key = line and ("%d %d %d"):format(line.head, line.direction, line.line)
    if key and first[key] then
      report(item, locate.join(path, i), ("line %d of direction %d stands twice in head %d"):format(line.line,
        line.direction, line.head), ("each once; it is item %d, too"):format(first[key]))
      good = false
    elseif key then
      first[key] = i
    end
    list[#list + 1] = line
    good = good and line ~= nil
  end
  table.sort(list, before)
  return good and list or nil
end

return M
