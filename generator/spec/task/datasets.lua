-- Datasets: files of examples, or the examples of a task that generates all of them when a run begins.
--
-- Input: the context of validate.lua with the resolved task; `task_node`, the node of the section `task`. Output: the
-- facts of the task with `data`, a table with these fields:
--   train, eval, validation   the display paths of the files of examples; a task that generates its examples has
--                             only `validation`
--   longest                   the highest number of tokens of an input and its target together
--   is_generated              true if the task generates the examples
--   seed                      with is_generated: the value of task.seed
--   validation_digest         with is_generated: the digest of the bytes of the validation file, on which the examples
--                             depend; nil without such a file
-- Settings that only samplers have are removed from the resolved spec. Errors go to the diagnostics.

local alphabets = require("spec.task.alphabets")
local axes = require("spec.task.axes")
local diagnostics = require("base.diagnostics")
local file_symbols = require("spec.task.file_symbols")
local input = require("base.input")
local lists = require("base.lists")
local schema = require("spec.schema")
local sha256 = require("base.sha256")
local tasks = require("spec.task.tasks")
local tree = require("spec.reading.tree")
local values = require("spec.values")

local M = {}

-- Removes the lengths of training and evaluation, since the examples determine lengths; stated lengths are an error.
-- task_words: words for the task in messages.
local function drop_lengths(context, task_words)
  for _, path in ipairs({ "train", "eval", "eval.during" }) do
    local section, origin = lists.get(context.resolved, path), context.origins[path .. ".lengths"]
    if section and origin and not origin.default then
      context.diagnostics:add({ at = origin, field = path .. ".lengths", what = "cannot be used with " .. task_words,
        expected = "no lengths; the examples have their own",
        hint = origin.path and origin.path ~= context.loaded.source
          and "in place of `use`, write the preset's fields here, without `lengths`" or nil })
    elseif section then
      section.lengths = nil
    end
  end
end

-- The alphabet for the field `name` from the training file; nil after an error. symbols, problem: the results of
-- file_symbols.lua.
local function choose_alphabet(context, task_node, name, symbols, problem)
  local function refuse(message, expected)
    values.add_error(context, task_node, "task." .. name, ("is missing, and %s%s"):format(context.files.data.shown,
      message), expected)
  end
  local invalid_symbol = lists.find(symbols or {}, function(symbol) return not values.is_symbol(symbol) end)
  if not symbols then
    return refuse(("%s gives no symbols: found %s"):format(problem.line and (":%d"):format(problem.line) or "",
      problem.found), problem.expected .. "; or " .. schema.TEXT.symbols)
  elseif #symbols > alphabets.MAX_SYMBOLS then
    return refuse((" has %d symbols"):format(#symbols), ("at most %d symbols"):format(alphabets.MAX_SYMBOLS))
  elseif invalid_symbol then
    return refuse((" has the symbol %s"):format(diagnostics.show(invalid_symbol)), values.SYMBOL_TEXT)
  end
  return symbols
end

-- Sets the alphabets that the spec does not list to the symbols of the training file.
local function read_alphabets(context, task_node, task)
  local sides = lists.filter({ "input", "output" }, function(side)
    return not task_node.fields[side .. "_symbols"]
  end)
  if not context.files.data or task.symbols or not sides[1] then
    return
  end
  local symbols, problem = file_symbols.read(context.files.data.real, (context.resolved.model or {}).readout == "last")
  for _, side in ipairs(symbols and sides or { sides[1] }) do -- a file's problem is reported once
    local name = side .. "_symbols"
    task[name] = choose_alphabet(context, task_node, name, symbols and symbols[side], problem)
  end
  local output = not task_node.fields.output_symbols and task.output_symbols
  if output and task.end_symbol and not lists.has(output, task.end_symbol) then
    table.insert(output, task.end_symbol)
  end
end

-- Refuses a shared alphabet next to other alphabets, and an end symbol that targets do not have.
local function check_alphabets(context, task_node, task)
  local output = task.symbols or task.output_symbols
  for _, name in ipairs(task.symbols and { "input_symbols", "output_symbols" } or {}) do
    if task_node.fields[name] then
      values.add_error(context, task_node.fields[name], "task." .. name,
        "cannot be used with task.symbols, the alphabet of inputs and targets", "one of the two fields")
    end
  end
  if task.end_symbol and output and not lists.has(output, task.end_symbol) then
    values.add_error(context, task_node.fields.end_symbol, "task.end_symbol", ("%s is not a symbol of targets"):format(
      diagnostics.show(task.end_symbol)), "a symbol that task.output_symbols or task.symbols lists")
  end
end

-- The facts of a task with examples in files, which the trainer reads.
function M.read_files(context, task_node, task)
  read_alphabets(context, task_node, task)
  check_alphabets(context, task_node, task)
  local symbols = task.symbols
  local input_symbols, output_symbols = symbols or task.input_symbols, symbols or task.output_symbols
  for _, name in ipairs({ "symbols", "input_symbols", "output_symbols" }) do
    task[name] = alphabets.shorten(task[name])
  end
  if not task_node.fields.longest then
    task.longest = schema.DEFAULT_LONGEST
  end
  drop_lengths(context, "task.data")
  local files = context.files
  local function get_shown_path(name)
    return files[name] and files[name].shown
  end
  return { kind = "data", symbols = symbols, input_symbols = input_symbols, output_symbols = output_symbols,
    end_symbol = task.end_symbol, chance = output_symbols and 1 / #output_symbols, path = get_shown_path("data"),
    axes = axes.read_named(context, task.axes, task_node.fields.axes),
    data = { train = get_shown_path("data"), eval = get_shown_path("eval"), validation = get_shown_path("validation"),
      longest = task.longest } }
end

local MAX_BYTES = 1 << 20 -- largest validation file; runtime/data/datasets/collect.c has this limit, too

-- The digest of the validation file's bytes, on which the task's examples depend; nil without such a file.
local function compute_digest(context, task_node)
  local file = context.files.validation
  if not file then
    return nil
  end
  local text, problem = input.read(file.real, MAX_BYTES)
  if not text then
    values.add_error(context, task_node.fields.validation, "task.validation", ("cannot read %s: found %s"):format(
      file.shown, problem and problem.found or "no such file"),
      problem and problem.expected or "a file, relative to the spec",
      "the plan and the training examples depend on this file")
  end
  return text and sha256.digest(text)
end

-- Returns the facts of a task that generates its examples, with the field `data` for this spec.
function M.add_data(context, task_node, facts, task)
  local n = 1 -- any n: the lengths of a task with sets do not depend on n
  drop_lengths(context, ("task.kind = %q, which generates its examples"):format(facts.kind))
  return lists.merge(facts, { data = { is_generated = true, seed = task.seed or 0,
    longest = tasks.compute_length(facts.input_length, n) + tasks.compute_length(facts.output_length, n),
    validation = context.files.validation and context.files.validation.shown,
    validation_digest = compute_digest(context, task_node) } })
end

-- Refuses fields of the section `task` that the chosen task lacks, or drops them if --set chose the task. task_words:
-- words for the task; fields: { field = words for the tasks that have the field }.
function M.refuse(context, task_node, task_words, fields)
  for name, expected in next, fields do
    local node = task_node.fields[name]
    if node and tree.try_drop(context, node, "task." .. name) then
      context.resolved.task[name], context.files[name] = nil, nil
    elseif node then
      values.add_error(context, node, "task." .. name, "cannot be used with " .. task_words, expected)
    end
  end
end

-- Removes train.steps if the spec states epochs. A sampler has no epochs: for it, epochs and the cadence "epochs" are
-- errors.
function M.settle_steps(context, facts)
  local section, train = context.root.fields.train, context.resolved.train
  local train_fields, is_sampler = tree.is_table(section) and section.fields or {}, facts and not facts.data
  if train_fields.cadence and train.cadence == "epochs" and is_sampler then
    values.add_error(context, train_fields.cadence, "train.cadence", '"epochs" cannot be used with a sampler',
      '"steps"; only a fixed set of examples has epochs')
  end
  if train_fields.epochs and train_fields.steps then
    values.add_error(context, train_fields.epochs, "train.epochs", "conflicts with train.steps",
      "one of the two fields")
  elseif train_fields.epochs and is_sampler then
    values.add_error(context, train_fields.epochs, "train.epochs", "cannot be used with a sampler",
      "train.steps; only a fixed set of examples has epochs")
  end
  train.steps = not train_fields.epochs and train.steps or nil
end

return M
