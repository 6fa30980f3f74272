-- The command line of `runs`.
--
-- M.add adds the verb to the parser of generator/cli/cli.lua.
-- M.settle gets the parser's result. It returns a message if words cannot be used together; otherwise nil. It derives
-- these fields from the list result.words:
--   action   list, show, remove or rename
--   paths    folders of runs
--   name     the new name, for rename

local converters = require("cli.converters")
local measures = require("spec.measures")
local options = require("cli.options")

local M = {}

local ACTIONS = { show = true, remove = true, rename = true }

function M.add(parser)
  local command = parser:command("runs"):summary("list trained runs; show, remove or rename some of them")
  command:description("Lists the runs of a folder: task, encoding, size, steps, score, state, date and bytes. A "
    .. "word before the folders chooses another action: show prints all facts of a run; remove deletes runs, after a "
    .. "question; rename gives the runs of a spec another name, as if the spec's file had always had this name.")
  command:usage("Usage: longhand runs [RUNS ...] [--where CONDITIONS] [--metric NAME] [--json]\n"
    .. "       longhand runs show RUN [--metric NAME] [--json]\n"
    .. "       longhand runs remove RUNS ... [--where CONDITIONS] [--yes]\n"
    .. "       longhand runs rename RUNS/OLD NEW")
  command:argument("words", "folders of runs, of a spec's runs, or of one run; the list without a folder shows "
    .. "the folder runs")
    :argname("RUNS"):args("*")
  options.add(command, {
    { "--where CONDITIONS", "only runs that meet all conditions: a field, =, !=, <, <=, > or >=, and a value, with "
      .. "commas between conditions, such as 'encoding=rope,steps>=1000'; fields: all that --json prints, and fields "
      .. "of a spec (model.width); * in a value stands for any characters" },
    { "--metric NAME", "the metric of scores; default: exact_match if a run's model answers token by token, else "
      .. "accuracy", choices = measures.NAMES },
    { "--json", "print the runs as JSON" },
    { "--yes", "with remove: ask nothing" },
  })
end

-- Returns a message if the options do not fit the action.
local function find_conflict(result)
  local action = result.action
  if action == "list" and result.yes then
    return "--yes is only for remove"
  elseif (action == "show" or action == "rename") and (result.where or result.yes) then
    return ("%s cannot be used with %s"):format(result.where and "--where" or "--yes", action)
  elseif (action == "remove" or action == "rename") and (result.json or result.metric and action == "rename") then
    return ("%s cannot be used with %s"):format(result.json and "--json" or "--metric", action)
  elseif action == "rename" and (#result.paths ~= 1 or not result.name) then
    return "rename needs a folder and a name: longhand runs rename RUNS/OLD NEW"
  elseif action == "show" and #result.paths ~= 1 then
    return "show needs the folder of one run"
  end
  local lacks_folder = action == "remove" and #result.paths == 0
  return lacks_folder and "remove needs the folders of runs, or a folder with --where" or nil
end

function M.settle(result)
  local words = result.words
  local action = ACTIONS[words[1]] and words[1]
  result.action = action or "list"
  result.paths = table.move(words, action and 2 or 1, #words, 1, {})
  if result.action == "rename" then
    result.name = #result.paths > 1 and table.remove(result.paths) or nil
  elseif result.action == "list" and #result.paths == 0 then
    result.paths = { "runs" }
  end
  for i, path in ipairs(result.paths) do
    result.paths[i] = converters.read_folder(path)
  end
  return find_conflict(result)
end

return M
