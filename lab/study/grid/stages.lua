-- Stages of a study: cells that use the runs of other cells.
--
-- Input: the node of `stages`, and the axes from study.lua. Output of M.read: a list of stages; errors are added to
-- the diagnostics. A point of the grid is a list with a value of each axis. A point belongs to a stage if the stage's
-- `cells` contain these values. A stage:
--   name           its name
--   origin, path   its place in the file, for messages
--   cells          { <axis> = { <value> = true } }
--   from           an earlier stage (a table such as this one) whose runs the cells use; nil: none
--   verb, options  with `from`: a name in M.VERBS, and the options of that verb
--   seeds          a list of seeds for its cells, or nil

local canonical = require("base.canonical")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local names_module = require("base.names")
local nodes = require("lab.study.grid.nodes")
local tree = require("spec.reading.tree")

local M = {}

-- The verbs that make a spec from a finished run. The command `./longhand <verb> RUN --out FILE --<option> <value> ...`
-- writes the spec FILE, whole or not at all.
--   options         the names of options that take a value
--   flags           the names of options without a value
--   folder_option   the option that sets the folder for the verb's other files, or nil
M.VERBS = {
  calibrate = { options = { "control", "length", "positions", "reading", "samples", "seed", "set" },
    flags = { "init" }, folder_option = "tables" },
}

local FIELDS = { "name", "cells", "from", "verb", "options", "seeds" }
local STAGE_TEXT = '{ name = "...", cells = { <axis> = { names } }, from = "an earlier stage", verb = "..." }'

-- Reads a stage's name; nil after an error. node: the node of the name, or of the whole stage if the name is missing.
local function read_name(context, node, path, earlier_names)
  local name = node.value
  if not names_module.is_valid(name) then
    nodes.report(context, node, path, node.fields and "is missing" or nodes.show(node) .. " is not a name for a stage",
      names_module.TEXT)
  elseif lists.has(earlier_names, name) then
    nodes.report(context, node, path, ('a second stage "%s"'):format(name), "names that differ")
  else
    return name
  end
end

local function is_option(value)
  return type(value) == "number" or type(value) == "string"
end

local function is_list(value)
  local count = 0
  for _, item in pairs(type(value) == "table" and value or {}) do
    count = count + (is_option(item) and 1 or 0)
  end
  return count > 0 and count == #value
end

-- Returns the options of a verb by name. The value of a flag is true. The value of another option is a number, a word,
-- or a list of numbers and words.
local function read_options(context, node, path, verb)
  local options = {}
  if not nodes.is_table(context, node, path, "{ <option> = a number or a word }") then
    return options
  end
  nodes.check_fields(context, node, path, lists.join(verb.options, verb.flags))
  for name, inner in tree.iterate(node) do
    local value = nodes.to_plain(inner)
    if lists.has(verb.flags, name) and value ~= true then
      nodes.report(context, inner, locate.join(path, name), "is " .. nodes.show(inner), "true")
    elseif not lists.has(verb.flags, name) and not is_option(value) and not is_list(value) then
      nodes.report(context, inner, locate.join(path, name), "is " .. nodes.show(inner),
        "a number or a word, or a list of them")
    end
    options[name] = value
  end
  return options
end

-- Sets `from`, `verb` and `options` of a stage.
local function read_source(context, node, path, stage, earlier_stages)
  local fields = node.fields
  for _, field in ipairs({ "verb", "options" }) do
    if fields[field] and not fields.from then
      nodes.report(context, fields[field], locate.join(path, field), "has no `from`", "from = \"an earlier stage\"")
      return
    end
  end
  if not fields.from then
    return
  end
  local name = nodes.read_word(context, fields.from, path .. ".from", lists.get_names(earlier_stages), "earlier stage")
  stage.from = name and lists.find(earlier_stages, function(earlier_stage) return earlier_stage.name == name end)
  if not fields.verb then
    nodes.report(context, node, path .. ".verb", "is missing", table.concat(canonical.sort_keys(M.VERBS), ", "))
    return
  end
  stage.verb = nodes.read_word(context, fields.verb, path .. ".verb", canonical.sort_keys(M.VERBS), "verb of a stage")
  stage.options = stage.verb and fields.options
    and read_options(context, fields.options, path .. ".options", M.VERBS[stage.verb]) or {}
end

-- Reads the list of stages; see the head of this file.
function M.read(context, axes, node)
  local stages = {}
  for i, item in ipairs(nodes.read_items(context, node, "stages", "a list of " .. STAGE_TEXT)) do
    local path = locate.join("stages", i)
    if nodes.is_table(context, item, path, STAGE_TEXT, FIELDS) then
      local stage = { origin = item.origin, path = path }
      stage.name = read_name(context, item.fields.name or item, path .. ".name", lists.get_names(stages))
      stage.cells = nodes.read_cells(context, axes, item.fields.cells, path .. ".cells", item)
      stage.seeds = item.fields.seeds and nodes.read_seeds(context, item.fields.seeds, path .. ".seeds")
      read_source(context, item, path, stage, stages)
      stages[#stages + 1] = stage
    end
  end
  return stages
end

-- Returns the stage of a point, or nil. If several stages contain the point, returns nil and a list of these stages.
function M.find_stage(stages, axes, point)
  local matches = lists.filter(stages, function(stage) return nodes.has_values(axes, point, stage.cells) end)
  if #matches > 1 then
    return nil, matches
  end
  return matches[1]
end

-- A cell uses a run of its source, a cell of the stage `from`. Returns the source's value on an axis, or nil if it is
-- ambiguous. value: the cell's value. If `from` has this value, the source has it, too; otherwise the source has the
-- only value of `from`.
local function find_value(from, axis, value)
  local source_values = from.cells[axis.name]
  if not source_values or source_values[value.name] then
    return value
  end
  local candidates = lists.filter(axis.values, function(candidate) return source_values[candidate.name] end)
  return #candidates == 1 and candidates[1] or nil
end

-- Returns the point of the source of a cell (find_value); nil and the name of an axis if find_value returns nil for the
-- axis. point: the cell's point, in `stage`.
function M.find_source(stage, axes, point)
  local source = {}
  for i, axis in ipairs(axes) do
    source[i] = find_value(stage.from, axis, point[i])
    if not source[i] then
      return nil, axis.name
    end
  end
  return source
end

return M
