-- Shapes: descriptions of decoded JSON, with which M.find_problem compares a value.
--
-- Input: a value from input.decode, and a shape { type, ... } from the constructors below. Output: nil if the value
-- fits, or the first problem { field, found, expected }. Fields that are null count as absent and are removed.
-- Invariants: numbers (except within M.any) are finite, integers are Lua integers; nothing nests deeper than MAX_DEPTH.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local input = require("base.input")
local lists = require("base.lists")

local M = {}

local MAX_DEPTH = 16
local MAX_NUMBER = 1e300 -- limit of a number without a range: products with numbers up to 1e8 are finite
local MAX_NAME = 60 -- bytes of a field's name in a problem

-- Checks of the shapes that contain shapes, by type: each returns nil or the first problem.
local checks = {}

local function describe_value(value)
  if type(value) == "table" then
    return value == input.NULL and "null" or getmetatable(value) == input.LIST and "a list" or "an object"
  end
  return diagnostics.show(value)
end

local function make_problem(path, value, shape)
  return { field = path, found = describe_value(value), expected = shape.expected }
end

-- Checks of all other shapes, by type: each returns whether the value fits.
local fits = {}

function fits.integer(value, shape)
  return math.type(value) == "integer" and value >= shape.min and value <= shape.max
end

function fits.number(value, shape)
  return type(value) == "number" and value >= shape.min and value <= shape.max
    and not (shape.above and value <= shape.above) and not (shape.below and value >= shape.below)
end

function fits.text(value, shape)
  return type(value) == "string" and #value <= shape.max_bytes and value:find(shape.pattern or "") ~= nil
end

function fits.boolean(value)
  return type(value) == "boolean"
end

local function check(value, shape, path, depth)
  if depth > MAX_DEPTH then
    return { field = path, found = "deeper nesting", expected = ("at most %d levels"):format(MAX_DEPTH) }
  elseif fits[shape.type] then
    return not fits[shape.type](value, shape) and make_problem(path, value, shape) or nil
  end
  return checks[shape.type](value, shape, path, depth)
end

-- Accepts a value that fits one of several shapes. If none fits, the message for a table is about the last shape, and
-- the message for another value names all shapes.
function checks.either(value, shape, path, depth)
  local problem
  for _, alternative in ipairs(shape.shapes) do
    problem = check(value, alternative, path, depth)
    if not problem then
      return nil
    end
  end
  return type(value) == "table" and problem or make_problem(path, value, shape)
end

function checks.list(value, shape, path, depth)
  local is_list = type(value) == "table" and (getmetatable(value) == input.LIST or next(value) == nil)
  if not is_list or value == input.NULL or #value > shape.max_count or #value < shape.min_count then
    return make_problem(path, value, shape)
  end
  for key in next, value do
    if math.type(key) ~= "integer" then
      return make_problem(path, value, shape)
    end
  end
  for i, item in ipairs(value) do
    local item_path = ("%s[%d]"):format(path, i)
    local problem = check(item, shape.item, item_path, depth + 1)
    if problem then
      return problem
    elseif shape.ascending and i > 1 and item <= value[i - 1] then
      return make_problem(item_path, item, { expected = ("more than %s, the item before it"):format(value[i - 1]) })
    end
  end
end

local function join_path(path, name)
  name = #name > MAX_NAME and name:sub(1, MAX_NAME) .. "..." or name
  return path == "" and name or path .. "." .. name
end

local function find_missing(value, shape, path)
  local name = lists.find(shape.required, function(name) return value[name] == nil end)
  return name and { field = join_path(path, name), found = "nothing", expected = shape.fields[name].expected }
end

function checks.object(value, shape, path, depth)
  local is_object = type(value) == "table" and getmetatable(value) == input.OBJECT
  for name in pairs(is_object and value or {}) do
    is_object = is_object and type(name) == "string"
  end
  if not is_object then
    return make_problem(path, value, shape)
  end
  for _, name in ipairs(canonical.sort_keys(value)) do -- the sorted order makes the first problem reproducible
    local field_shape = (not shape.names or name:find(shape.names)) and (shape.fields[name] or shape.other_fields)
    if value[name] == input.NULL then
      value[name] = nil
    elseif not field_shape then
      return { field = path, found = "the field " .. diagnostics.show(name), expected = shape.expected }
    else
      local problem = check(value[name], field_shape, join_path(path, name), depth + 1)
      if problem then
        return problem
      end
    end
  end
  return find_missing(value, shape, path) or shape.check and shape.check(value, path)
end

-- Accepts any value, since a later version of Longhand may write other fields.
function checks.any(value, shape, path, depth)
  if type(value) ~= "table" then
    return nil
  end
  return check(value, getmetatable(value) == input.LIST and shape.list or shape.object, path, depth)
end

function M.integer(min, max)
  return { type = "integer", min = min, max = max, expected = ("an integer from %d to %d"):format(min, max) }
end

-- The shape of a number. range: { min, max, above, below }, each optional: min and max belong to the range, above and
-- below do not.
function M.number(range)
  local bounds = lists.map({ "min", "above", "max", "below" }, function(name)
    return range[name] and ("%s %s"):format(({ min = "from", max = "to" })[name] or name, diagnostics.show(range[name]))
  end)
  return { type = "number", min = range.min or -MAX_NUMBER, max = range.max or MAX_NUMBER, above = range.above,
    below = range.below, expected = "a number " .. (#bounds > 0 and table.concat(bounds, " ") or "that is finite") }
end

-- The shape of a text. max_bytes: the maximum size of the text; pattern: nil for any text; expected: the pattern in
-- words, for messages.
function M.text(max_bytes, pattern, expected)
  return { type = "text", max_bytes = max_bytes, pattern = pattern,
    expected = expected or ("a text of at most %d bytes"):format(max_bytes) }
end

-- The shape of a list. item: the shape of its items; max_count: the maximum number of items; ascending: whether each
-- item must be larger than the item before it.
function M.list(item, max_count, ascending)
  return { type = "list", item = item, min_count = 0, max_count = max_count, ascending = ascending,
    expected = ("a list of at most %d, each %s%s"):format(max_count, item.expected, ascending and ", ascending" or "") }
end

-- The shape of a list with a fixed number of items. item: the shape of its items; count: the number of items.
function M.tuple(item, count)
  return { type = "list", item = item, min_count = count, max_count = count,
    expected = ("a list of %d, each %s"):format(count, item.expected) }
end

-- The shape of an object. fields: shapes by name; options, each optional:
--   required       a list of the names that an object must have
--   other_fields   the shape of fields that `fields` does not list; nil: there are none
--   names          a pattern that all names must match
--   check          a function (value, path) that returns a problem or nil
--   expected       the object in words, for messages
function M.object(fields, options)
  options = options or {}
  return { type = "object", fields = fields, required = options.required or {}, other_fields = options.other_fields,
    names = options.names,
    check = options.check, expected = options.expected or "an object" }
end

-- The shape of a value that fits at least one of the given shapes.
function M.either(...)
  local expected_texts = lists.map({ ... }, function(shape) return shape.expected end)
  return { type = "either", shapes = { ... }, expected = table.concat(expected_texts, ", or ") }
end

M.boolean = { type = "boolean", expected = "true or false" }

M.any = { type = "any", expected = "anything" }
M.any.list, M.any.object = M.list(M.any, math.maxinteger), M.object({}, { other_fields = M.any })

-- Returns nil if the value fits, else { field, found, expected }; field is "" for the value itself.
function M.find_problem(value, shape)
  return check(value, shape, "", 0)
end

return M
