-- The elements of a command line as data, for completions and the manual.
--
-- Input: a parser of argparse. Output: { name, summary, text, usage, options, arguments, verbs }; an option is { names,
-- value, text } (value: nil for a flag), an argument { name, text }. Options and arguments have `kind`: a list of valid
-- words, the name of a list to look up ("runs", "studies", "sites": `longhand list`), "file", or "any". Each verb has
-- the same form as the output.

local M = {}

local KINDS = { spec = "runs", SPEC = "runs", study = "studies", STUDY = "studies", SITE = "sites", RUNS = "file",
  RUN = "file", DIR = "file", FILE = "file" }

local function kind_of(element, name)
  return element._choices or KINDS[name] or "any"
end

local function text_of(element)
  return element._description or element._summary or ""
end

local function argname_of(element)
  local name = element._argname
  return type(name) == "table" and name[1] or name
end

-- The outline of a parser or a command, with its usage in one line.
function M.of(parser)
  local list = { name = parser._name, summary = parser._summary or "", text = text_of(parser), options = {},
    arguments = {}, verbs = {}, usage = parser:get_usage():gsub("%s+", " "):gsub("^Usage: ", "") }
  for i, option in ipairs(parser._options) do
    local takes = option._maxargs > 0
    local value = takes and (argname_of(option) or option._aliases[#option._aliases]:gsub("^%-+", ""):upper()) or nil
    list.options[i] = { names = option._aliases, value = value, text = text_of(option),
      kind = takes and kind_of(option, value) or nil }
  end
  for i, argument in ipairs(parser._arguments) do
    local name = argname_of(argument) or argument._name
    list.arguments[i] = { name = name, text = text_of(argument), kind = kind_of(argument, name) }
  end
  for i, command in ipairs(parser._commands) do
    list.verbs[i] = M.of(command)
  end
  return list
end

return M
