-- Reads the choices that a spec makes among the options of its task.
--
-- Input: the context of validate.lua, which has the node of task.options; the facts of the task (tasks.lua), nil if the
-- task is unknown. Output: the choice for every option by name, with defaults for options that are not given; nil for a
-- task without options. Errors go to the diagnostics, origins to the context.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local tree = require("spec.reading.tree")
local values = require("spec.values")

local M = {}

local show = diagnostics.show

local function describe_choices(option)
  if option.first then
    return ("an integer from %d to %d: %s"):format(option.first, option.last, option.doc)
  end
  local words = lists.map(option.choices, function(choice) return show(choice) end)
  return table.concat(words, ", ") .. ": " .. option.doc
end

local function make_hint(option, value)
  if type(value) ~= "string" then
    return nil
  elseif option.first or type(option.choices[1]) == "number" then
    return tonumber(value) and ("write %s without quotes"):format(value) or nil
  end
  return similar_names.make_hint(value, option.choices)
end

local function get_default(option)
  return option.first and option.default or option.choices[1]
end

-- The choice that a value of a spec means: an integer in the option's range, or one of its choices; nil for other
-- values.
local function find_choice(option, value)
  if option.first then
    local integer = math.type(value) and math.tointeger(value)
    return integer and integer >= option.first and integer <= option.last and integer or nil
  end
  return lists.find(option.choices, function(choice) return choice == value end)
end

-- The choice that a node makes; the default if the node's value is not a choice. Such a value is an error, unless --set
-- has chosen another task (tree.try_drop).
local function choose(context, option, node)
  local choice, path = find_choice(option, node.value), "task.options." .. option.name
  if not choice and not tree.try_drop(context, node, path) then
    values.add_error(context, node, path, tree.show(node) .. " is not a choice", describe_choices(option),
      make_hint(option, node.value))
  end
  return choice or get_default(option)
end

-- Refuses options that the task lacks. names: the names of its options; kind: words for the task.
local function check_names(context, node, names, kind)
  for name, choice_node in tree.iterate_others(node, names) do
    if not tree.try_drop(context, choice_node, "task.options." .. name) then
      values.add_error(context, choice_node, "task.options." .. name, ("%s has no such option"):format(kind),
        #names > 0 and table.concat(names, ", ") or "a task with options: ./longhand list tasks",
        similar_names.make_hint(name, names))
    end
  end
end

-- The choices of options from an untrusted table: its valid choices, and the default of every other option.
function M.keep_valid_choices(facts, choices)
  local valid_choices = {}
  for _, option in ipairs(facts.options or {}) do
    valid_choices[option.name] = find_choice(option, type(choices) == "table" and choices[option.name])
      or get_default(option)
  end
  return valid_choices
end

-- The choices by option, without options that are off (the choice 0, if 0 is the default); nil if no option is left.
-- Digests cover only these options, so a new option of a task that is off by default changes no digest.
function M.list_active(facts, choices)
  local active_choices = {}
  for _, option in ipairs(facts.options or {}) do
    local value = (choices or {})[option.name]
    if not (value == 0 and option.default == 0) then
      active_choices[option.name] = value
    end
  end
  return next(active_choices) and active_choices or nil
end

-- Reads the choices from context.options_node. facts: nil if the task is unknown.
function M.settle(context, facts)
  local node, list = context.options_node, facts and facts.options or {}
  if facts and node then
    check_names(context, node, lists.get_names(list), facts.data and "a file of examples" or facts.kind)
  end
  local choices = {}
  for _, option in ipairs(list) do
    local choice_node = node and node.fields[option.name]
    if not choice_node then
      context.origins["task.options." .. option.name] = { default = true }
    end
    choices[option.name] = choice_node and choose(context, option, choice_node) or get_default(option)
  end
  return next(choices) and choices or nil
end

return M
