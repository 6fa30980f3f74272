-- Finite data: a file of examples, or a task that makes all of its examples when a run begins.
--
-- Input: the context of validate.lua with the resolved task, the node of that section. Output: the facts of the task
-- with `data` = { train, eval, validation, validation_digest, longest, seed, made }, paths as they are shown, made: by
-- the task, whose examples hang on the bytes of a file; what a sampler has and finite data has not is gone from the
-- resolved spec. Errors go to the diagnostics.

local axes = require("spec.task.axes")
local input = require("base.input")
local schema = require("spec.schema")
local sha256 = require("base.sha256")
local tasks = require("spec.task.tasks")
local tree = require("spec.reading.tree")
local values = require("spec.values")

local M = {}

-- Takes the lengths out of a section: the examples have their own. Those that were given are an error.
local function drop_lengths(context, path, section, what)
  local origin = section and context.origins[path .. ".lengths"]
  if origin and not origin.default then
    context.diagnostics:add({ at = origin, field = path .. ".lengths", what = "does not go with " .. what,
      expected = "no lengths; finite data has those of its examples",
      hint = origin.path and origin.path ~= context.loaded.source and "give the preset's other fields here" or nil })
  elseif section then
    section.lengths = nil
  end
end

local function drop_all_lengths(context, what)
  local train, eval = context.resolved.train, context.resolved.eval
  drop_lengths(context, "train", train, what)
  drop_lengths(context, "eval", eval, what)
  drop_lengths(context, "eval.during", eval and eval.during, what)
end

-- The facts of a task whose examples are in files; the trainer reads them.
function M.of_files(context, given, task)
  for _, name in ipairs({ "input_symbols", "output_symbols" }) do
    if not given.fields[name] then
      values.add(context, given, "task." .. name, "is missing", schema.TEXT.symbols)
    end
  end
  if not given.fields.longest then
    task.longest = schema.LONGEST_DATA
  end
  drop_all_lengths(context, "task.data")
  local files = context.files
  local function shown(name)
    return files[name] and files[name].shown
  end
  return { kind = "data", input_symbols = task.input_symbols, output_symbols = task.output_symbols,
    chance = task.output_symbols and 1 / #task.output_symbols, path = shown("data"),
    axes = axes.named(context, task.axes, given.fields.axes),
    data = { train = shown("data"), eval = shown("eval"), validation = shown("validation"), longest = task.longest } }
end

local LARGEST = 1 << 20 -- bytes of a file for validation, as in runtime/data/finite/collect.c

-- The digest of the bytes of the file for validation, which what the task makes hangs on; nil where there is none.
local function validation_digest(context, given)
  local file, node = context.files.validation, given.fields.validation
  local text, problem
  if file then
    text, problem = input.read(file.real, LARGEST)
  end
  if file and not text then
    values.add(context, node, "task.validation", ("cannot read %s: found %s"):format(file.shown,
      problem and problem.found or "no such file"), problem and problem.expected or "a file beside the spec",
      "the puzzles to train on hang on it, and so does the plan")
  end
  return text and sha256.digest(text)
end

-- The facts of a task with `sets`, for this spec.
function M.made(context, given, facts, task)
  local own = {}
  for name, value in next, facts do
    own[name] = value
  end
  drop_all_lengths(context, ("task.kind = %q, which makes its examples"):format(facts.kind))
  own.data = { made = true, seed = task.seed or 0,
    longest = tasks.length(facts.input_length, 1) + tasks.length(facts.output_length, 1),
    validation = context.files.validation and context.files.validation.shown,
    validation_digest = validation_digest(context, given) }
  return own
end

-- Refuses what only finite data has, where the task is a sampler.
function M.refuse(context, given)
  for name, expected in next, { seed = "a task that makes its examples", validation = "finite data" } do
    local node = given.fields[name]
    if node and values.drops(context, node, "task." .. name) then
      context.resolved.task[name], context.files[name] = nil, nil
    elseif node then
      values.add(context, node, "task." .. name, "does not go with a sampler", expected .. ": ./longhand list tasks")
    end
  end
end

-- Refuses a seed where examples are in files.
function M.refuse_seed(context, given)
  local node = given.fields.seed
  if node and values.drops(context, node, "task.seed") then
    context.resolved.task.seed = nil
  elseif node then
    values.add(context, node, "task.seed", "does not go with task.data", "a task that makes its examples")
  end
end

-- Epochs take the place of steps; what happens every so many epochs needs some.
function M.settle_steps(context, facts)
  local given, train = context.root.fields.train, context.resolved.train
  local epochs, cadence = tree.is_table(given) and given.fields.epochs, tree.is_table(given) and given.fields.cadence
  if cadence and train and train.cadence == "epochs" and facts and not facts.data then
    values.add(context, cadence, "train.cadence", '"epochs" does not go with a sampler',
      '"steps"; only finite data has epochs')
  end
  if not epochs or not train then
    return
  elseif given.fields.steps then
    values.add(context, epochs, "train.epochs", "stands beside train.steps", "one of the two")
  elseif facts and not facts.data then
    values.add(context, epochs, "train.epochs", "does not go with a sampler",
      "train.steps; only finite data has epochs")
  end
  train.steps = nil
end

return M
