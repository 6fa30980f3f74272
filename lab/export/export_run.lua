-- Exports a trained run: the steps from its folder to files for another tool.
--
-- Input: { project, run, spec, trainer, out, say, provide }: run is the folder of a run, or a checkpoint in it; spec
-- and trainer are optional. Output: an exit code and, if it is not 0, a message. Either all files of the folder `out`
-- are written or none.

local examples = require("lab.export.examples")
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

-- Returns the decoded lines that a trainer prints. given: text for its stdin.
local function ask(trainer, words, given)
  local folder = must(ENVIRONMENT, shell.temporary())
  must(ENVIRONMENT, write.files(folder, { { path = "input", text = given or "" } }))
  local code = shell.run({ "sh", "-c", 'exec "$@" <"$0"', folder .. "/input", trainer, table.unpack(words) },
    { output = folder .. "/output", errors_too = true })
  local output = write.read(folder .. "/output") or ""
  write.remove_tree(folder)
  must(code, code == 0, ("trainer %s failed:\n%s"):format(words[1], output))
  return lists.map(lists.matches(output, "[^\n]+"), function(line)
    local value = input.decode(line)
    must(INPUT, getmetatable(value) == input.OBJECT, ("trainer %s: found %s; expected JSON: are the checkpoint's "
      .. "parameters finite?"):format(words[1], escape.plain(line:sub(1, 80))))
    return value
  end)
end

-- Examples for the comparison: a list of { input, outputs }.
local function inputs_of(spec, trainer)
  if spec.plan.task.data then
    return examples.data_inputs(spec.plan)
  end
  return lists.flat(examples.lengths(spec.resolved), function(length)
    return lists.map(ask(trainer, { "sample", "--length", length, "--count", 2 }), function(example)
      return { input = example.input, outputs = #example.target }
    end)
  end)
end

-- The lines of stored.jsonl: inputs, sampled positions and distances, the trainer's logits and, for a decoder, its
-- answer.
local function stored_lines(spec, run, trainer)
  local requests, outputs = {}, {}
  for _, example in ipairs(inputs_of(spec, trainer)) do
    local request = examples.request(spec.plan, example.input, example.outputs)
    if request then
      requests[#requests + 1], outputs[#outputs + 1] = request, example.outputs
    end
  end
  local answers = ask(trainer, { "predict", "--checkpoint", run.checkpoint },
    table.concat(lists.map(requests, function(request) return json.encode(request) .. "\n" end)))
  local order = { keyorder = { "input", "output", "positions", "distances", "logits" } }
  return table.concat(lists.map(requests, function(request, i)
    request.logits, request.outputs = answers[i].logits, nil
    request.output = spec.plan.decoder and answers[i].argmax or nil
    for k = #(request.output or {}) + 1, request.output and outputs[i] or 0 do
      request.output[k] = request.output[k - 1] -- the trainer repeats the end symbol after the answer's end
    end
    return json.encode(request, order) .. "\n"
  end))
end

-- Exports a run. sets: changes to the spec at `path`, in the form of the flag --set.
local function export(options, run, spec, path, sets)
  run.metadata = must(INPUT, safetensors.open(run.checkpoint)).metadata
  local facts, problem = pytorch.facts(spec, run, options.project:network(spec))
  must(INPUT, facts, ("%s: export pytorch %s"):format(run.dir, problem))
  local trainer = trained_run.trainer(options.project, run, options.trainer, function()
    return options.provide(path, sets)
  end)
  local stored = stored_lines(spec, run, trainer)
  local model
  model, problem = render.render("python/model.py.tpl", facts, function(...)
    return options.project:template(...)
  end)
  if not model then
    return ENVIRONMENT, options.project:template_error(problem)
  end
  local out = must(INPUT, write.below(run.dir, "pytorch", options.out))
  must(ENVIRONMENT, write.files(out, {
    { path = "model.py", text = model },
    { path = "stored.jsonl", text = stored },
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
