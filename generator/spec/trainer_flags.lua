-- The flags of a trainer's verb train, read from the tables with which the trainer parses its command line.
--
-- Input: the words after `--`, the repository's root. Output: the problem with the words, in the trainer's words, or
-- nil; flags that name a spec's files. A row of the trainer's tables begins a line with {"--name", LH_OPTION_KIND, the
-- address of the value, the smallest value, the largest value, ... Invariants: refuses no words that the trainer
-- accepts; only the trainer makes checks that need its state.

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

-- All flags by name, { kind, min, max }, and their names in order as items 1, 2, ... kind: the last part of
-- LH_OPTION_KIND; min, max: numbers, or nil for a constant of C.
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
  RANGE = { is_integer = true, separator = ":", max_separators = 1, expected = "A:B, both included, or one of them" } }

local function find_number_problem(name, flag, text)
  local value, is_integer = tonumber(text), NUMBERS[flag.kind].is_integer
  if not value or is_integer and value ~= math.floor(value) then
    local expected = NUMBERS[flag.kind].expected
    return ("%s: '%s' is not %s%s"):format(name, text, is_integer and "an integer" or "a number",
      expected and "\nexpected: " .. expected or "")
  elseif flag.min and value < flag.min or flag.max and value > flag.max then
    return ("%s: %s is out of range\nexpected: from %s to %s"):format(name, text,
      flag.min and diagnostics.show(flag.min) or "less", flag.max and diagnostics.show(flag.max) or "more")
  end
end

local function find_value_problem(name, flag, text)
  local form = NUMBERS[flag.kind]
  if not form then
    return flag.kind == "TEXT" and text == "" and ("%s: the value is empty"):format(name) or nil
  end
  local texts = form.separator
    and lists.find_all((text:gsub(form.separator, "\n", form.max_separators)), "[^\n]+") or { text }
  return lists.any(texts, function(number_text) return find_number_problem(name, flag, number_text) end) or nil
end

function M.find_problem(words, root)
  local flags, i = M.read(root), 1
  while words[i] and words[i] ~= "--help" and words[i] ~= "-h" do
    local name, value = words[i]:match("^([^=]*)=?(.*)$")
    local flag, contains_value = flags[name], words[i]:find("=", 1, true) ~= nil
    if not flag then
      return describe_unknown(name, flags, root)
    elseif flag.kind == "SWITCH" and contains_value then
      return ("%s: takes no value"):format(name)
    elseif flag.kind ~= "SWITCH" then
      i = contains_value and i or i + 1
      value = contains_value and value or words[i]
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
