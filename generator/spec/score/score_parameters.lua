-- Converts the parameters of a score from the table in a spec to parameters of expression/ir.lua.
--
-- Input: a tree node per parameter, and a context with these fields:
--   report(node, field, message, expected, hint)   reports an error and returns nil
--   heads        the number of heads
--   head_width   the width of a head
--   causal       whether no query sees a later key
--   max_number   the largest number of the precision
--   remaining    { values = the number of values that further parameters may have }
-- Output: the parameter, or nil after errors:
--   name      a name that is unique in a score
--   per       "model", "layer", "head", "layer_head" or "token"
--   from      for a parameter with per = "token". "query" or "key": the token's value is the product of a learned
--             vector and the token's query or key. nil: a learned map of the block's input gives each token a value for
--             each head
--   unit      with `from`: whether the vector is divided by its norm
--   size      the number of values; nil: the parameter is a single number
--   first     the first index of the values
--   init      the initial value: a number, or a distribution { kind, sigma }; with per = "token", the distribution of
--             the learned vector or of the map's weights
--   values    the initial numbers, one for each (head, index) in row-major order, or only for each head or each index;
--             every layer has the same numbers
--   learned   whether training changes the values
--   outside   the value at other indices: a number, or "clip" for the value of the nearest index, or nil
-- score.lua adds node, local_name (the name in the spec) and is_inlined (whether formulas contain the parameter's
-- number).

local INIT_TEXT = require("facets.score").INIT_TEXT
local diagnostics = require("base.diagnostics")
local entries = require("spec.score.entries")
local has_head = require("expression.leaves").has_head
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")
local traced = require("expression.traced")
local tree = require("spec.reading.tree")

local M = {}

local show = diagnostics.show

local FIELDS = { "per", "from", "unit", "shape", "index", "by_distance", "init", "values", "learned", "outside" }
local PER = { "model", "layer", "head", "layer_head", "token" }
local FROM = { "input", "query", "key" } -- the vectors of a token from which its value is computed
local MAP_INIT = { kind = "normal", sigma = 0.02 } -- initial weights of a map of the block's input
local MAX_NAME_LENGTH = 40
local MAX_HEAD_VALUES = 16384 -- values of one parameter, for one head
M.MAX_VALUES = 1 << 20 -- values of all parameters of a spec

M.NUMBER_TEXT = "a number within the range of float32, at most 3.4e38"
M.NAME = "^[a-z][a-z0-9_]*$"
M.TEXT = "{ per, from, shape or index = { first, last }, by_distance, init or values, learned, outside }, or a number "
  .. "or list of values"

local function report_misfit(context, node, path, expected, hint)
  return context.report(node, path, tree.show(node) .. " does not fit here", expected, hint)
end

-- Slopes of ALiBi for any number H of heads (Press et al. 2022): 2^(-8 (h + 1) / H) if H is a power of two. Other
-- numbers have the slopes for the next smaller power of two, then every second slope for the next larger power of two.
function M.compute_alibi_slopes(heads)
  local power = 1
  while 2 * power <= heads do
    power = 2 * power
  end
  local slopes = {}
  for h = 1, heads do
    slopes[h] = h <= power and 2 ^ (-8 * h / power) or 2 ^ (-8 * (2 * (h - power) - 1) / (2 * power))
  end
  return slopes
end

-- The first and the last index of a range; nil if the node is not a range of at most MAX_HEAD_VALUES indices.
local function read_range(index)
  local items = index.items or {}
  local first = tree.get_integer(items[1], -MAX_HEAD_VALUES, MAX_HEAD_VALUES)
  local last = tree.get_integer(items[2], -MAX_HEAD_VALUES, MAX_HEAD_VALUES)
  if #items == 2 and not next(index.fields) and first and last and first <= last and last - first < MAX_HEAD_VALUES then
    return first, last
  end
end

-- Returns the size and the first index of a parameter with several values, and spec_size, the size that the spec
-- states; nil after an error. spec_size is larger than the size if the spec lists distances that no query sees.
local function read_extent(context, fields, path)
  local shape, index, by_distance = fields.shape, fields.index, fields.by_distance
  if by_distance and (by_distance.value ~= true or not index) then
    return report_misfit(context, by_distance, path .. ".by_distance",
      "true, together with index, which lists the distances")
  elseif shape and index then
    return context.report(shape, path .. ".shape", "conflicts with index", "one of the two fields")
  elseif shape then
    local size = tree.get_integer(shape, 1, MAX_HEAD_VALUES)
    if not size then
      report_misfit(context, shape, path .. ".shape", ("an integer from 1 to %d: number of values, with indices from 0")
        :format(MAX_HEAD_VALUES))
    end
    return size, 0, size
  end
  local first, last = read_range(index)
  if not first then
    return context.report(index, path .. ".index", tree.is_table(index) and "is not a range" or tree.show(index)
      .. " does not fit here", ("{ first, last }, integers, first <= last, at most %d values"):format(MAX_HEAD_VALUES))
  end
  local last_visible = by_distance and context.causal and math.max(first, math.min(last, 0)) or last
  return last_visible - first + 1, first, last - first + 1
end

local function is_valid_outside(node)
  return node.value == "clip" or type(node.value) == "number"
end

-- The legal lengths of a list of values, in words. spec_size: the size of the parameter in the spec, or nil.
local function describe_lengths(p, spec_size, heads)
  local words = { "1 (for all)" }
  if spec_size and spec_size > p.size then
    words[#words + 1] = ("%d (its values; those above distance 0 are left out, since no query sees a later key)")
      :format(spec_size)
  end
  if spec_size then
    words[#words + 1] = p.size .. (spec_size > p.size and " (those up to distance 0)" or " (its values)")
  end
  if has_head(p) then
    words[#words + 1] = heads .. " (one per head)"
  end
  if spec_size and has_head(p) then
    words[#words + 1] = ("%d (%d heads x %d values: head after head)"):format(heads * spec_size, heads, spec_size)
  end
  return "a list of length " .. table.concat(words, ", ", 1, #words - 1) .. (#words > 1 and " or " or "")
    .. words[#words]
end

-- Expands a list of values to one number for each (head, index); nil if the length of the list is not valid. spec_size:
-- the number of values of a head in the spec; the first p.size of them are used.
local function expand(list, p, spec_size, heads)
  local rows = has_head(p) and heads or 1
  local count, values = #list, {}
  for row = 0, rows - 1 do
    for i = 1, p.size or 1 do
      local index
      if count == 1 then
        index = 1
      elseif count == rows * spec_size then
        index = row * spec_size + i
      elseif count == spec_size then
        index = i
      elseif count == rows then
        index = row + 1
      else
        return nil
      end
      values[#values + 1] = list[index] + 0.0
    end
  end
  return values
end

-- Reads the values of a parameter from a list of numbers; nil after an error.
local function read_list(context, node, path, p, spec_size)
  local list = {}
  for i, item in ipairs(node.items) do
    if type(item.value) ~= "number" then
      return context.report(item, locate.join(path, i), tree.show(item) .. " is not a number", "a flat list of numbers",
        tree.is_table(item) and "write row after row in one list" or nil)
    end
    list[i] = item.value
  end
  local values = expand(list, p, spec_size or 1, context.heads) or spec_size and expand(list, p, p.size, context.heads)
  return values or context.report(node, path, ("the list has %d values"):format(#list),
    describe_lengths(p, spec_size, context.heads))
end

-- Reads the values of a parameter from the name of a built-in list of values; nil after an error.
local function read_name(context, node, path, p)
  if node.value ~= "alibi_slopes" then
    return context.report(node, path, show(node.value) .. " is not a name of initial values", INIT_TEXT,
      similar_names.make_hint(node.value, { "alibi_slopes" }))
  elseif not has_head(p) or p.size then
    local found = p.size and "has a shape or index" or "is per " .. p.per
    return context.report(node, path, "alibi_slopes gives one number per head, and the parameter " .. found,
      'per = "head" or "layer_head", without shape or index')
  end
  return M.compute_alibi_slopes(context.heads)
end

-- Reads a distribution, { normal = sigma } or { truncated_normal = sigma }.
local function read_distribution(context, node, path)
  local kind, sigma = next(node.fields)
  local is_distribution = kind == "normal" or kind == "truncated_normal"
  if not is_distribution or next(node.fields, kind) or type(sigma.value) ~= "number" or sigma.value <= 0 then
    return context.report(node, path, is_distribution and sigma.value and ("sigma is %s"):format(show(sigma.value))
      or "a table that does not fit here", INIT_TEXT .. ", sigma above 0")
  end
  return { kind = kind, sigma = sigma.value + 0.0 }
end

-- Sets p.init or p.values from the node of `init` or `values`; returns what it has set, or nil after an error.
local function read_initial(context, node, path, p, spec_size)
  if type(node.value) == "number" and p.learned then
    p.init = node.value + 0.0
  elseif type(node.value) == "number" then
    p.values = expand({ node.value }, p, 1, context.heads)
  elseif type(node.value) == "string" then
    p.values = read_name(context, node, path, p)
  elseif not tree.is_table(node) then
    report_misfit(context, node, path, INIT_TEXT)
  elseif #node.items > 0 then
    p.values = read_list(context, node, path, p, spec_size)
  elseif p.learned then
    p.init = read_distribution(context, node, path)
  else
    context.report(node, path, "random values for a parameter that is not learned", "a number, a list or a name")
  end
  return p.init or p.values
end

local function check_name(context, name, node, path)
  if not name:find(M.NAME) or #name > MAX_NAME_LENGTH then
    return context.report(node, path, ("%s is not a name for a parameter"):format(show(name)),
      "a letter a-z, then up to 39 characters: a-z, 0-9 and _")
  elseif lists.has(traced.SYMBOLS, name) then
    return context.report(node, path, ("x.%s already has a meaning"):format(name),
      "another name than " .. table.concat(traced.SYMBOLS, ", "))
  end
  return true
end

-- Whether a parameter is learned; nil after an error. Without the field `learned`, a parameter with `init` is learned.
local function read_learned(context, node, fields, path)
  if fields.init and fields.values then
    return context.report(fields.values, path .. ".values", "conflicts with init",
      "init for a learned parameter, values for a constant")
  elseif not fields.init and not fields.values then
    return context.report(node, path, "has no values", "init for a learned parameter, or values for a constant")
  elseif fields.learned and type(fields.learned.value) ~= "boolean" then
    return report_misfit(context, fields.learned, path .. ".learned", "true or false")
  end
  local is_learned = fields.init ~= nil and not fields.learned or fields.learned and fields.learned.value or false
  if is_learned and not fields.init then
    return context.report(fields.learned, path .. ".learned", "true, but the parameter has values",
      "init, the value at the start of training, instead of values")
  end
  return is_learned
end

-- Sets p.from and p.unit of a parameter with per = "token"; returns nil after an error.
local function read_source(context, fields, path, p)
  local from_node, unit_node = fields.from, fields.unit
  if from_node and not lists.has(FROM, from_node.value) then
    return report_misfit(context, from_node, path .. ".from", table.concat(FROM, ", "),
      similar_names.make_hint(from_node.value, FROM))
  end
  p.from = from_node and from_node.value ~= "input" and from_node.value or nil
  if unit_node and type(unit_node.value) ~= "boolean" then
    return report_misfit(context, unit_node, path .. ".unit", "true or false")
  elseif unit_node and not p.from then
    return context.report(unit_node, path .. ".unit", "there is no vector to divide by its norm",
      'from = "query" or from = "key" as well')
  end
  p.unit = unit_node and unit_node.value or nil
  return p
end

-- Reads a parameter with per = "token" into p; returns p, or nil after an error. The default of init is MAP_INIT for a
-- map, and a normal distribution with the variance 1 / head_width for a vector.
local function read_token_parameter(context, fields, path, p)
  for _, name in ipairs({ "shape", "index", "by_distance", "values", "learned", "outside" }) do
    if fields[name] then
      return context.report(fields[name], path .. "." .. name, 'a value with per = "token" has no such field',
        'only per, from, unit and init (the initial values of the weights)')
    end
  end
  if not read_source(context, fields, path, p) then
    return nil
  end
  p.learned = true
  local init = fields.init
  if not init then
    p.init = p.from and { kind = "normal", sigma = 1 / math.sqrt(context.head_width) } or MAP_INIT
  elseif tree.is_record(init) then
    p.init = read_distribution(context, init, path .. ".init")
  elseif type(init.value) == "number" then
    p.init = init.value + 0.0
  else
    report_misfit(context, init, path .. ".init", "a number, { normal = sigma } or { truncated_normal = sigma }")
  end
  return p.init and p or nil
end

-- Whether numbers are within the precision's range; reports an error if not.
local function check_magnitude(context, node, path, numbers)
  local large_number = lists.find(numbers, function(value) return math.abs(value) > context.max_number end)
  return not large_number
    or context.report(node, path, ("%s is too large"):format(diagnostics.show(large_number)), M.NUMBER_TEXT)
end

-- Subtracts the number of a parameter's values from the number that remains for all parameters.
local function count_values(context, node, path, p)
  local remaining = context.remaining
  remaining.values = remaining.values - (p.size or 1) * (has_head(p) and context.heads or 1)
  return remaining.values >= 0 or context.report(node, path,
    ("the parameters have more than %d values together"):format(M.MAX_VALUES), "fewer or smaller parameters")
end

function M.read(context, name, node, path)
  if not check_name(context, name, node, path) then
    return nil
  end
  local fields = entries.expand_parameter(node).fields
  for field_name, field_node in tree.iterate_others({ fields = fields }, FIELDS) do
    context.report(field_node, path .. "." .. field_name, "no such field", table.concat(FIELDS, ", "),
      similar_names.make_hint(field_name, FIELDS, "%s"))
  end
  if tree.iterate_others({ fields = fields }, FIELDS)() then
    return nil
  end
  local p = { name = name, per = not fields.per and "model" or lists.has(PER, fields.per.value) and fields.per.value
    or report_misfit(context, fields.per, path .. ".per", table.concat(PER, ", "),
      similar_names.make_hint(fields.per.value, PER)) }
  if p.per == "token" then
    return read_token_parameter(context, fields, path, p)
  end
  for _, field in ipairs({ "from", "unit" }) do
    if fields[field] then
      return context.report(fields[field], path .. "." .. field, "this parameter is not the value of a token",
        'per = "token" as well')
    end
  end
  local has_size = (fields.shape or fields.index or fields.by_distance) ~= nil
  local outside, spec_size = fields.outside, nil
  if has_size then
    p.size, p.first, spec_size = read_extent(context, fields, path)
  end
  if outside and not is_valid_outside(outside) then
    report_misfit(context, outside, path .. ".outside",
      'a number, the value at other indices; or "clip": other indices have the value of the nearest index')
  end
  p.outside = outside and outside.value
  p.learned = read_learned(context, node, fields, path)
  if not p.per or has_size and not p.size or outside and not is_valid_outside(outside) or p.learned == nil then
    return nil
  elseif outside and not has_size then
    return context.report(outside, path .. ".outside", "a parameter with a single value has no other indices",
      "shape or index as well")
  elseif not count_values(context, node, path, p) then
    return nil
  end
  local start = fields.init or fields.values
  local start_path = path .. (fields.init and ".init" or start.origin ~= node.origin and ".values" or "")
  if not read_initial(context, start, start_path, p, spec_size) then
    return nil
  end
  local initial_number = type(p.init) == "table" and p.init.sigma or p.init
  local outside_number = math.type(p.outside) and p.outside
  return check_magnitude(context, start, start_path, p.values or { initial_number })
    and check_magnitude(context, outside, path .. ".outside", { outside_number }) and p or nil
end

-- The fields of a parameter in the resolved spec.
function M.copy(p)
  return { per = p.per, size = p.size, first = p.first, init = p.init, values = p.values, learned = p.learned,
    outside = p.outside, from = p.from, unit = p.unit }
end

local MAX_LISTED = 8 -- values that a line shows

-- One parameter of the resolved spec as a line of text.
function M.format(p)
  local words = { "per " .. p.per:gsub("_", " and ") }
  if p.from then
    words[#words + 1] = ("the %s times a %svector"):format(p.from, p.unit and "unit " or "")
  end
  if p.size then
    words[#words + 1] = ("index %d to %d"):format(p.first, p.first + p.size - 1)
  end
  if p.outside then
    words[#words + 1] = "outside " .. (p.outside == "clip" and "clipped" or diagnostics.show(p.outside))
  end
  local list = p.values or {}
  local list_text = table.concat(lists.map(table.move(list, 1, MAX_LISTED, 1, {}), diagnostics.show), ", ")
  local ellipsis = #list > MAX_LISTED and (", ... (%d values)"):format(#list) or ""
  local start = p.values and ("{ %s%s }"):format(list_text, ellipsis)
    or type(p.init) == "number" and diagnostics.show(p.init)
    or ("%s(%s)"):format(p.init.kind, diagnostics.show(p.init.sigma))
  words[#words + 1] = (p.learned and "learned from " or "constant ") .. start
  return table.concat(words, ", ")
end

return M
