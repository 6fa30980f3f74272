-- Reads a study: a file that combines fragments of specs along axes, with seeds and learning rates.
--
-- Input: the path of the file, and options (M.read). Output: nil, with the errors in the diagnostics, or
--   title            the study's title
--   shown            the file's path in messages
--   source           the opened file (load.lua)
--   prefix           the first part of all cells' names, or nil
--   scales           the names of the study's scales; a scale (--scale) changes seeds, rates, axes or fragments
--   axes             a list of { name, values }; each value has the fields
--       name, fragments         the value's name, and its fragments of a spec
--       learning_rates, seeds   lists for the cells with this value, or nil
--       with                    { <axis> = { <value> = true } }, the values of other axes that occur with this value;
--                               nil: all values
--       path                    the value's place in the file
--   base_fragments   the fragments that values override: `base` of the study, and `base` of the scale
--   seeds            a list
--   learning_rates   a list, or nil if the file sets none
--   stages           from stages.lua
--   report           the items of the report as plain data; nil: the default items
--   scored           from read_scored; nil without a report in the file
--   labels           { <name of a value> = <text that a report shows instead> }; nil without a report
-- Invariants: writes no file; reports all errors that it finds in one run. A fragment of a spec, { source, tree }, is
-- checked when a cell is resolved.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")
local measures = require("spec.measures")
local nodes = require("lab.study.grid.nodes")
local stages = require("lab.study.grid.stages")
local tree = require("spec.reading.tree")

local M = {}

local NAME = "^[a-z0-9][a-z0-9_.%-]*$"
local NAME_TEXT = 'a letter a-z or a digit, then letters, digits, "_", "-" or "."'
local NUMBER = "^%-?%d+%.?%d*[e+%-%d]*$" -- a number as canonical.format writes it
local FIELDS = { "title", "prefix", "base", "axes", "seeds", "learning_rates", "scales", "report", "stages" }
local AXIS_FIELDS = { "name", "values", "use", "only" }
local SCALE_FIELDS = { "base", "seeds", "learning_rates", "axes", "values" }
M.SECTIONS = { task = true, encoding = true, model = true, train = true, eval = true, precision = true, init = true }
local MAX_RATES = 64 -- runtime/cli/options.h

-- Sets of examples that can be evaluated.
M.SPLITS = { "train", "test", "validation", "in_distribution", "between", "beyond" }

-- Named fields of a report: { legal words, noun for these words }; false: another function reads the field.
local REPORT_FIELDS = {
  split = { M.SPLITS, "set" },
  select = { M.SPLITS, "set" },
  metric = { measures.NAMES, "metric" },
  generalises = false, -- read_criterion
  labels = false, -- read_labels
}

M.CRITERION = "{ metric, above }, as in { metric = \"exact_match\", above = 99 }: above in percent"

local function is_name(text)
  return type(text) == "string" and text:find(NAME) and #text <= load_module.MAX_ID_LENGTH
end

-- Makes a function that reads a text and reports it unless is_valid(text) is true. noun, expected: for messages.
local function make_name_reader(is_valid, noun, expected)
  return function(context, node, path)
    if is_valid(node.value) then
      return node.value
    end
    nodes.report(context, node, path, ("%s is not a %s"):format(nodes.show(node), noun), expected)
  end
end

local read_axis_name = make_name_reader(is_name, "name for an axis", NAME_TEXT)
local read_prefix = make_name_reader(load_module.is_id, "first part of a cell's name", load_module.ID_TEXT)

local function read_optional(context, node, path, name, read)
  local inner = node.fields[name]
  return inner and read(context, inner, locate.join(path, name)) or nil
end

local function read_value_name(context, node, path)
  local name = nodes.get_name(node.value)
  if is_name(name) or type(name) == "string" and name:find(NUMBER) then
    return name
  end
  nodes.report(context, node, path, nodes.show(node) .. " is not a name for a value", NAME_TEXT .. "; or a number")
end

local function read_title(context, node)
  if node and type(node.value) == "string" and node.value:find("%S") and not node.value:find("\n") then
    return node.value
  end
  nodes.report(context, node or context.root, "title", node and "is " .. nodes.show(node) or "is missing",
    "one line of text")
end

-- Reads a fragment of a spec. is_base: whether the fragment is the study's base, which may use a spec file.
local function read_fragment(context, source, node, path, is_base)
  if not nodes.is_table(context, node, path, "a fragment of a spec, such as { train = { batch = 32 } }") then
    return nil
  end
  for name, inner in tree.iterate(node) do
    if name == "use" and not is_base then
      nodes.report(context, inner, locate.join(path, name), "a whole spec cannot be used here",
        "no field `use` here; only base.use names a spec")
    elseif not M.SECTIONS[name] and name ~= "use" then
      local legal = canonical.sort_keys(M.SECTIONS)
      nodes.report(context, inner, locate.join(path, name), "no such section of a spec", table.concat(legal, ", "),
        similar_names.make_hint(name, legal))
    end
  end
  return { source = source, tree = node }
end

local function read_rates(context, node, path)
  local expected = "a list of at most 64 different numbers above 0, at most 1000000"
  local rates, is_listed = {}, {}
  for i, item in ipairs(nodes.read_items(context, node, path, expected)) do
    local rate = type(item.value) == "number" and item.value + 0.0
    if not rate or rate <= 0 or rate > 1e6 or is_listed[rate] or i > MAX_RATES then
      nodes.report(context, item, locate.join(path, i), nodes.show(item) .. " does not fit here", expected)
    else
      is_listed[rate] = true
      rates[#rates + 1] = rate
    end
  end
  return rates
end

-- Reads a value of an axis; nil after an error. Adds the value's name to `names`, the set of earlier values' names.
local function read_value(context, source, node, path, names)
  local expected = '{ name = "...", spec = { a fragment of a spec } }'
  if not nodes.is_table(context, node, path, expected, { "name", "spec", "learning_rates", "seeds", "with" }) then
    return nil
  end
  for _, field in ipairs({ "name", "spec" }) do
    if not node.fields[field] then
      nodes.report(context, node, locate.join(path, field), "is missing", expected)
      return nil
    end
  end
  local name = read_value_name(context, node.fields.name, locate.join(path, "name"))
  local fragment = read_fragment(context, source, node.fields.spec, locate.join(path, "spec"))
  local rates = read_optional(context, node, path, "learning_rates", read_rates)
  local seeds = read_optional(context, node, path, "seeds", nodes.read_seeds)
  if name and names[name] then
    nodes.report(context, node.fields.name, locate.join(path, "name"), ('"%s" occurs twice'):format(name),
      "names that differ")
  elseif name and fragment then
    names[name] = true
    return { name = name, fragments = { fragment }, learning_rates = rates, seeds = seeds,
      with = node.fields.with, path = path }
  end
end

local function read_values(context, source, node, path)
  local values, names = {}, {}
  local expected = 'a list of { name = "...", spec = { ... } }'
  for i, item in ipairs(nodes.read_items(context, node, path, expected)) do
    values[#values + 1] = read_value(context, source, item, locate.join(path, i), names)
  end
  return values
end

-- Reads the values of an axis that several studies share: spec/studies/axes/<name>.lua.
local function read_shared(context, node, path)
  local folder = context.root_folder .. "/spec/studies/axes"
  local names = context.names(folder, ".lua")
  if not lists.has(names, node.value) then
    nodes.report(context, node, path, nodes.show(node) .. " names no file in spec/studies/axes",
      table.concat(names, ", "), similar_names.make_hint(node.value, names))
    return {}
  end
  local source = load_module.open(("%s/%s.lua"):format(folder, node.value), nil, context.source, node.origin)
  return source and read_values(context, source, source.tree, "") or {}
end

-- Reads an axis { name, values }; nil after an error. The values are in the study or in a shared file.
local function read_axis(context, node, path)
  if not nodes.is_table(context, node, path, '{ name = "...", values = { ... } }', AXIS_FIELDS) then
    return nil
  end
  local values_node, use = node.fields.values, node.fields.use
  if (values_node == nil) == (use == nil) then
    nodes.report(context, use or node, path, use and "has both values and use" or "has no values",
      'values = { ... }, or use = "<name>" for spec/studies/axes/<name>.lua')
    return nil
  end
  local name = node.fields.name and read_axis_name(context, node.fields.name, path .. ".name")
  if not node.fields.name then
    nodes.report(context, node, path .. ".name", "is missing", NAME_TEXT)
  end
  local values = values_node and read_values(context, context.source, values_node, path .. ".values")
    or read_shared(context, use, path .. ".use")
  if node.fields.only and #values > 0 then
    values = nodes.pick(context, values, node.fields.only, path .. ".only")
  end
  return name and { name = name, values = values }
end

-- Replaces the node `with` of each value by { <other axis> = { <value> = true } }.
local function read_partners(context, axes)
  for _, axis in ipairs(axes) do
    local other_axes = lists.filter(axes, function(partner) return partner ~= axis end)
    for _, value in ipairs(axis.values) do
      value.with = value.with and nodes.read_cells(context, other_axes, value.with, locate.join(value.path, "with"))
    end
  end
end

local function read_axes(context, node)
  local axes, names = {}, {}
  if not node then
    nodes.report(context, context.root, "axes", "is missing", "a list of axes, at least one")
    return axes
  end
  for i, item in ipairs(nodes.read_items(context, node, "axes", "a list of axes, at least one")) do
    local axis = read_axis(context, item, locate.join("axes", i))
    if axis and names[axis.name] then
      nodes.report(context, item, locate.join("axes", i), ('a second axis "%s"'):format(axis.name), "names that differ")
    elseif axis then
      names[axis.name] = true
      axes[#axes + 1] = axis
    end
  end
  read_partners(context, axes)
  return axes
end

-- Sets narrowed_values, the selected values, of each axis that a scale narrows.
local function narrow_axes(context, study, node, path)
  if not nodes.is_table(context, node, path, "{ <axis> = { names of its values } }", lists.get_names(study.axes)) then
    return
  end
  for _, axis in ipairs(study.axes) do
    if node.fields[axis.name] and #axis.values > 0 then
      axis.narrowed_values = nodes.pick(context, axis.values, node.fields[axis.name], locate.join(path, axis.name))
    end
  end
end

-- Reads a scale's fragments for values of axes. Fragments of the requested scale override the values' own fragments.
local function read_scaled_values(context, study, node, path, is_requested)
  local expected = "{ <axis> = { <value> = { a fragment of a spec } } }"
  if not nodes.is_table(context, node, path, expected, lists.get_names(study.axes)) then
    return
  end
  for _, axis in ipairs(study.axes) do
    local inner, place = node.fields[axis.name], locate.join(path, axis.name)
    if inner and nodes.is_table(context, inner, place, expected, lists.get_names(axis.values)) then
      for _, value in ipairs(axis.values) do
        local fragment_node = inner.fields[value.name]
        local fragment = fragment_node
          and read_fragment(context, context.source, fragment_node, locate.join(place, value.name))
        value.fragments[2] = is_requested and fragment or nil
      end
    end
  end
end

-- Reads and checks a scale; applies the scale to the study if it is the requested one.
local function read_scale(context, study, node, name)
  local path = "scales." .. name
  if not nodes.is_table(context, node, path, "{ base, seeds, learning_rates, axes, values }", SCALE_FIELDS) then
    return
  end
  local fields = node.fields
  local base = fields.base and read_fragment(context, context.source, fields.base, path .. ".base")
  local seeds = read_optional(context, node, path, "seeds", nodes.read_seeds)
  local rates = read_optional(context, node, path, "learning_rates", read_rates)
  if fields.values then
    read_scaled_values(context, study, fields.values, path .. ".values", name == context.scale)
  end
  if fields.axes then
    narrow_axes(context, study, fields.axes, path .. ".axes")
  end
  for _, axis in ipairs(study.axes) do
    if name == context.scale and axis.narrowed_values then
      axis.values = axis.narrowed_values
    end
    axis.narrowed_values = nil
  end
  if name == context.scale then
    study.base_fragments[#study.base_fragments + 1] = base
    study.seeds, study.learning_rates = seeds or study.seeds, rates or study.learning_rates
  end
end

local function read_scales(context, study, node)
  local expected = "{ <name> = { base, seeds, learning_rates, axes, values } }"
  if node and not nodes.is_table(context, node, "scales", expected) then
    return
  end
  for name, inner in tree.iterate(node or tree.make_table(context.root.origin)) do
    if not name:find(NAME) then
      nodes.report(context, inner, locate.join("scales", name), diagnostics.show(name) .. " is not a name for a scale",
        NAME_TEXT)
    end
    study.scales[#study.scales + 1] = name
    if name ~= context.scale then
      read_scale(context, study, inner, name)
    end
  end
  -- The requested scale is read last, since it removes values that other scales may name.
  if context.scale and node and node.fields[context.scale] then
    read_scale(context, study, node.fields[context.scale], context.scale)
  elseif context.scale then
    local names = table.concat(study.scales, ", ")
    context.diagnostics:add({ what = ("%s has no scale %s"):format(context.source.shown, context.scale),
      expected = names ~= "" and names or "no --scale, since this study has no scales" })
  end
end

-- Reads { metric, above }: a seed generalises if its score, in percent, exceeds `above`.
local function read_criterion(context, node, path)
  if not nodes.is_table(context, node, path, M.CRITERION, { "metric", "above" }) then
    return nil
  end
  local metric, above_node = node.fields.metric, node.fields.above
  if not metric or not above_node then
    nodes.report(context, node, locate.join(path, metric and "above" or "metric"), "is missing", M.CRITERION)
    return nil
  end
  local percent = tonumber(above_node.value)
  if math.type(above_node.value) == nil or percent <= 1 or percent >= 100 then
    nodes.report(context, above_node, locate.join(path, "above"), nodes.show(above_node)
      .. " is not a percentage that a score can pass", "a number above 1 and below 100", percent
      and percent > 0 and percent <= 1 and "write percent, not a share" or nil)
  end
  return { metric = nodes.read_word(context, metric, locate.join(path, "metric"), measures.SHARES, "metric of shares"),
    above = percent }
end

local function read_labels(context, node, axes)
  local path, labels = "report.labels", {}
  local names = lists.collect(axes, function(axis) return lists.get_names(axis.values) end)
  if nodes.is_table(context, node, path, '{ VALUE = "TEXT" }, as in { none = "NoPE" }', names) then
    for name, inner in tree.iterate(node) do
      if type(inner.value) ~= "string" or not inner.value:find("%S") then
        nodes.report(context, inner, locate.join(path, name), nodes.show(inner) .. " is not a text", "a text to show")
      end
      labels[name] = inner.value
    end
  end
  return next(labels) and labels or nil
end

-- Reads the named fields of a report, except labels. Returns
--   split         the set of examples that is scored
--   metric        the metric of the scores, or nil
--   select        the set of examples that decides the learning rates, or nil
--   generalises   from read_criterion, or nil
local function read_scored(context, node)
  local scored = { split = "test" }
  for name, inner in tree.iterate(node) do
    local path = locate.join("report", name)
    if REPORT_FIELDS[name] == nil then
      nodes.report(context, inner, path, "no such field",
        "split, select, metric, generalises, labels, and a list of items",
        similar_names.make_hint(name, canonical.sort_keys(REPORT_FIELDS)))
    elseif name == "generalises" then
      scored.generalises = read_criterion(context, inner, path)
    elseif name ~= "labels" then
      scored[name] = nodes.read_word(context, inner, path, table.unpack(REPORT_FIELDS[name]))
    end
  end
  return scored
end

-- Whether the file is a spec instead of a study. Reports an error if it is.
local function is_spec(context)
  local task = context.root.fields.task
  if task and not context.root.fields.axes then
    nodes.report(context, task, "task", "this is a spec, not a study", "a study: { title, axes, base, seeds, ... }",
      ("./longhand train builds and trains a spec; ./longhand check %s checks it"):format(context.source.shown))
    return true
  end
  return false
end

local function read_fields(context)
  local fields = context.root.fields
  nodes.check_fields(context, context.root, "", FIELDS)
  local study = { title = read_title(context, fields.title), shown = context.source.shown, base_fragments = {},
    scales = {}, axes = read_axes(context, fields.axes) }
  study.prefix = read_optional(context, context.root, "", "prefix", read_prefix)
  study.base_fragments[1] = fields.base and read_fragment(context, context.source, fields.base, "base", true)
  study.seeds = read_optional(context, context.root, "", "seeds", nodes.read_seeds) or { 0 }
  study.learning_rates = read_optional(context, context.root, "", "learning_rates", read_rates)
  if fields.report and nodes.is_table(context, fields.report, "report", "what the report shows") then
    local items = lists.map(fields.report.items, nodes.to_plain)
    study.scored = read_scored(context, fields.report)
    local labels = fields.report.fields.labels
    study.labels = labels and read_labels(context, labels, study.axes)
    -- nil (the default items) for a report with only named fields; no items for the report {}
    study.report = (#items > 0 or not next(fields.report.fields)) and items or nil
  end
  study.stages = fields.stages and stages.read(context, study.axes, fields.stages) or {}
  read_scales(context, study, fields.scales)
  return study
end

-- Reads the study in the file `path`: see the head of this file. options:
--   root         the folder of the repository
--   diagnostics  the diagnostics
--   scale        the name of a scale, or nil
--   names        names(folder, ending), a function that returns the base names of files
--   replacement  a text that is read instead of the file's text (load.lua), or nil
function M.read(path, options)
  local d = options.diagnostics
  local error_count = d:count()
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
  return d:count() == error_count and study or nil
end

return M
