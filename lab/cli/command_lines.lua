-- The command lines of all verbs of the lab; the modules runs, sweeps and analyses of this folder define some of them.
--
-- M.add adds the verbs to the parser of generator/cli/cli.lua.
-- M.settle completes the parser's result, a table of words and options. It returns a message if some of these cannot be
-- used together; otherwise nil or false.

local analyses = require("lab.cli.analyses")
local converters = require("cli.converters")
local measures = require("spec.measures")
local options = require("cli.options")
local runs = require("lab.cli.runs")
local sweeps = require("lab.cli.sweeps")

local M = {}

local read_positive = converters.read_positive

local PICTURES = { svg = true, pdf = true, png = true }

local function read_picture(text)
  return PICTURES[text:match("%.(%l+)$")] and text or nil,
    ("%s: expected a name that ends in .svg, .pdf or .png"):format(text)
end

local function add_plan(parser)
  local plan = options.add_spec_verb(parser, "plan", "print all numbers that follow from a spec: shapes, "
    .. "parameters, operations, choices")
  plan:mutex(plan:flag("--json", "print the plan as JSON"),
    plan:flag("--graph", "draw the network with graphviz; without graphviz, print the network as text"),
    plan:flag("--mask", "draw the keys that queries see in every attention, at the longest training lengths, up to 400 "
      .. "tokens; without gnuplot, print the keys as text"))
  options.add(plan, { { "--out FILE",
    "file of the picture: .svg, .pdf or .png; default: <id>.svg in the current folder", convert = read_picture } })
end

-- Checks only the characters of task lengths such as 20,40 or 20:40:5. The trainer parses its flag --lengths.
local function read_lengths(text)
  return text:find("^%d[%d,:]*$") and text or nil, ("%s: expected lengths, as in 20,40"):format(text)
end

local function add_tune(parser)
  local tune = options.add_spec_verb(parser, "tune", "find this machine's fastest settings that change no bit")
  tune:description("Builds and measures trainers with different tiles and evaluation blocks, with and without "
    .. "prefetching. Stores the fastest settings for later builds on this machine. Then measures settings that change "
    .. "bits, and only proposes these.")
  options.add(tune, {
    { "--seconds N", "approximate duration", default = "600", convert = read_positive },
    { "--lengths A,B,...", "task lengths to measure; default: the middle and the last of the training lengths",
      convert = read_lengths },
    { "--level LEVEL", "instruction-set level; best: the highest that this machine supports", default = "best" },
    { "--threads N", "threads of a trainer", default = "1", convert = read_positive },
  })
end

local function add_report(parser)
  local report = parser:command("report"):summary("make tables and curves of runs, or compare two runs")
  report:description("Makes tables and curves of runs, with a paper's numbers if the study names them; prints the "
    .. "differences between two runs if you give two run folders.")
  report:argument("runs", "a folder of runs, or the folder of a run"):argname("RUNS")
  report:argument("other", "the folder of a second run, to compare with the first"):argname("RUN"):args("?")
  options.add(report, {
    { "--study STUDY", "the name of a study in spec/studies, or a path; default: the study that was swept into RUNS, "
      .. "or all runs there" },
    { "--scale NAME", "scale of the study; default: the scale of its sweep" },
    { "--metric", "the metric of scores; default: the study's metric, or exact_match if a model answers token by "
      .. "token, otherwise accuracy; for two runs: show only the curves of this metric", choices = measures.NAMES },
    { "--max", "also make tables of the best of all seeds and learning rates; only for a study without report items" },
    { "--out DIR", "output folder; default: report, or report-STUDY, in RUNS; for two runs, no files are written "
      .. "without --out" },
    { "--no-cache", "read all runs and draw all figures again, even if nothing has changed" },
  })
end

local function add_calibrate(parser)
  local summary = "write a student's spec, with the attention of a trained encoder-decoder as constant biases"
  local command = parser:command("calibrate"):summary(summary)
  command:description(summary:gsub("^%l", string.upper) .. " (docs/calibration.md).")
  command:usage("Usage: longhand calibrate RUN [--out FILE] [--reading NAME] [--set FIELD=VALUE] [--samples N] ...")
  command:argument("run", "folder of the teacher's run, or a checkpoint in it"):argname("RUN")
  options.add(command, {
    { "--out FILE", "file of the student's spec; default: <id>_calibrated.lua, next to the teacher's spec if that is "
      .. "in spec/runs or given by --spec, otherwise in the folder of the run" },
    { "--force", "overwrite an existing file of the student's spec" },
    { "--reading", "which side to follow where the paper's code and equations differ: the code, the equations, or "
      .. "usual, a mixture of both", default = "usual",
      choices = { "usual", "code", "equations" } },
    { "--set FIELD=VALUE", "change one field of --reading, for example --set rows=all; docs/calibration.md lists the "
      .. "fields", count = "*", args = 1 },
    { "--samples N", "number of training examples; only examples that the teacher answers correctly "
      .. "count", default = "1024", convert = read_positive },
    { "--seed S", "seed of the examples", default = "1", convert = read_positive },
    { "--length N", "task length of the examples; default: the longest training length", convert = read_positive },
    { "--positions", "whether the student keeps the teacher's encoding of positions; default: none, or keep with "
      .. "--init", choices = { "none", "keep" } },
    { "--init", "the student starts from the teacher's parameters instead of random initial values" },
    { "--control", "write a control for comparison instead of the student: values (the same lines, with constant 0), "
      .. "heads (heads in another order), shifted (lines one key to the left), or random (the same number of random "
      .. "lines, by --seed)",
      choices = { "values", "heads", "shifted", "random" } },
    { "--tables DIR", "folder of tables and pictures; default: calibration in the folder of the run" },
    { "--spec SPEC", "the spec of the run; default: the spec in run.json" },
    options.make_trainer_row("the run's"),
  })
end

local function add_export(parser)
  local export = parser:command("export"):summary("export trained models and runs for other tools: pytorch, csv, "
    .. "tensorboard")
    :command_target("what")
  local pytorch = export:command("pytorch"):summary("write three files: the model in Python, its checkpoint, and "
    .. "logits to compare with")
  pytorch:argument("run", "folder of a run, or a checkpoint in it"):argname("RUN")
  options.add(pytorch, { { "--spec SPEC", "the spec of the run; default: the spec in run.json" },
    options.make_trainer_row("the run's"),
    { "--out DIR", "output folder; default: pytorch in the folder of the run" } })
  local csv = export:command("csv"):summary("write runs and their evaluations as one flat table each: runs.csv, "
    .. "evaluations.csv")
  options.add(csv, {
    { "--study STUDY", "the study whose axes are columns: its name in spec/studies, or a path; default: the study that "
      .. "was swept into RUNS; without such a study, the columns are task and encoding" },
    { "--scale NAME", "scale of the study; default: the scale of its sweep" },
  })
  local tensorboard = export:command("tensorboard"):summary("write metrics and evaluations of runs as event files")
  options.add(tensorboard, { { "--follow", "continue while the runs train; to end earlier: Ctrl-C" } })
  for _, command in ipairs({ csv, tensorboard }) do
    command:argument("runs", "a folder of runs"):argname("RUNS")
    options.add(command, { { "--out DIR", ("output folder; default: %s in RUNS"):format(command._name) } })
  end
end

local function add_demo(parser)
  options.add(parser:command("demo"):summary("generate, compile, train and plot two small models on this machine"),
    { { "--steps N", "training steps of each run; default: the number in the spec, or fewer on a slow "
      .. "machine", convert = read_positive } })
end

function M.add(parser)
  add_demo(parser)
  add_plan(parser)
  add_tune(parser)
  add_report(parser)
  runs.add(parser)
  sweeps.add(parser)
  sweeps.add_bundle(parser)
  analyses.add(parser)
  add_calibrate(parser)
  add_export(parser)
end

local settle_verb = { sweep = sweeps.settle, bundle = sweeps.settle_bundle, runs = runs.settle }

function M.settle(result)
  local verb = result.verb
  if settle_verb[verb] then
    return settle_verb[verb](result)
  elseif verb == "report" and result.other and (result.study or result.scale or result.max) then
    return "--study, --scale and --max are for a folder of runs: leave them out to compare two runs"
  elseif (verb == "report" or verb == "analyze" or verb == "export") and result.scale and not result.study then
    return "--scale names a scale of a study: add --study"
  elseif result.what == "human" and not (result.human or result.trials) then
    return "analyze human: add --human FILE or --trials FILE, with the answers of human participants"
  end
end

return M
