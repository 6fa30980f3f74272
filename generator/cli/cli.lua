-- The command line of ./longhand: verbs, arguments, help.
--
-- M.make(lab_lines) returns a table of functions. lab_lines: the command lines of the lab's verbs, { add, settle }
-- (command_lines.lua of the lab): add(...) adds the verbs to a parser; settle(result) returns a problem or nil.
--   help()                     returns the general help; help.txt is a copy, which the launcher shows without Lua
--   outline()                  returns the command line as data (command_outline.lua)
--   parse(arguments, root)     returns { verb = name, flags = list, ... } with the verb's arguments; or nil, the
--                              problem, and the usage of the verb. flags: the arguments after "--", which are flags of
--                              the trainer. If the help of a verb is requested, argparse itself prints it and exits
--   refusal(message, usage)    returns a message with the usage

local argparse = require("argparse")
local converters = require("cli.converters")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local options = require("cli.options")
local outline = require("cli.command_outline")
local trainer_flags = require("spec.trainer_flags")
local hints = require("spec.hints.foreign_names")

local M = {}

-- The order of verbs in help.
local VERBS = { "demo", "test", "check", "plan", "gen", "build", "train", "tune", "report", "runs", "sweep", "bundle",
  "analyze", "calibrate", "export", "list", "fields", "completion", "dev" }
local VERB_RANKS = {}
for rank, name in ipairs(VERBS) do
  VERB_RANKS[name] = rank
end
-- The names of arguments that are folders.
local FOLDERS = { RUN = true, RUNS = true, DIR = true }
local EPILOG = [[
First commands:
   ./longhand demo                                trains two models here and plots their accuracy
   ./longhand list runs                           the specs that come with Longhand
   ./longhand plan bucket_sort_sinusoid           all numbers that follow from a spec
   ./longhand train bucket_sort_sinusoid -- --steps 1000

Exit codes: 0 success; 1 wrong input or a failed run; 2 wrong usage; 3 outdated generated sources, or a trainer with
defaults of another build; 4 a missing tool, GPU or disk space; 75 stopped by a signal (the same command continues).]]

-- Converts a list of a trainer's halves, in any order, to "cpu" or "cpu,cuda"; every trainer has the CPU half.
local function read_target(text)
  local read_halves = converters.make_list_reader("cpu or cpu,cuda", function(name)
    return (name == "cpu" or name == "cuda") and name
  end)
  local halves, message = read_halves(text)
  if halves and not lists.has(halves, "cpu") then
    return nil, ("%s: expected cpu or cpu,cuda; every trainer has a CPU half"):format(text)
  end
  return halves and (lists.has(halves, "cuda") and "cpu,cuda" or "cpu"), message
end

local function make_target_row(default)
  return { "--target TARGET", "processors: cpu, or cpu,cuda" .. default, convert = read_target }
end

-- Adds the options for the CUDA half. default: words for the default of --arch.
local function add_cuda(command, default)
  options.add(command, {
    lists.merge(make_target_row(""), { default = "cpu" }),
    { "--arch LIST", "GPU architectures: a list such as sm_80,sm_90a; native: those of this machine; all: those that "
      .. "the toolkit supports; default: " .. default, convert = converters.read_architectures },
    { "--jit", "include the source of the device code, so that the machine that runs it can compile it" },
    { "--cuda-root DIR", "the CUDA toolkit's folder; default: LONGHAND_CUDA_ROOT, or the usual places" },
  })
end

local function add_check(parser)
  local check = options.add_spec_verb(parser, "check", "validate a spec")
  check:mutex(check:flag("--print", "show the resolved spec, with the origin of each value"),
    check:flag("--json", "print id and digest, or all errors, as JSON"))
end

local function add_making_verbs(parser)
  options.add(options.add_spec_verb(parser, "gen", "generate the C sources of a spec"), {
    make_target_row("; default: cpu,cuda if the network has device code"),
    { "--out DIR", "output folder; default: generated/<id> for specs of the showcase, otherwise build/generated/<id>" },
  })
  local build = options.add_spec_verb(parser, "build", "generate and compile a trainer, DIR/trainer")
  add_cuda(build, "one architecture of each class (docs/cuda.md)")
  options.add(build, {
    { "--out DIR", "output folder; default: build/trainers/<id>-<digest>" },
    { "--levels LIST", "instruction-set levels: all, best (the highest that this machine supports), or a list such as "
      .. "x86-64-v3,x86-64-v4", default = "all" },
    { "--static", "link without shared libraries: one file for any Linux of this architecture, with the same bits" },
  })
  local train = options.add_spec_verb(parser, "train", "build the trainer if it is not up to date, then train")
  add_cuda(train, "native, or without a GPU one architecture of each class (docs/cuda.md)")
  train:usage("Usage: longhand train SPEC [--set FIELD=VALUE] [--target cpu,cuda ...] [-- flags of the trainer]")
  train:epilog("Flags of the trainer follow --, for example: -- --steps 1000 --seed 2 --out runs --resume")
end

local function add_other_verbs(parser)
  local list = parser:command("list"):summary("list the built-in runs, tasks, encodings, models, studies, sites or "
    .. "targets")
  list:argument("what"):choices({ "runs", "tasks", "encodings", "models", "studies", "sites", "targets" })
  list:argument("name", "one of them, to show its definition"):args("?")
  local fields = parser:command("fields"):summary("show the fields of a spec: type, range, default")
  fields:argument("path", "a section or a field, with all fields below it; default: the fields that most specs need")
    :args("?")
  fields:mutex(fields:flag("--all", "show all fields"),
    fields:flag("--json", "print all fields as JSON, and the symbols and functions of formulas"))
  parser:command("completion"):summary("print a script with which bash or zsh completes longhand's commands and flags")
    :argument("shell"):choices({ "bash", "zsh" })
end

local function add_dev(parser)
  local dev = parser:command("dev"):summary("tools for work on Longhand itself: where, stale, manual, python")
    :command_target("what")
  local where = dev:command("where"):summary("print the template line of a generated line")
  where:argument("place", "a line of a generated file"):argname("FILE:LINE")
  options.add(where, { { "--spec SPEC", "the spec of the generated file; default: the spec that its banner names" },
    options.SET })
  dev:command("stale"):summary("compare generated/ with newly generated files; exit 3 if they differ")
  dev:command("manual"):summary("print the manual page, for man -l")
  dev:command("python"):summary("print python/longhand/fields.py, the fields of specs as keywords of Python functions")
end

-- Completes a parser: verbs without a description get their summary as description, and all arguments that are folders
-- get a converter.
local function finish(parser)
  for _, element in ipairs(lists.join(parser._arguments, parser._options)) do
    if FOLDERS[element._argname or ""] then
      element:convert(converters.read_folder)
    end
  end
  for _, command in ipairs(parser._commands) do
    if not command._description then
      command:description(command._summary:gsub("^%l", string.upper) .. ".")
    end
    finish(command)
  end
end

local function make_parser(lab_lines)
  local parser = argparse("longhand", "Writes, for one experiment, the transformer trainer that a specialist would "
    .. "write by hand for it.", EPILOG)
  parser:usage("Usage: longhand COMMAND ...   (details: longhand COMMAND --help)")
  parser:help_max_width(120):help_description_margin(22):command_target("verb"):require_command(false)
  parser:flag("--version", "print the version")
  local test = parser:command("test"):summary("run the whole test suite, or with --quick a selection that takes two "
    .. "minutes")
  test:mutex(test:flag("--quick", "run only lint, stale, most Lua tests, unit tests and one trainer, in two minutes"),
    test:flag("--long", "also run the slow tests"))
  test:flag("--times", "print the tests of each layer that take the most processor time")
  add_check(parser)
  add_making_verbs(parser)
  add_other_verbs(parser)
  add_dev(parser)
  lab_lines.add(parser)
  table.sort(parser._commands, function(a, b) return VERB_RANKS[a._name] < VERB_RANKS[b._name] end)
  finish(parser)
  parser:add_help_command()
  return parser
end

-- The usage of the verb whose name begins at words[i], for example of `dev where`; the usage of the parser if no verb
-- begins there.
local function get_usage(parser, words, i)
  local command = lists.find(parser._commands, function(command) return command._name == words[i] end)
  return command and get_usage(command, words, i + 1) or parser:get_usage()
end

-- The names of the parser's verbs if kind is "command", the names of its flags for other kinds; as a list that is also
-- a set.
local function list_names(parser, kind)
  local elements = kind == "command" and parser._commands or parser._options
  local names = lists.collect(elements, function(element) return element._aliases end)
  return lists.merge(names, lists.to_set(names))
end

-- Explains an unknown flag, which may be a flag of the verb under another name, a flag of the trainer, or a field of a
-- spec. names: the verb's flags (list_names). Returns nil if nothing similar is known.
local function explain_flag(name, names, verb, root)
  if verb == "plan" and name == "--target" then
    return "The plan shows the choices for the CPU and for the GPU: leave out --target"
  end
  local meanings = hints.find_meanings(name, root)
  local verb_flag = lists.find(meanings.flags, function(flag) return names[flag:match("^%S+")] end) -- without its value
  if verb_flag then
    return ("Did you mean '%s'?"):format(verb_flag)
  end
  local flags = trainer_flags.read(root)
  local flag = flags[name] and name or verb == "train" and trainer_flags.find_meaning(name, flags, root)
  if flag then
    return ("Flags of the trainer follow --: longhand train SPEC -- %s"):format(flag)
  elseif meanings.fields[1] and names["--set"] then
    return ("A field of the spec sets this: --set %s=..."):format(meanings.fields[1])
  end
end

local IS_DEV_VERB = lists.to_set({ "where", "stale", "manual" }) -- verbs of earlier versions that are now under `dev`

-- Returns the message with a hint, if one is known. argparse itself suggests only names that differ in one edit; these
-- hints also suggest names that differ more, and flags of the trainer or of a spec.
local function add_hint(parser, message, verb, root)
  local kind, name = message:match("^unknown (%l+) '([^']+)'")
  if kind == "command" and IS_DEV_VERB[name] then
    return ("%s\nThe verb is now: longhand dev %s"):format(message:match("^[^\n]+"), name)
  elseif not kind or message:find("Did you mean", 1, true) then
    return message
  end
  local names = list_names(parser, kind)
  local similar_name = similar_names.find(name, names)
  local hint = similar_name and ("Did you mean '%s'?"):format(similar_name)
    or kind == "option" and explain_flag(name, names, verb, root)
  return hint and message .. "\n" .. hint or message
end

-- Splits the arguments at the first "--".
local function split(arguments)
  for i, argument in ipairs(arguments) do
    if argument == "--" then
      return table.move(arguments, 1, i - 1, 1, {}), table.move(arguments, i + 1, #arguments, 1, {})
    end
  end
  return arguments, {}
end

-- The problem with options that cannot be used together, or nil.
local function find_conflict(result)
  local has_cuda = result.target == "cpu,cuda"
  local serves_jobs = result.slurm or result.action == "resubmit" -- jobs of Slurm also use --cuda-root
  local name = not has_cuda and lists.find({ "arch", "jit", not serves_jobs and "cuda_root" or nil }, function(name)
    return result[name]
  end)
  if name then
    local is_sweep = result.words ~= nil -- verbs of the lab that run studies have --device in place of --target
    return ("--%s is for the CUDA half: add %s"):format(name:gsub("_", "-"), is_sweep and "--device cuda"
      or "--target cpu,cuda")
  elseif result.verb == "fields" and result.path and (result.json or result.all) then
    return "fields PATH shows every field below it, as text: leave out PATH, or --all and --json"
  elseif has_cuda and result.static then
    return "--static --target cpu,cuda: a static trainer cannot load the library of the GPU's driver; leave out one of "
      .. "the two"
  end
end

local function parse(lab_lines, arguments, root)
  local words, flags = split(arguments)
  local parser = make_parser(lab_lines)
  parser.error = function(command, message)
    error({ message = add_hint(command, message, words[1], root), usage = command:get_usage() }, 0)
  end
  local ok, result = pcall(parser.parse, parser, words)
  if not ok and type(result) ~= "table" then
    error(result, 0)
  elseif not ok then
    return nil, result.message, result.usage
  elseif #flags > 0 and result.verb ~= "train" then
    return nil, "flags after -- are for train only", get_usage(parser, words, 1)
  end
  local problem = lab_lines.settle(result) or find_conflict(result) or trainer_flags.find_problem(flags, root)
  if problem then
    return nil, problem, get_usage(parser, words, 1)
  end
  result.flags = flags
  return result
end

function M.make(lab_lines)
  return {
    help = function() return make_parser(lab_lines):get_help() end,
    outline = function() return outline.make(make_parser(lab_lines)) end,
    parse = function(...) return parse(lab_lines, ...) end,
    refusal = function(message, usage) return ("longhand: %s\n%s\n"):format(message, usage) end,
  }
end

return M
