-- The command line of ./longhand: verbs, arguments, help.
--
-- Input: the list of arguments, the repository's root. Output: { verb = name, ... } with the verb's arguments, trainer
-- flags (after --) in `flags`; or nil, what is wrong, and the usage of the verb. argparse itself prints the help of a
-- verb and exits; the general help is help.txt, which the launcher shows without Lua.

local analyses = require("cli.analyses")
local argparse = require("argparse")
local calibrate = require("cli.calibration")
local converters = require("cli.converters")
local lists = require("base.lists")
local measures = require("spec.measures")
local nearest = require("base.nearest")
local options = require("cli.options")
local outline = require("cli.command_outline")
local sweeps = require("cli.sweeps")
local trainer_flags = require("spec.trainer_flags")
local hints = require("spec.hints.foreign_names")

local M = {}

local positive = converters.positive

local SPEC = "a spec file, the id of one in spec/runs, or STUDY:CELL, a cell of a study"
local FOLDERS = { RUN = true, RUNS = true, DIR = true }
local EPILOG = [[
A first look:
   ./longhand demo                                trains two models here and plots their accuracy
   ./longhand list runs                           what is there to build
   ./longhand plan bucket_sort_sinusoid           every number derived from a spec
   ./longhand train bucket_sort_sinusoid -- --steps 1000

Exit codes: 0 done, 1 the input is wrong, 2 usage, 3 stale, 4 environment, 75 stopped by a signal (run it again).]]

local function spec_verb(parser, name, summary)
  local command = parser:command(name):summary(summary)
  command:argument("spec", SPEC)
  options.add(command, { options.SET })
  return command
end

-- Halves of a trainer in the plan's order; every trainer has the CPU half.
local function target(text)
  local read = converters.list("--target", "cpu or cpu,cuda", function(name)
    return (name == "cpu" or name == "cuda") and name
  end)
  local wanted, message = read(text)
  if wanted and not lists.has(wanted, "cpu") then
    return nil, ("--target %s: expected cpu or cpu,cuda; every trainer has a CPU half"):format(text)
  end
  return wanted and (lists.has(wanted, "cuda") and "cpu,cuda" or "cpu"), message
end

local function target_of(default)
  return { "--target TARGET", "what for: cpu, or cpu,cuda" .. default, convert = target }
end

local function add_cuda(command, default)
  options.add(command, {
    lists.merged(target_of(""), { default = "cpu" }),
    { "--arch LIST", "GPU architectures: a list such as sm_80,sm_90a, native (the GPUs of this machine), all (what the "
      .. "toolkit knows); default: " .. default, convert = converters.architectures },
    { "--jit", "carry the text of the device code, for the compiler of the machine that runs it" },
    { "--cuda-root DIR", "the CUDA toolkit's folder; default: LONGHAND_CUDA_ROOT, or the usual places" },
  })
end

local function add_looking_verbs(parser)
  local check = spec_verb(parser, "check", "validate a spec")
  check:mutex(check:flag("--print", "show the resolved spec, with the origin of each value"),
    check:flag("--json", "id and digest, or all errors, as JSON"))
  local plan = spec_verb(parser, "plan", "print every derived number: shapes, parameters, operations, choices")
  plan:mutex(plan:flag("--json", "as JSON"),
    plan:flag("--graph", "the network as a picture, drawn by graphviz; as text where that is not there"),
    plan:flag("--mask", "which keys queries see, of every attention at the longest lengths of training, up to 400 "
      .. "tokens, as a picture"))
  options.add(plan, { { "--out FILE", "where a picture goes; default: <id>.svg here" } })
end

local function add_making_verbs(parser)
  options.add(spec_verb(parser, "gen", "write the sources"), {
    target_of("; default: cpu,cuda where there is device code for the network"),
    { "--out DIR", "where to; default: generated/<id> for a run of the showcase, else build/generated/<id>" },
  })
  local build = spec_verb(parser, "build", "write and compile: DIR/trainer")
  add_cuda(build, "one of each class")
  options.add(build, {
    { "--out DIR", "where to; default: build/trainers/<id>-<digest>" },
    { "--levels LIST", "instruction-set levels: all, best (the widest this machine runs), or a list such as "
      .. "x86-64-v3,x86-64-v4", default = "all" },
    { "--static", "link without shared libraries: one file for any Linux of this architecture, with the same bits" },
  })
  local train = spec_verb(parser, "train", "build when stale, then train")
  add_cuda(train, "native, without a GPU one of each class")
  train:usage("Usage: longhand train SPEC [--set FIELD=VALUE] [--target cpu,cuda ...] [-- flags of the trainer]")
  train:epilog("Flags of the trainer follow --, for example: -- --steps 1000 --seed 2 --out runs --resume")
end

local function add_tune(parser)
  local tune = spec_verb(parser, "tune", "search for what is fastest on this machine and changes no bit")
  tune:description("Builds the trainer with other tiles, prefetches and blocks of evaluation, measures them in turn, "
    .. "and remembers what is faster: builds on this machine take it from then on. Then it tries what would change "
    .. "bits, and proposes it.")
  options.add(tune, {
    { "--seconds N", "how long, about", default = "600", convert = positive },
    { "--lengths A,B,...", "task lengths to measure at; default: the middle and the last of the training lengths",
      convert = converters.lengths },
    { "--level LEVEL", "instruction-set level; best: the widest this machine runs", default = "best" },
    { "--threads N", "of a trainer", default = "1", convert = positive },
  })
end

local function add_other_verbs(parser)
  local list = parser:command("list"):summary("what there is")
  list:argument("what"):choices({ "runs", "tasks", "encodings", "models", "studies", "sites", "targets" })
  local fields = parser:command("fields"):summary("fields of a spec: type, range, default")
  fields:argument("path", "a section, or a field with what is below it; default: the fields that most specs need")
    :args("?")
  fields:mutex(fields:flag("--all", "every field"),
    fields:flag("--json", "every field as JSON, and what a formula may use"))
  parser:command("completion"):summary("a script by which bash or zsh completes the words of this command")
    :argument("shell"):choices({ "bash", "zsh" })
end

-- Adds the verbs for people who work on Longhand itself.
local function add_dev(parser)
  local dev = parser:command("dev"):summary("for work on Longhand itself: where, stale, manual"):command_target("what")
  local where = dev:command("where"):summary("map a generated line to its template")
  where:argument("place", "a line of a generated file"):argname("FILE:LINE")
  options.add(where, { { "--spec SPEC", "the spec it was made from; default: the one its banner names" },
    options.SET })
  dev:command("stale"):summary("compare generated/ with what would be written; exit 3 when it differs")
  dev:command("manual"):summary("the manual page, for man -l")
end

local function add_report(parser)
  local report = parser:command("report"):summary("tables and curves of runs; or what differs between two runs")
  report:description("Tables and curves of runs, with a paper's numbers if the study names them; with two run "
    .. "folders, what differs between them.")
  report:argument("runs", "a folder of runs, or the folder of a run"):argname("RUNS")
  report:argument("other", "the folder of another run, to compare the first with"):argname("RUN"):args("?")
  options.add(report, {
    { "--study STUDY", "a file of spec/studies or a path; default: what was swept into RUNS, or all runs there" },
    { "--scale NAME", "of the study; default: the one it was swept at" },
    { "--metric", "what scores are of; default: the study's, or exact_match where a model answers token by token, "
      .. "accuracy otherwise; of two runs, the only curves shown", choices = measures.NAMES },
    { "--max", "tables of the best of all seeds and learning rates, too, where a study lists none" },
    { "--out DIR", "where to; default: report, or report-STUDY, in RUNS; of two runs, nothing is written without it" },
    { "--no-cache", "read all runs again, and draw all figures, although nothing has changed" },
  })
end

local function add_export(parser)
  local export = parser:command("export"):summary("trained models and runs for other tools: pytorch, csv, tensorboard")
    :command_target("what")
  local pytorch = export:command("pytorch"):summary("a Python file that rebuilds the model, its checkpoint, and logits "
    .. "to compare with")
  pytorch:argument("run", "folder of a run, or a checkpoint in one"):argname("RUN")
  options.add(pytorch, { { "--spec SPEC", "the spec that it was made from; default: run.json's" },
    options.trainer("the run's"), { "--out DIR", "where to; default: pytorch in the folder of the run" } })
  local csv = export:command("csv"):summary("runs and their evaluations as one flat table each: runs.csv, "
    .. "evaluations.csv")
  options.add(csv, {
    { "--study STUDY", "whose axes are columns: a file of spec/studies or a path; default: what was swept into RUNS, "
      .. "or task and encoding" },
    { "--scale NAME", "of the study; default: the one it was swept at" },
  })
  local tensorboard = export:command("tensorboard"):summary("metrics and evaluations of runs as event files, by "
    .. "Python's tensorboardX or torch and tensorboard")
  for _, command in ipairs({ csv, tensorboard }) do
    command:argument("runs", "a folder of runs"):argname("RUNS")
    options.add(command, { { "--out DIR", ("where to; default: %s in RUNS"):format(command._name) } })
  end
end

-- Completes a parser: verbs without a description get their summary, names of folders get one converter.
local function finish(parser)
  for _, element in ipairs(lists.join(parser._arguments, parser._options)) do
    if FOLDERS[element._argname or ""] then
      element:convert(converters.folder)
    end
  end
  for _, command in ipairs(parser._commands) do
    if not command._description then
      command:description(command._summary:gsub("^%l", string.upper) .. ".")
    end
    finish(command)
  end
end

local function make_parser()
  local parser = argparse("longhand", "Writes, for one experiment, the transformer trainer that a specialist would "
    .. "write by hand for it.", EPILOG)
  parser:usage("Usage: longhand COMMAND ...   (longhand COMMAND --help says more)")
  parser:help_max_width(120):help_description_margin(22):command_target("verb"):require_command(false)
  parser:flag("--version", "print the version")
  options.add(parser:command("demo"):summary("the main job end to end on this machine: generate, compile, train, plot"),
    { { "--steps N", "training steps of each run; default: the spec's, fewer on a slow machine", convert = positive } })
  local test = parser:command("test"):summary("run the whole test suite, or with --quick two minutes of it")
  test:mutex(test:flag("--quick", "in two minutes: lint, stale, Lua, unit tests, a trainer"),
    test:flag("--long", "the slow layers too"))
  add_looking_verbs(parser)
  add_making_verbs(parser)
  add_tune(parser)
  add_report(parser)
  sweeps.add(parser)
  sweeps.add_bundle(parser)
  analyses.add(parser)
  calibrate.add(parser)
  add_export(parser)
  add_other_verbs(parser)
  add_dev(parser)
  finish(parser)
  parser:add_help_command()
  return parser
end

-- The usage of the verb that was called, or of the verb below it.
local function usage_of(parser, words, i)
  local command = lists.find(parser._commands, function(one) return one._name == words[i] end)
  return command and usage_of(command, words, i + 1) or parser:get_usage()
end

-- The legal names: the verbs, or the flags of the verb.
local function legal_names(parser, kind)
  local names = {}
  for _, element in ipairs(kind == "command" and parser._commands or parser._options) do
    lists.append(names, element._aliases)
  end
  return lists.merged(names, lists.set(names))
end

-- Explains an unknown flag: it may be a flag of the verb under another name, a flag of the trainer, or a field of a
-- spec.
local function meant_elsewhere(name, names, verb, root)
  local meant = hints.meanings(name, root)
  local own = lists.find(meant.flags, function(flag) return names[flag:match("^%S+")] end)
  if own then
    return ("Did you mean '%s'?"):format(own)
  end
  local flags = trainer_flags.read(root)
  local flag = flags[name] and name or verb == "train" and trainer_flags.meant(name, flags, root)
  if flag then
    return ("Flags of the trainer follow --: longhand train SPEC -- %s"):format(flag)
  elseif meant.fields[1] and names["--set"] then
    return ("A field of the spec says this: --set %s=..."):format(meant.fields[1])
  end
end

local MOVED = lists.set({ "where", "stale", "manual" }) -- verbs that are now under `dev`

-- Adds hints: argparse knows only names one edit away; this also finds farther names, and where a flag belongs.
local function hint(parser, message, verb, root)
  local kind, name = message:match("^unknown (%l+) '([^']+)'")
  if kind == "command" and MOVED[name] then
    return ("%s\nIt is: longhand dev %s"):format(message:match("^[^\n]+"), name)
  elseif not kind or message:find("Did you mean", 1, true) then
    return message
  end
  local names = legal_names(parser, kind)
  local near = nearest.name(name, names)
  local more = near and ("Did you mean '%s'?"):format(near)
    or kind == "option" and meant_elsewhere(name, names, verb, root)
  return more and message .. "\n" .. more or message
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

local function conflict(result)
  local verb, cuda = result.verb, result.target == "cpu,cuda"
  local own_root = result.slurm or result.action == "resubmit" -- the trainer looks for a toolkit there
  local name = not cuda and lists.find({ "arch", "jit", not own_root and "cuda_root" or nil }, function(one)
    return result[one]
  end)
  if name then
    return ("--%s is for the CUDA half: add %s"):format(name:gsub("_", "-"), result.words and "--device cuda"
      or "--target cpu,cuda")
  elseif verb == "report" and result.other and (result.study or result.scale or result.max) then
    return "--study, --scale and --max are for a folder of runs: leave them out to compare two runs"
  elseif (verb == "report" or verb == "analyze" or verb == "export") and result.scale and not result.study then
    return "--scale is that of a study: add --study"
  elseif result.what == "human" and not (result.human or result.trials) then
    return "analyze human: add --human FILE or --trials FILE, what people got right"
  elseif verb == "fields" and result.path and (result.json or result.all) then
    return "fields PATH shows every field below it, as text: leave out PATH, or --all and --json"
  elseif cuda and result.static then
    return "--static --target cpu,cuda: a static trainer can load no library, and GPUs are reached through that of "
      .. "their driver; leave out one of the two"
  end
end

function M.help()
  return make_parser():get_help()
end

function M.outline()
  return outline.of(make_parser())
end

function M.refusal(message, usage)
  return ("longhand: %s\n%s\n"):format(message, usage)
end

function M.parse(arguments, root)
  local own, flags = split(arguments)
  local parser = make_parser()
  parser.error = function(at, message)
    error({ message = hint(at, message, own[1], root), usage = at:get_usage() }, 0)
  end
  local ok, result = pcall(parser.parse, parser, own)
  if not ok and type(result) ~= "table" then
    error(result, 0)
  elseif not ok then
    return nil, result.message, result.usage
  elseif #flags > 0 and result.verb ~= "train" then
    return nil, "flags after -- are for train only", usage_of(parser, own, 1)
  end
  local problem = result.verb == "sweep" and sweeps.settle(result) or result.verb == "bundle"
    and sweeps.settle_bundle(result) or conflict(result) or trainer_flags.problem(flags, root)
  if problem then
    return nil, problem, usage_of(parser, own, 1)
  end
  result.flags = flags
  return result
end

return M
