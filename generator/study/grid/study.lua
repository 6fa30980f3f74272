-- Reads a study: a file that lays fragments of specs over each other along axes, for every seed and learning rate.
--
-- Input: the path of the file, the name of a scale or nil, the repository's root. Output: { title, shown, axes, below,
-- seeds, learning_rates, report, scored, scales }: axes as { name, values = { { name, fragment, learning_rates } } },
-- below as the fragments under every value, report as plain data, scored as { split, select } or nil; or nil, with the
-- errors in the diagnostics.
-- Invariants: reads files, writes none; reports every error it can find in one run; fragments themselves are checked
-- where specs are, when a cell is resolved.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local load_module = require("spec.load")
local locate = require("spec.locate")
local tree = require("spec.tree")

local M = {}

local NAME = "^[a-z0-9][a-z0-9_.%-]*$"
local NAME_TEXT = "letters a-z, digits, _, - and ., these three not at the start"
local NUMBER = "^%-?%d+%.?%d*[e+%-%d]*$" -- as canonical writes it
local FIELDS = { "title", "base", "axes", "seeds", "learning_rates", "scales", "report" }
local AXIS_FIELDS = { "name", "values", "use", "only" }
local SCALE_FIELDS = { "base", "seeds", "learning_rates", "axes" }
local SECTIONS = { task = true, encoding = true, model = true, train = true, eval = true, precision = true }
local REPORT_FIELDS = { split = true, select = true }
local LARGEST_SEED = 1 << 53 -- runtime/cli/options.h
local MOST_RUNS = 4096 -- of a cell: runtime/cli/verb_train.c
local MOST_RATES = 64 -- runtime/cli/options.h

-- The sets that an evaluation goes over.
M.SPLITS = { "train", "test", "validation" }

local IS_SPLIT = {}

for _, name in ipairs(M.SPLITS) do
  IS_SPLIT[name] = true
end

local function add(context, node, field, what, expected, hint)
  context.diagnostics:add({ at = node.origin, field = field, what = what, expected = expected, hint = hint })
end

local function found(node)
  return node.fields and "a table" or diagnostics.show(node.value)
end

-- Whether node is a table; says so where it is none.
local function is_table(context, node, field, expected)
  if tree.is_table(node) then
    return true
  end
  add(context, node, field, "is " .. found(node), expected)
  return false
end

-- Reports the fields of a table that are not in the list, and values without a name.
local function check_fields(context, node, path, legal)
  local known = {}
  for _, name in ipairs(legal) do
    known[name] = true
  end
  if #node.items > 0 then
    add(context, node.items[1], locate.join(path, 1), "a value without a name", "name = value")
  end
  for name, inner in tree.each(node) do
    if not known[name] then
      local near = diagnostics.nearest(name, legal)
      add(context, inner, locate.join(path, name), "no such field", table.concat(legal, ", "),
        near and ('did you mean "%s"?'):format(near))
    end
  end
end

-- The items of a list of at least one; an empty list after an error.
local function items_of(context, node, path, expected)
  if not is_table(context, node, path, expected) then
    return {}
  elseif next(node.fields) or #node.items == 0 then
    add(context, node, path, #node.items == 0 and not next(node.fields) and "is empty" or "is no list", expected)
    return {}
  end
  return node.items
end

-- The name of an axis' value: a number is the name that its text is, 16 the same as "16".
function M.name_of(value)
  return type(value) == "number" and canonical.text(value) or value
end

local function is_name(text)
  return type(text) == "string" and text:find(NAME) and #text <= load_module.ID_LONGEST
end

local function read_axis_name(context, node, path)
  if is_name(node.value) then
    return node.value
  end
  add(context, node, path, found(node) .. " is no name for an axis", NAME_TEXT)
end

local function read_value_name(context, node, path)
  local name = M.name_of(node.value)
  if is_name(name) or type(name) == "string" and name:find(NUMBER) then
    return name
  end
  add(context, node, path, found(node) .. " is no name for a value", NAME_TEXT .. "; or a number")
end

local function read_title(context, node)
  if node and type(node.value) == "string" and node.value:find("%S") and not node.value:find("\n") then
    return node.value
  end
  add(context, node or context.root, "title", node and "is " .. found(node) or "is missing", "one line of text")
end

-- A fragment of a spec; only the lowest may build upon a spec file.
local function read_fragment(context, source, node, path, is_base)
  if not is_table(context, node, path, "a fragment of a spec, such as { train = { batch = 32 } }") then
    return nil
  end
  for name, inner in tree.each(node) do
    if name == "use" and not is_base then
      add(context, inner, locate.join(path, name), "a whole spec cannot be used here", "it in base.use")
    elseif not SECTIONS[name] and name ~= "use" then
      local legal = canonical.sorted_keys(SECTIONS)
      local near = diagnostics.nearest(name, legal)
      add(context, inner, locate.join(path, name), "no such section of a spec", table.concat(legal, ", "),
        near and ('did you mean "%s"?'):format(near))
    end
  end
  return { source = source, tree = node }
end

local function read_rates(context, node, path)
  local expected, rates, known = "a list of numbers above 0, at most 1000000, that differ; at most 64", {}, {}
  for i, item in ipairs(items_of(context, node, path, expected)) do
    local rate = type(item.value) == "number" and item.value + 0.0
    if not rate or rate <= 0 or rate > 1e6 or known[rate] or i > MOST_RATES then
      add(context, item, locate.join(path, i), found(item) .. " does not fit here", expected)
    else
      known[rate] = true
      rates[#rates + 1] = rate
    end
  end
  return rates
end

local function read_value(context, source, node, path, names)
  local expected = '{ name = "...", spec = { a fragment of a spec } }'
  if not is_table(context, node, path, expected) then
    return nil
  end
  check_fields(context, node, path, { "name", "spec", "learning_rates" })
  for _, field in ipairs({ "name", "spec" }) do
    if not node.fields[field] then
      add(context, node, locate.join(path, field), "is missing", expected)
      return nil
    end
  end
  local name = read_value_name(context, node.fields.name, locate.join(path, "name"))
  local fragment = read_fragment(context, source, node.fields.spec, locate.join(path, "spec"), false)
  local rates = node.fields.learning_rates
    and read_rates(context, node.fields.learning_rates, locate.join(path, "learning_rates"))
  if name and names[name] then
    add(context, node.fields.name, locate.join(path, "name"), ('"%s" is there twice'):format(name),
      "names that differ")
  elseif name and fragment then
    names[name] = true
    return { name = name, fragment = fragment, learning_rates = rates or nil }
  end
end

local function read_values(context, source, node, path)
  local values, names = {}, {}
  local expected = 'a list of { name = "...", spec = { ... } }'
  for i, item in ipairs(items_of(context, node, path, expected)) do
    values[#values + 1] = read_value(context, source, item, locate.join(path, i), names)
  end
  return values
end

-- The values of an axis that several studies share: spec/studies/axes/<name>.lua.
local function read_shared(context, node, path)
  local folder = context.root_folder .. "/spec/studies/axes"
  local names = context.names(folder, ".lua")
  local known = {}
  for _, name in ipairs(names) do
    known[name] = true
  end
  if not known[node.value] then
    local near = type(node.value) == "string" and diagnostics.nearest(node.value, names)
    add(context, node, path, found(node) .. " names no file in spec/studies/axes", table.concat(names, ", "),
      near and ('did you mean "%s"?'):format(near) or nil)
    return {}
  end
  local source = load_module.open(("%s/%s.lua"):format(folder, node.value), nil, context.source, node.origin)
  return source and read_values(context, source, source.tree, "") or {}
end

-- The values of those names, in their order there.
local function pick(context, values, node, path)
  local by_name, names, picked = {}, {}, {}
  for i, value in ipairs(values) do
    by_name[value.name], names[i] = value, value.name
  end
  for i, item in ipairs(items_of(context, node, path, "a list of names")) do
    local value = by_name[M.name_of(item.value) or false]
    if not value then
      local near = type(item.value) == "string" and diagnostics.nearest(item.value, names)
      add(context, item, locate.join(path, i), found(item) .. " is no value of this axis", table.concat(names, ", "),
        near and ('did you mean "%s"?'):format(near) or nil)
    end
    picked[#picked + 1] = value or nil
  end
  return picked
end

local function read_axis(context, node, path)
  if not is_table(context, node, path, '{ name = "...", values = { ... } }') then
    return nil
  end
  check_fields(context, node, path, AXIS_FIELDS)
  local given, use = node.fields.values, node.fields.use
  if (given == nil) == (use == nil) then
    add(context, use or node, path, use and "has both values and use" or "has no values",
      'values = { ... }, or use = "<name>" for spec/studies/axes/<name>.lua')
    return nil
  end
  local name = node.fields.name and read_axis_name(context, node.fields.name, path .. ".name")
  if not node.fields.name then
    add(context, node, path .. ".name", "is missing", NAME_TEXT)
  end
  local values = given and read_values(context, context.source, given, path .. ".values")
    or read_shared(context, use, path .. ".use")
  if node.fields.only and #values > 0 then
    values = pick(context, values, node.fields.only, path .. ".only")
  end
  return name and { name = name, values = values }
end

local function read_axes(context, node)
  local axes, names = {}, {}
  if not node then
    add(context, context.root, "axes", "is missing", "a list of axes, at least one")
    return axes
  end
  for i, item in ipairs(items_of(context, node, "axes", "a list of axes, at least one")) do
    local axis = read_axis(context, item, locate.join("axes", i))
    if axis and names[axis.name] then
      add(context, item, locate.join("axes", i), ('a second axis "%s"'):format(axis.name), "names that differ")
    elseif axis then
      names[axis.name] = true
      axes[#axes + 1] = axis
    end
  end
  return axes
end

-- { first, last }, both included, as a list.
local function read_seeds(context, node, path)
  local expected = ("{ first, last }, integers from 0 to %d, at most %d of them"):format(LARGEST_SEED, MOST_RUNS)
  local items, ends = items_of(context, node, path, expected), {}
  for i, item in ipairs(items) do
    ends[i] = math.tointeger(item.value)
  end
  local first, last = ends[1], ends[2]
  if #items ~= 2 or not first or not last or first < 0 or last < first or last > LARGEST_SEED
    or last - first >= MOST_RUNS then
    add(context, node, path, "does not fit here", expected)
    return {}
  end
  local seeds = {}
  for seed = first, last do
    seeds[#seeds + 1] = seed
  end
  return seeds
end

-- Leaves of each axis what a scale names.
local function narrow(context, study, node, path)
  if not is_table(context, node, path, "{ <axis> = { names of its values } }") then
    return
  end
  local names, by_name = {}, {}
  for i, axis in ipairs(study.axes) do
    names[i], by_name[axis.name] = axis.name, axis
  end
  check_fields(context, node, path, names)
  for name, inner in tree.each(node) do
    if by_name[name] and #by_name[name].values > 0 then
      local picked = pick(context, by_name[name].values, inner, locate.join(path, name))
      by_name[name].narrowed = picked
    end
  end
end

-- One scale: checked always, applied where it is the one that is asked for.
local function read_scale(context, study, node, name)
  local path = "scales." .. name
  if not is_table(context, node, path, "{ base, seeds, learning_rates, axes }") then
    return
  end
  check_fields(context, node, path, SCALE_FIELDS)
  local fields = node.fields
  local base = fields.base and read_fragment(context, context.source, fields.base, path .. ".base", false)
  local seeds = fields.seeds and read_seeds(context, fields.seeds, path .. ".seeds")
  local rates = fields.learning_rates and read_rates(context, fields.learning_rates, path .. ".learning_rates")
  if fields.axes then
    narrow(context, study, fields.axes, path .. ".axes")
  end
  for _, axis in ipairs(study.axes) do
    if name == context.scale and axis.narrowed then
      axis.values = axis.narrowed
    end
    axis.narrowed = nil
  end
  if name == context.scale then
    study.below[#study.below + 1] = base
    study.seeds, study.learning_rates = seeds or study.seeds, rates or study.learning_rates
  end
end

local function read_scales(context, study, node)
  if node and not is_table(context, node, "scales", "{ <name> = { base, seeds, learning_rates, axes } }") then
    return
  end
  for name, inner in tree.each(node or tree.table(context.root.origin)) do
    if not name:find(NAME) then
      add(context, inner, locate.join("scales", name), diagnostics.show(name) .. " is no name for a scale", NAME_TEXT)
    end
    study.scales[#study.scales + 1] = name
    if name ~= context.scale then
      read_scale(context, study, inner, name)
    end
  end
  if context.scale and node and node.fields[context.scale] then -- the last, since it narrows the axes
    read_scale(context, study, node.fields[context.scale], context.scale)
  elseif context.scale then
    local names = table.concat(study.scales, ", ")
    context.diagnostics:add({ what = ("%s has no scale %s"):format(context.source.shown, context.scale),
      expected = names ~= "" and names or "none" })
  end
end

-- A node as plain data.
local function plain(node)
  if not tree.is_table(node) then
    return node.value
  end
  local value = {}
  for i, item in ipairs(node.items) do
    value[i] = plain(item)
  end
  for name, inner in next, node.fields do
    value[name] = plain(inner)
  end
  return value
end

-- The items of a report; nil, which is the usual ones, where it only says what is scored.
local function items_or_default(node)
  local list = {}
  for i, item in ipairs(node.items) do
    list[i] = plain(item)
  end
  return (#list > 0 or not next(node.fields)) and list or nil
end

-- { split, select }: the set whose accuracy is a score, and the one that chooses between learning rates.
local function read_scored(context, node)
  local scored = { split = "test" }
  for name, inner in tree.each(node) do
    local path = locate.join("report", name)
    if not REPORT_FIELDS[name] then
      local near = diagnostics.nearest(name, canonical.sorted_keys(REPORT_FIELDS))
      add(context, inner, path, "no such field", "split, select, and a list of items",
        near and ('did you mean "%s"?'):format(near))
    elseif not IS_SPLIT[inner.value] then
      add(context, inner, path, found(inner) .. " is no set", table.concat(M.SPLITS, ", "))
    else
      scored[name] = inner.value
    end
  end
  scored.select = scored.select or scored.split
  return scored
end

-- Whether the file is a spec; says so.
local function is_spec(context)
  local task = context.root.fields.task
  if task and not context.root.fields.axes then
    add(context, task, "task", "this is a spec, not a study", "a study: { title, axes, base, seeds, ... }",
      ("./longhand train builds and trains a spec; ./longhand check %s checks it"):format(context.source.shown))
    return true
  end
  return false
end

local function read_fields(context)
  local fields = context.root.fields
  check_fields(context, context.root, "", FIELDS)
  local study = { title = read_title(context, fields.title), shown = context.source.shown, below = {}, scales = {},
    axes = read_axes(context, fields.axes) }
  study.below[1] = fields.base and read_fragment(context, context.source, fields.base, "base", true)
  study.seeds = fields.seeds and read_seeds(context, fields.seeds, "seeds") or { 0 }
  study.learning_rates = fields.learning_rates and read_rates(context, fields.learning_rates, "learning_rates")
  if fields.report and is_table(context, fields.report, "report", "what the report shows") then
    study.scored, study.report = read_scored(context, fields.report), items_or_default(fields.report)
  end
  read_scales(context, study, fields.scales)
  return study
end

-- options: root, diagnostics, scale, names(folder, ending) -> base names of the files in a folder.
function M.read(path, options)
  local d = options.diagnostics
  local before = d:count()
  local source = load_module.open(path, options)
  if not source then
    return nil
  end
  local context = { diagnostics = d, source = source, root = source.tree, root_folder = options.root,
    scale = options.scale, names = options.names }
  if is_spec(context) then
    return nil
  end
  local study = read_fields(context)
  study.source = source
  return d:count() == before and study or nil
end

return M
