-- Exports a trained run: the steps from its folder to files for another tool.
--
-- Input: { project, run, spec, trainer, out, say, provide }: run is the folder of a run, or a checkpoint in it; spec
-- and trainer are optional. Output: an exit code and, if it is not 0, a message. Either all files of the folder `out`
-- are written or none.

local examples = require("lab.export.examples")
local input = require("base.input")
local json = require("dkjson")
local lists = require("base.lists")
local pytorch = require("lab.export.pytorch")
local render = require("render.templates.render")
local shell = require("base.shell")
local safetensors = require("base.safetensors")
local escape = require("base.escape")
local trained_run = require("lab.study.read.trained_run")
local write = require("base.write")

local M = {}

-- Returns the decoded lines that a trainer prints; or nil, an exit code and a message. given: text for its stdin.
local function ask(trainer, words, given)
  local folder, message = shell.temporary()
  local made
  if folder then
    made, message = write.files(folder, { { path = "input", text = given or "" } })
  end
  if not made then
    return nil, 4, message
  end
  local code = shell.run({ "sh", "-c", 'exec "$@" <"$0"', folder .. "/input", trainer, table.unpack(words) },
    { output = folder .. "/output", errors_too = true })
  local output = write.read(folder .. "/output") or ""
  write.remove_tree(folder)
  if code ~= 0 then
    return nil, code, ("trainer %s failed:\n%s"):format(words[1], output)
  end
  local lines = {}
  for line in output:gmatch("[^\n]+") do
    local value = input.decode(line)
    if getmetatable(value) ~= input.OBJECT then
      return nil, 1, ("trainer %s: found %s; expected JSON: are the checkpoint's parameters finite?"):format(words[1],
        escape.plain(line:sub(1, 80)))
    end
    lines[#lines + 1] = value
  end
  return lines
end

-- Examples for the comparison: a list of { input, outputs }.
local function inputs_of(spec, trainer)
  if spec.plan.task.data then
    return examples.data_inputs(spec.plan)
  end
  local list = {}
  for _, length in ipairs(examples.lengths(spec.resolved)) do
    local lines, code, message = ask(trainer, { "sample", "--length", length, "--count", 2 })
    if not lines then
      return nil, code, message
    end
    lists.append(list, lists.map(lines, function(example)
      return { input = example.input, outputs = #example.target }
    end))
  end
  return list
end

-- A decoder's answer, padded to its full length: the trainer repeats the end symbol after the answer's end.
local function whole_answer(answer, outputs)
  for i = #answer + 1, outputs do
    answer[i] = answer[#answer]
  end
  return answer
end

-- The lines of stored.jsonl: inputs, sampled positions and distances, the trainer's logits and, for a decoder, its
-- answer.
local function stored_lines(spec, run, trainer)
  local inputs, code, message = inputs_of(spec, trainer)
  if not inputs then
    return nil, code, message
  end
  local requests, outputs = {}, {}
  for _, example in ipairs(inputs) do
    local request = examples.request(spec.plan, example.input, example.outputs)
    if request then
      requests[#requests + 1], outputs[#outputs + 1] = request, example.outputs
    end
  end
  local answers
  answers, code, message = ask(trainer, { "predict", "--checkpoint", run.checkpoint },
    table.concat(lists.map(requests, function(request) return json.encode(request) .. "\n" end)))
  if not answers then
    return nil, code, message
  end
  local order = { keyorder = { "input", "output", "positions", "distances", "logits" } }
  return table.concat(lists.map(requests, function(request, i)
    request.logits, request.outputs = answers[i].logits, nil
    request.output = spec.plan.decoder and whole_answer(answers[i].argmax, outputs[i]) or nil
    return json.encode(request, order) .. "\n"
  end))
end

-- Exports a run. sets: changes to the spec at `path`, in the form of the flag --set.
local function export(options, run, spec, path, sets)
  local opened, message = safetensors.open(run.checkpoint)
  if not opened then
    return 1, message
  end
  run.metadata = opened.metadata
  local facts, problem = pytorch.facts(spec, run, options.project:network(spec))
  if not facts then
    return 1, ("%s: export pytorch %s"):format(run.dir, problem)
  end
  local trainer, code
  trainer, code, message = trained_run.trainer(options.project, run, options.trainer, function()
    return options.provide(path, sets)
  end)
  if not trainer then
    return code, message
  end
  local stored
  stored, code, message = stored_lines(spec, run, trainer)
  if not stored then
    return code, message
  end
  local model
  model, problem = render.render("python/model.py.tpl", facts, function(...)
    return options.project:template(...)
  end)
  if not model then
    return 4, options.project:template_error(problem)
  end
  local out
  out, message = write.below(run.dir, "pytorch", options.out)
  if not out then
    return 1, message
  end
  local written
  written, message = write.files(out, {
    { path = "model.py", text = model },
    { path = "stored.jsonl", text = stored },
    { path = "checkpoint.safetensors", text = write.read(run.checkpoint) },
  })
  if not written then
    return 4, message
  end
  options.say(("%s: model.py, checkpoint.safetensors, stored.jsonl; to compare: python3 %s/model.py"):format(out, out))
  return 0
end

function M.run(options)
  local run, message = trained_run.open(options.run)
  if not run then
    return 1, message
  end
  local code
  code, message = trained_run.with_spec(options.project, run, options.spec, function(spec, path, sets)
    return export(options, run, spec, path, sets)
  end)
  if not code then
    return 1, ("%s: its spec cannot be read: %s\n  expected: --spec SPEC, the spec of the run"):format(
      run.dir, message)
  end
  return code, message
end

return M
