-- The elements of a command line as data, for completions and the manual.
--
-- Input: a parser of argparse. Output: { name, summary, text, usage, options, arguments, verbs }:
--   options     { names, value, text, kind }; value: the word for the value in usages; value and kind: nil for a flag
--   arguments   { name, text, kind }
--   verbs       tables with the fields of the output
-- kind: a list of valid words; "runs", "studies" or "sites", the list that `longhand list` shows; "file"; or "any".

local M = {}

-- The kinds of arguments and of values of options, by their names in usages. A spec has the kind "runs", since
-- `longhand list runs` lists specs. The argument RUNS is a folder of runs, so it has the kind "file".
local KINDS = { spec = "runs", SPEC = "runs", study = "studies", STUDY = "studies", SITE = "sites", RUNS = "file",
  RUN = "file", DIR = "file", FILE = "file" }

local function get_kind(element, name)
  return element._choices or KINDS[name] or "any"
end

local function get_text(element)
  return element._description or element._summary or ""
end

local function get_argname(element)
  local name = element._argname
  return type(name) == "table" and name[1] or name
end

-- The outline of a parser or a command, with its usage in one line.
function M.make(parser)
  local outline = { name = parser._name, summary = parser._summary or "", text = get_text(parser), options = {},
    arguments = {}, verbs = {}, usage = parser:get_usage():gsub("%s+", " "):gsub("^Usage: ", "") }
  for i, option in ipairs(parser._options) do
    local has_value = option._maxargs > 0
    local last_name = option._aliases[#option._aliases]
    local value = has_value and (get_argname(option) or last_name:gsub("^%-+", ""):upper()) or nil
    outline.options[i] = { names = option._aliases, value = value, text = get_text(option),
      kind = has_value and get_kind(option, value) or nil }
  end
  for i, argument in ipairs(parser._arguments) do
    local name = get_argname(argument) or argument._name
    outline.arguments[i] = { name = name, text = get_text(argument), kind = get_kind(argument, name) }
  end
  for i, command in ipairs(parser._commands) do
    outline.verbs[i] = M.make(command)
  end
  return outline
end

return M
