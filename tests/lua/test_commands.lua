-- Commands on pages have verbs, flags, fields, specs, studies and scripts that exist.
--   pages       README.md, CONTRIBUTING.md, docs/ and the READMEs of examples
--   programs    `./longhand`, `trainer`, `make` and `sh`
--
-- A command is a code span, or an indented line that begins with a program. In a line, the command ends before a
-- comment, a pipe or a second command.
-- Whole commands are parsed like a command line. In code spans and usages, only words are checked. A usage has brackets
-- or dots.

local support = dofile("tests/lua/support.lua")

local calibration = require("lab.study.calibrate.fields")
local cli = require("cli.cli").make(require("lab.cli.command_lines"))
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local schema = require("spec.schema")
local trainer_flags = require("spec.trainer_flags")
local write = require("base.write")

local SPEC_VERBS = { check = true, plan = true, gen = true, build = true, train = true, tune = true }
-- Fields that are not in the schema: options of a task or a network, parameters of a score, and `kind`, short for
-- `use`.
local OTHER_FIELDS = { "^task%.options%.", "^model%.options%.", "%.?parameters%.", "^encoding%.kind$" }

local outline = cli.outline()

local function is_file(path)
  return lfs.attributes(path, "mode") == "file"
end

-- Splits a text into words as a shell does; a quoted word may contain blanks.
local function split_words(text)
  local words, word, quote = {}, nil, nil
  for c in text:gmatch(".") do
    if quote then
      quote, word = c ~= quote and quote or nil, word .. (c ~= quote and c or "")
    elseif c == '"' or c == "'" then
      quote, word = c, word or ""
    elseif c:find("%s") then
      words[#words + 1], word = word, nil
    else
      word = (word or "") .. c
    end
  end
  words[#words + 1] = word
  return words
end

-- Returns the program of a command, its arguments, and whether the command is a usage; nil for unchecked programs.
local function parse_command(text)
  local command = text:gsub("^%$ ", "")
  while command:find("^[A-Z_]+=%S+ ") do
    command = command:gsub("^%S+ ", "")
  end
  local first, arguments = command:match("^(%S+)%s*(.*)$")
  local name = first and (first:match("^%.?/?(longhand)$") or ("/" .. first):match("/(trainer)$")
    or first:match("^make$") or first:match("^sh$"))
  if name then
    local plain_text, marks = arguments:gsub("[%[%]]", " ")
    local words = lists.filter(split_words(plain_text), function(word) return not word:find("^%.%.%.$") end)
    return name, words, marks > 0 or arguments:find("...", 1, true) ~= nil
  end
end

-- Returns the verb at the beginning of the words, and the other words; or nil and a problem.
local function find_verb(words)
  local verb, i = outline, 1
  while words[i] and #verb.verbs > 0 and not words[i]:find("^%-") do
    local next_verb = lists.find(verb.verbs, function(candidate) return candidate.name == words[i] end)
    if not next_verb and verb == outline then
      return nil, ("no verb %s"):format(words[i])
    elseif not next_verb then
      break
    end
    verb, i = next_verb, i + 1
  end
  return verb, table.move(words, i, #words, 1, {})
end

local function find_unknown_flag(names, words)
  for _, word in ipairs(words) do
    local flag = word:match("^%-%-[%w-]+")
    if flag and not names[flag] then
      return "no flag " .. flag
    end
  end
end

local function list_flags(verb)
  local names = { ["--help"] = true }
  for _, option in ipairs(verb.options) do
    for _, name in ipairs(option.names) do
      names[name] = true
    end
  end
  return names
end

local function find_field_problem(verb, word)
  local field = word:match("^([^=]+)=")
  if not field or field:find("%u") or verb == "calibrate" then
    return nil
  elseif not schema.by_path[field] and not lists.any(OTHER_FIELDS, function(form) return field:find(form) end) then
    return "no field " .. field
  end
end

-- Returns the problem of a word that names a spec or a study, or nil. Words in capitals, and paths outside examples/,
-- stand for files of the reader. `calibrate` writes the spec NAME_calibrated for the spec NAME.
local function find_name_problem(word)
  local name = word:match("^([a-z][a-z0-9_]*)")
  if name ~= word:match("^[^:]*") or is_file("spec/studies/" .. name .. ".lua")
    or is_file("spec/runs/" .. name:gsub("_calibrated$", "") .. ".lua") then
    return word:find("^examples/") and not is_file(word) and "no file " .. word or nil
  end
  return "no spec or study " .. name
end

-- Returns a problem of a parsed command, or nil: in the spec, the study, or the fields of --set and --axis.
local function find_value_problem(values)
  local verb = values.verb
  local problem = SPEC_VERBS[verb] and values.spec and find_name_problem(values.spec)
    or values.study and find_name_problem(values.study)
  local words = lists.join(values.set or {}, lists.map(values.axes or {}, function(axis)
    return type(axis) == "table" and axis[1] or axis
  end))
  problem = problem or lists.any(words, function(word) return find_field_problem(verb, word) end)
  if verb == "calibrate" then
    local _, message = calibration.read(values.reading or "paper", values.set or {})
    problem = problem or message
  end
  return problem or nil
end

-- Returns the problem of a command of ./longhand, or nil. is_loose: values and missing arguments are not checked.
local function find_longhand_problem(words, is_loose)
  local verb, arguments = find_verb(words)
  if not verb then
    return arguments
  end
  local longhand_words = {}
  for i, word in ipairs(arguments) do
    if word == "--" then
      return find_unknown_flag(trainer_flags.read("."), table.move(arguments, i, #arguments, 1, {}))
        or not is_loose and select(2, cli.parse(words, ".")) or nil
    end
    longhand_words[i] = word
  end
  local problem = find_unknown_flag(list_flags(verb), longhand_words)
  if problem or is_loose then
    return problem
  end
  local values, message = cli.parse(words, ".")
  return not values and message or find_value_problem(values)
end

-- Reads the flags of a trainer's verb in the verb's source. Returns their set; nil if there is no such verb.
local function list_trainer_flags(verb)
  local names = { ["--help"] = true }
  local verb_file = ("runtime/cli/%s/verb_%s.c"):format(verb == "train" and "train" or "verbs", verb)
  for _, path in ipairs({ verb_file, "runtime/cli/data_files.c" }) do
    for name in (is_file(verb_file) and support.read(path) or ""):gmatch('{"(%-%-[%w-]+)", LH_OPTION_') do
      names[name] = true
    end
  end
  return is_file(verb_file) and names or nil
end

local function find_trainer_problem(words, is_loose)
  local verb = words[1] or "info"
  local names = list_trainer_flags(verb)
  if not names then
    return not verb:find("^%-") and "no verb " .. verb or nil
  end
  local arguments = table.move(words, 2, #words, 1, {})
  local has_placeholder = lists.any(arguments, function(word) return word:find("^%u") end) -- such as FILE
  return find_unknown_flag(names, arguments) or verb == "train" and not is_loose and not has_placeholder
    and trainer_flags.find_problem(arguments, ".") or nil
end

local function find_make_problem(words)
  local targets = lists.to_set(split_words((support.read("Makefile"):gsub("\\\n", ""):match("\n%.PHONY: ([^\n]*)"))))
  for _, word in ipairs(words) do
    if word:find("^%l[%l-]*$") and not targets[word] then
      return "no target " .. word
    end
  end
end

local function find_script_problem(words)
  return words[1] and words[1]:find("/.*%.sh$") and not is_file(words[1]) and "no script " .. words[1] or nil
end

-- Returns the problem of a command on a page, or nil; false for a text that is not a command.
local function find_problem(text, is_span)
  local name, words, is_usage = parse_command(text)
  if name == "longhand" then
    return find_longhand_problem(words, is_span or is_usage)
  elseif name == "trainer" then
    return find_trainer_problem(words, is_span or is_usage)
  elseif name == "make" then
    return find_make_problem(words)
  end
  return name == "sh" and find_script_problem(words)
end

-- Splits an indented line, up to a comment or three blanks, into commands at pipes, && and semicolons.
local function split_commands(line)
  local text = line:gsub("%s+#.*$", ""):gsub("%S%s%s%s+.*$", function(tail) return tail:sub(1, 1) end)
  text = text:gsub("%s+[<>]%s*%S+", ""):gsub("%s*&&%s*", "\n"):gsub("%s+|%s+", "\n"):gsub(";%s", "\n")
  return lists.find_all(text, "[^\n]+")
end

-- Lists the commands of a page: { line, text, is_span }. A line continues a command if the line above ends with a
-- backslash, or if the line itself begins with a bracket or a flag after more blanks.
local function list_commands(page)
  local list, number, open_command = {}, 0, nil
  for line in (page .. "\n"):gmatch("([^\n]*)\n") do
    number = number + 1
    local continuation = open_command and line:match("^%s%s%s%s+(.*)$")
    if continuation and (open_command.text:find("\\$") or continuation:find("^[%[%-]")) then
      open_command.text = open_command.text:gsub("%s*\\$", "") .. " " .. continuation
    else
      local command = line:match("^    (%S.*)$")
      open_command = command and { line = number, text = command } or nil
      list[#list + 1] = open_command
      for span in (command and "" or line):gmatch("`([^`]+)`") do
        list[#list + 1] = { line = number, text = span, is_span = true }
      end
    end
  end
  return list
end

-- Returns the problems of a page, one line each, and the number of commands of the page.
local function list_problems(page, name)
  local problems, count = {}, 0
  for _, command in ipairs(list_commands(page)) do
    for _, text in ipairs(command.is_span and { command.text } or split_commands(command.text)) do
      count = count + (parse_command(text) and 1 or 0)
      local problem = find_problem(text, command.is_span)
      problems[#problems + 1] = problem and ("%s:%d: %s: %s"):format(name, command.line, text, problem) or nil
    end
  end
  return problems, count
end

local function list_pages()
  local list = { "README.md", "CONTRIBUTING.md" }
  for _, folder in ipairs({ "docs", "examples" }) do
    for _, name in ipairs(write.list_names(folder)) do
      local path = folder == "docs" and folder .. "/" .. name or ("%s/%s/README.md"):format(folder, name)
      list[#list + 1] = path:find("%.md$") and is_file(path) and path or nil
    end
  end
  table.sort(list)
  return list
end

TestCommands = {}

function TestCommands.test_every_command_of_the_pages_is_valid()
  local problems, total = {}, 0
  for _, path in ipairs(list_pages()) do
    local page_problems, count = list_problems(support.read(path), path)
    lists.append(problems, page_problems)
    total = total + count
  end
  lu.assertEquals(table.concat(problems, "\n"), "")
  lu.assertTrue(total > 250, total)
end

function TestCommands.test_every_mistake_in_a_command_is_found()
  for _, case in ipairs({ -- { text of a page, words of its only problem }
    { "    ./longhand trane SPEC", "no verb trane" },
    { "    ./longhand train SPEC -- --step 3", "no flag --step" },
    { "    ./longhand train SPEC -- --steps few", "not an integer" },
    { "    ./longhand sweep ruoss_table1 --scal small", "no flag --scal" },
    { "    ./longhand sweep ruoss_table9 --scale small", "no spec or study ruoss_table9" },
    { "    ./longhand train no_such_spec", "no spec or study no_such_spec" },
    { "    ./longhand train SPEC --set train.stepz=3", "no field train.stepz" },
    { "    ./longhand sweep SPEC --axis encodin=alibi,rope", "no field encodin" },
    { "    ./longhand calibrate RUN --set row=5", "row" },
    { "    ./longhand report RUNS [--studdy NAME]\n        [--out DIR]", "no flag --studdy" },
    { "    ./longhand analyze pca RUN \\\n        --legths 4", "no flag --legths" },
    { "    $ cat a && there/trainer evel --checkpoint F", "no verb evel" },
    { "    trainer eval --chekpoint F", "no flag --chekpoint" },
    { "    trainer train --seed x", "not an integer" },
    { "    make tets", "no target tets" },
    { "    sh tests/system/test_nothing.sh", "no script" },
    { "Say `./longhand lst` now.", "no verb lst" },
    { "Say `trainer predict --chekpoint F` now.", "no flag --chekpoint" },
  }) do
    local problems = list_problems(case[1], "page")
    lu.assertEquals(#problems, 1, case[1])
    lu.assertStrContains(problems[1], case[2])
  end
end

support.run()
