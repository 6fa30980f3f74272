-- The lines of an attention: the pairs of a query and a key that lie on a straight line, and the value added to their
-- scores. facets/lines.lua defines directions and numbers of lines.
--
-- Input: a node of the spec and its path; the number of the model's heads, nil if invalid; report(node, path, what,
-- expected). Output of M.read: a list of { head, direction, line, value }, where `line` is the number of a line among
-- the lines of its direction; nil after errors. The list is sorted by the first three fields, so that equal lines in
-- any order give equal lists. Invariants: no line occurs twice; fields are integers, except value, a float of magnitude
-- up to MAX_VALUE.

local MAX_VALUE = require("facets.lines").MAX_VALUE
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local tree = require("spec.reading.tree")

local M = {}

M.MAX_LINES = 4096 -- lines of one attention
M.MAX_LINE_NUMBER = 1048576 -- the largest magnitude of `line`
M.TEXT = "{ { head = 0, direction = -1, line = 1, value = 2.5 }, ... }, no line twice"

-- Returns two values: a function that returns the integer of a node, nil for other nodes; the expected form, in words.
local function make_reader(low, high)
  return function(node) return tree.get_integer(node, low, high) end, ("an integer from %d to %d"):format(low, high)
end

-- The fields of a line: { name, function that reads the value, expected form }.
local FIELDS = {
  { "head", make_reader(0, 63) },
  { "direction", (make_reader(-1, 1)), "1, 0 or -1" },
  { "line", make_reader(-M.MAX_LINE_NUMBER, M.MAX_LINE_NUMBER) },
  { "value", function(node)
    return type(node.value) == "number" and math.abs(node.value) <= MAX_VALUE and node.value + 0.0 or nil
  end, "a number from -1e20 to 1e20" },
}

local NAMES = lists.map(FIELDS, function(field) return field[1] end)

-- Reads one line, the item at `path`; nil after errors.
local function read_line(node, path, heads, report)
  if not tree.is_record(node) then
    return report(node, path, (tree.is_table(node) and "a list" or tree.show(node)) .. " is not a line", M.TEXT)
  end
  local line, is_valid = {}, true
  local function refuse(field_node, name, message, expected)
    report(field_node, path .. "." .. name, message, expected)
    is_valid = false
  end
  for name, field_node in tree.iterate_others(node, NAMES) do
    refuse(field_node, name, "no such field", table.concat(NAMES, ", "))
  end
  for _, field in ipairs(FIELDS) do
    local name, read, expected = table.unpack(field)
    local field_node = node.fields[name]
    line[name] = field_node and read(field_node)
    if not line[name] then
      refuse(field_node or node, name, field_node and tree.show(field_node) .. " does not fit here" or "is missing",
        expected)
    end
  end
  if is_valid and heads and line.head >= heads then
    refuse(node.fields.head, "head", ("there is no head %d"):format(line.head),
      ("from 0 to %d; model.heads = %d"):format(heads - 1, heads))
  end
  if is_valid and line.direction == 0 and line.line < 0 then
    refuse(node.fields.line, "line", ("there is no key %d"):format(line.line),
      "0 or more: with direction 0, `line` is the index of a key, counted from the side that `columns` names")
  end
  return is_valid and line or nil
end

local function is_before(a, b)
  for _, name in ipairs({ "head", "direction", "line" }) do
    if a[name] ~= b[name] then
      return a[name] < b[name]
    end
  end
  return false
end

function M.read(node, path, heads, report)
  if not tree.is_table(node) or next(node.fields) then
    return report(node, path, tree.show(node) .. " is not a list of lines", M.TEXT)
  elseif #node.items > M.MAX_LINES then
    return report(node, path, ("%d lines"):format(#node.items), ("at most %d for one attention"):format(M.MAX_LINES))
  end
  local list, first_index, is_valid = {}, {}, true
  for i, item in ipairs(node.items) do
    local line = read_line(item, locate.join(path, i), heads, report)
    local key = line and ("%d %d %d"):format(line.head, line.direction, line.line)
    if key and first_index[key] then
      report(item, locate.join(path, i), ("line %d of direction %d occurs twice in head %d"):format(line.line,
        line.direction, line.head), ("each line once; item %d is the same line"):format(first_index[key]))
      is_valid = false
    elseif key then
      first_index[key] = i
    end
    list[#list + 1] = line
    is_valid = is_valid and line ~= nil
  end
  table.sort(list, is_before)
  return is_valid and list or nil
end

return M
