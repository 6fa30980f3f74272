-- The flags of a trainer's verb train, read from the tables with which the trainer parses its command line.
--
-- Input: the repository's root; the arguments after `--`; the files of a spec. Output of M.find_problem: a message like
-- the trainer's message about the arguments, or nil. Other functions return flags. In the trainer's source, each row of
-- the tables starts on a new line: {"--name", LH_OPTION_KIND, address of the value, smallest value, largest value, ...
-- Invariants: no argument that the trainer accepts is refused; only the trainer makes checks that need its state.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local hints = require("spec.hints.foreign_names")
local write = require("base.write")

local M = {}

local SOURCES = { "train/verb_train.c", "data_files.c" }
local ROW = '\n%s*{"(%-%-[%w-]+)", LH_OPTION_(%u+), [^,]+, ([^,]+), ([^,]+),'

-- Flags with the paths of a spec's files, valid in any folder. files: a table from names of fields to { shown, real }
-- (validate.lua).
function M.list_files(files)
  return lists.map({ { "data", "--data=" }, { "eval", "--eval-data=" }, { "validation", "--validation=" } },
    function(entry) return files[entry[1]] and entry[2] .. files[entry[1]].real end)
end

-- The flags for training: the flags of M.list_files, and the checkpoint with which training begins.
function M.list_training(files)
  return lists.join(M.list_files(files), { files.init and "--init=" .. files.init.real })
end

-- Returns a table with two kinds of keys:
--   name of a flag   { kind, min, max }; kind: the last part of LH_OPTION_KIND; min, max: numbers, or nil for a
--                    constant of C
--   1, 2, ...        the names of the flags in order
function M.read(root)
  local flags = {}
  for _, source in ipairs(SOURCES) do
    local text = write.read(root .. "/runtime/cli/" .. source) or ""
    for name, kind, min, max in text:gmatch(ROW) do
      flags[name] = { kind = kind, min = tonumber(min), max = tonumber(max) }
      flags[#flags + 1] = name
    end
  end
  return flags
end

-- The flag among `flags` that a word means, with a value if the word implies one ("--device cuda"). If there is none:
-- nil, and a hint or nil.
function M.find_meaning(word, flags, root)
  local meanings = hints.find_meanings(word, root)
  local flag = lists.find(meanings.flags, function(entry) return flags[entry:match("^%S+")] end)
  if flag then
    return flag
  end
  local field = meanings.fields[1]
  local similar_flag = not field and similar_names.find(word, flags) or nil
  return similar_flag, not similar_flag and (field
    and ("%s is a field of the spec: --set %s=... before the --"):format(field, field)
    or meanings.hint)
end

-- The message about an argument that is not a flag of the trainer.
local function describe_unknown(word, flags, root)
  if word:sub(1, 1) ~= "-" then
    return ("train: '%s' is not a flag\nhint: the flags of the trainer: %s"):format(word, table.concat(flags, " "))
  end
  local flag, hint = M.find_meaning(word, flags, root)
  hint = flag and ("did you mean %s?"):format(flag) or hint or "the flags of the trainer: " .. table.concat(flags, " ")
  return ("train: no such flag: %s\nhint: %s"):format(word, hint)
end

-- Kinds of flags with numbers:
--   is_integer       whether the numbers are integers
--   separator        the text between two numbers
--   max_separators   the highest number of separators; nil: no limit
--   expected         words for the form in messages
local NUMBERS = { INTEGER = { is_integer = true }, NUMBER = {}, NUMBERS = { separator = "," },
  RANGE = { is_integer = true, separator = ":", max_separators = 1, expected = "A:B (both included), or one integer" } }

-- The range of a flag's numbers in words; a missing limit is a constant of C.
local function describe_range(flag)
  local low, high = flag.min and diagnostics.show(flag.min), flag.max and diagnostics.show(flag.max)
  if low and high then
    return ("from %s to %s"):format(low, high)
  end
  return low and "at least " .. low or "at most " .. high
end

local function find_number_problem(name, flag, text)
  local value, is_integer = tonumber(text), NUMBERS[flag.kind].is_integer
  if not value or is_integer and value ~= math.floor(value) then
    local expected = NUMBERS[flag.kind].expected
    return ("%s: '%s' is not %s%s"):format(name, text, is_integer and "an integer" or "a number",
      expected and "\nexpected: " .. expected or "")
  elseif flag.min and value < flag.min or flag.max and value > flag.max then
    return ("%s: %s is out of range\nexpected: %s"):format(name, text, describe_range(flag))
  end
end

-- The message about the value of a flag, or nil. text: the value as the user wrote it.
local function find_value_problem(name, flag, text)
  local form = NUMBERS[flag.kind]
  if not form then
    return flag.kind == "TEXT" and text == "" and ("%s: the value is empty"):format(name) or nil
  end
  local texts = form.separator
    and lists.find_all((text:gsub(form.separator, "\n", form.max_separators)), "[^\n]+") or { text }
  return lists.any(texts, function(number_text) return find_number_problem(name, flag, number_text) end) or nil
end

function M.find_problem(arguments, root)
  local flags, i = M.read(root), 1
  while arguments[i] and arguments[i] ~= "--help" and arguments[i] ~= "-h" do
    local name, value = arguments[i]:match("^([^=]*)=?(.*)$")
    local flag, contains_value = flags[name], arguments[i]:find("=", 1, true) ~= nil
    if not flag then
      return describe_unknown(name, flags, root)
    elseif flag.kind == "SWITCH" and contains_value then
      return ("%s: takes no value"):format(name)
    elseif flag.kind ~= "SWITCH" then
      i = contains_value and i or i + 1
      value = contains_value and value or arguments[i]
      if not value then
        return ("%s: the value is missing"):format(name)
      end
      local problem = find_value_problem(name, flag, value)
      if problem then
        return problem
      end
    end
    i = i + 1
  end
end

return M
