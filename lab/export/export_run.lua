-- The verb `export pytorch`: the steps from the folder of a trained run to a Python file, a checkpoint and logits.
--
-- Input: { project, run, spec, trainer, out, say, provide }:
--   run      the run's folder, or a checkpoint in it
--   spec     the spec's name or file; nil: the spec in run.json
--   trainer  the trainer's file; nil: the one that provide(path, sets) returns
--   out      the output folder; nil: the folder pytorch in the run's folder
--   say      prints a line
-- Output: an exit code and, if it is not 0, a message. Either all files are written or none.

local input = require("base.input")
local json = require("dkjson")
local lists = require("base.lists")
local must = require("lab.stop").must
local pytorch = require("lab.export.pytorch")
local render = require("render.templates.render")
local shell = require("base.shell")
local safetensors = require("base.safetensors")
local escape = require("base.escape")
local trained_run = require("lab.study.read.trained_run")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT = 1, 4

-- Returns `count` ascending positions, spread evenly from `first` to range - 1.
local function spread_positions(count, first, range)
  local list = {}
  for t = 0, count - 1 do
    list[t + 1] = first + (2 * t + 1) * (range - first) // (2 * count)
  end
  return list
end

-- Returns `count` ascending distances: 0, and count - 1 distances that are spread evenly from 1 to range - 1.
local function spread_distances(count, range)
  local list = { 0 }
  for t = 1, count - 1 do
    list[t + 1] = 1 + (t - 1) * (range - 1) // math.max(1, count - 1)
  end
  return list
end

-- Returns positions for the `count` tokens of an example: 0, 7, 14 and so on, counted modulo max_position + 1.
local function make_positions(count, max_position)
  local list = {}
  for t = 0, count - 1 do
    list[t + 1] = 7 * t % (max_position + 1)
  end
  return list
end

-- Returns different task lengths for the comparison: the shortest and the longest of training, and twice the longest.
-- If the task gives positions, twice the longest is left out, since its positions might exceed max_position.
function M.choose_lengths(resolved, has_task_positions)
  local lengths = resolved.train.lengths
  local first = lengths.list and lengths.list[1] or lengths.first
  local last = lengths.list and lengths.list[#lengths.list] or lengths.last
  local chosen_lengths = { first }
  for _, length in ipairs({ last, not has_task_positions and 2 * last or nil }) do
    chosen_lengths[#chosen_lengths + 1] = length > chosen_lengths[#chosen_lengths] and length or nil
  end
  return chosen_lengths
end

-- Returns an example as an object for `trainer predict`; nil if the sequence is too long. The object has positions or
-- distances if the model samples them, or if lines of data files have positions.
--   symbols   the input
--   outputs   the number of outputs
function M.make_request(plan, symbols, outputs)
  local tokens_per_symbol = plan.computation and plan.computation.tokens_per_symbol or 1
  local count = #symbols * tokens_per_symbol + (plan.readout == "outputs" and outputs or 0)
  if plan.limit and count > plan.limit.tokens then
    return nil
  end
  local stream, lines_have_positions = plan.streams[1], plan.token_positions and plan.token_positions.by_line
  return {
    input = symbols,
    outputs = plan.task.data and outputs or nil,
    positions = lines_have_positions and make_positions(#symbols + outputs, plan.token_positions.max_position)
      or stream.position_range > 0 and spread_positions(count, stream.first_position, stream.position_range) or nil,
    distances = stream.distance_range > 0 and spread_distances(count, stream.distance_range) or nil,
  }
end

-- Returns examples of three lengths for a model whose task is a dataset: { input, outputs (the count) }. If the
-- model answers at a probe symbol, the input contains this symbol exactly once.
function M.make_data_inputs(plan)
  local probe = plan.readout == "probe" and plan.task.probe
  local no_probe = probe == 0 and 1 or 0
  local list = {}
  for _, length in ipairs({ 1, 3, plan.task.data.longest // 4 }) do
    local symbols, count = {}, math.max(1, length)
    for i = 1, count do
      symbols[i] = (i * i) % plan.task.input_count
      symbols[i] = symbols[i] == probe and no_probe or symbols[i]
    end
    symbols[(count + 1) // 2] = probe or symbols[(count + 1) // 2]
    local count_by_readout = { outputs = 1 + length // 2, in_place = count }
    list[#list + 1] = { input = symbols, outputs = count_by_readout[plan.readout] or 1 }
  end
  return list
end

-- Runs a trainer. Returns the JSON values that it prints, one in each line.
--   words   verb and flags
--   stdin   text for its standard input, or nil
local function run_trainer(trainer, words, stdin)
  local folder = must(ENVIRONMENT, shell.make_temporary_folder())
  must(ENVIRONMENT, write.files(folder, { { path = "input", text = stdin or "" } }))
  local code = shell.run({ "sh", "-c", 'exec "$@" <"$0"', folder .. "/input", trainer, table.unpack(words) },
    { output = folder .. "/output", errors_too = true })
  local output = write.read(folder .. "/output") or ""
  write.remove_tree(folder)
  must(code, code == 0, ("trainer %s failed:\n%s"):format(words[1], output))
  return lists.map(lists.find_all(output, "[^\n]+"), function(line)
    local value = input.decode(line)
    must(INPUT, getmetatable(value) == input.OBJECT, ("trainer %s: found %s; expected JSON\n  hint: are the "
      .. "checkpoint's parameters finite?"):format(words[1], escape.plain(line:sub(1, 80))))
    return value
  end)
end

local function sample_inputs(trainer, ...)
  return lists.map(run_trainer(trainer, { "sample", "--count", 2, ... }), function(example)
    return { input = example.input, outputs = #example.target }
  end)
end

-- Returns examples { input, outputs (the count) }. The trainer samples the inputs of a task with a sampler. It also
-- samples from a generated dataset that gives positions: only examples of this dataset have positions.
local function make_inputs(spec, trainer)
  local data, positions = spec.plan.task.data, spec.plan.token_positions
  local has_task_positions = positions and not positions.digits
  if data and data.is_generated and has_task_positions then
    return sample_inputs(trainer)
  elseif data then
    return M.make_data_inputs(spec.plan)
  end
  return lists.collect(M.choose_lengths(spec.resolved, has_task_positions), function(length)
    return sample_inputs(trainer, "--length", length)
  end)
end

-- Returns the text of stored.jsonl: a line per example with its input, positions, distances, the number of passes (if
-- the example determines it), the trainer's logits and, for a decoder, its answer as `output`.
local function compute_lines(spec, run, trainer)
  local requests, outputs, loops = {}, {}, spec.resolved.model.loops
  local pass_axis = spec.plan.task.pass_axis > 0 and loops.times -- the axis whose value is the number of passes
  for _, example in ipairs(make_inputs(spec, trainer)) do
    local request = M.make_request(spec.plan, example.input, example.outputs)
    if request then
      if pass_axis then
        request[pass_axis] = math.min(#requests + 1, loops.max_times)
      end
      requests[#requests + 1], outputs[#outputs + 1] = request, example.outputs
    end
  end
  local answers = run_trainer(trainer, { "predict", "--checkpoint", run.checkpoint },
    table.concat(lists.map(requests, function(request) return json.encode(request) .. "\n" end)))
  local json_options = { keyorder = { "input", "output", "positions", "distances", "passes", "noise", "logits" } }
  return table.concat(lists.map(requests, function(request, i)
    if pass_axis then
      request[pass_axis] = nil
    end
    request.logits, request.outputs, request.passes = answers[i].logits, nil, answers[i].passes
    request.noise = answers[i].noise
    request.positions = answers[i].positions or request.positions
    request.output = spec.plan.decoder and answers[i].argmax or nil
    for k = #(request.output or {}) + 1, request.output and outputs[i] or 0 do
      request.output[k] = request.output[k - 1] -- fills the answer with its end symbol, as the trainer does
    end
    return json.encode(request, json_options) .. "\n"
  end))
end

-- Writes the files of the export. spec, path, sets: the run's spec, its file, and words of --set (trained_run.lua).
local function export(options, run, spec, path, sets)
  run.metadata = must(INPUT, safetensors.open(run.checkpoint)).metadata
  local facts, problem = pytorch.derive_facts(spec, run, options.project:build_network(spec))
  must(INPUT, facts, ("%s: export pytorch %s"):format(run.dir, problem))
  local trainer = trained_run.find_trainer(options.project, run, options.trainer, function()
    return options.provide(path, sets)
  end)
  local lines = compute_lines(spec, run, trainer)
  local model
  model, problem = render.render("python/model.py.tpl", facts, function(...)
    return options.project:read_template(...)
  end)
  if not model then
    return ENVIRONMENT, options.project:format_template_error(problem)
  end
  local out = must(INPUT, write.choose_folder(run.dir, "pytorch", options.out))
  must(ENVIRONMENT, write.files(out, {
    { path = "model.py", text = model },
    { path = "stored.jsonl", text = lines },
    { path = "checkpoint.safetensors", text = write.read(run.checkpoint) },
  }))
  options.say(("%s: model.py, checkpoint.safetensors, stored.jsonl; to compare: python3 %s/model.py"):format(out, out))
  return 0
end

function M.run(options)
  local run = must(INPUT, trained_run.open(options.run))
  return trained_run.use_spec(options.project, run, options.spec, function(spec, path, sets)
    return export(options, run, spec, path, sets)
  end)
end

return M
