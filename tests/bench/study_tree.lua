-- Writes a folder with the runs of a whole study, with made-up numbers, to measure the time of `report`.
--
--     lua5.4 tests/bench/study_tree.lua STUDY DIR LINES
--
-- STUDY: an argument of `sweep`; all its runs are written below DIR without training, with an accuracy for each length
-- that its spec evaluates, and LINES lines in metrics.jsonl. Numbers are random, from a fixed seed.

package.path = "generator/?.lua;?.lua;" .. package.path

local canonical = require("base.canonical")
local grid = require("lab.study.grid.grid")
local write = require("base.write")

local FACTS = { level = "x86-64-v3", compiler = "made up", variant = "cpu", precision = "float32", threads = 1,
  machine = "made up", started = "2026-01-01T00:00:00Z", ended = "2026-01-01T01:00:00Z", exit = 0,
  model_digest = ("0"):rep(16), source_digest = ("0"):rep(16) }
local EVALUATION = '{"step":%d,"split":"beyond","by":{"length":%d},"examples":%d,"draws":1,"accuracy":%.9g,'
  .. '"exact_match":%.9g,"loss":%.9g,"sd_over_draws":0}'
local METRICS = '{"step":%d,"seconds":%.3f,"loss":%.9g,"accuracy":%.9g,"exact_match":0,"grad_norm":1,'
  .. '"clipped_share":0,"parameter_norm":40,"update_norm":0.01,"learning_rate":%.9g,"steps_per_second":100}'

local function join_lines(lines)
  return table.concat(lines, "\n") .. "\n"
end

local function make_evaluation(eval, step)
  local lines, level = {}, 0.5 + math.random() / 2
  local lengths = eval.lengths
  for n = lengths.first, lengths.last, lengths.step or 1 do
    local accuracy = math.max(0, math.min(1, level - n / 2000 + (math.random() - 0.5) / 50))
    lines[#lines + 1] = EVALUATION:format(step, n, eval.examples, accuracy, accuracy / 2, 1 - accuracy)
  end
  return join_lines(lines)
end

local function make_metrics(steps, rate, line_count)
  local lines = {}
  for i = 1, line_count do
    lines[i] = METRICS:format(steps * i // line_count, i, 1 / i, 1 - 1 / i, rate)
  end
  return join_lines(lines)
end

local function write_run(root, cell, run, line_count)
  local plan, resolved = cell.spec.plan, cell.spec.resolved
  local facts = { id = cell.id, digest = plan.digest, seed = run.seed, learning_rate = run.learning_rate,
    spec = resolved, flags = { "--seed", tostring(run.seed) }, step = resolved.train.steps,
    train_seconds = 3600 + run.seed }
  for key, value in pairs(FACTS) do
    facts[key] = value
  end
  local dir = root .. "/" .. run.dir
  assert(write.make_directory(dir))
  for name, text in pairs({ ["run.json"] = canonical.format(facts) .. "\n",
    ["eval.jsonl"] = make_evaluation(resolved.eval, resolved.train.steps),
    ["metrics.jsonl"] = make_metrics(resolved.train.steps, run.learning_rate, line_count) }) do
    local file = assert(io.open(dir .. "/" .. name, "wb"))
    assert(file:write(text))
    assert(file:close())
  end
end

local study = assert(grid.expand(require("project").new("."), arg[1], {}))
math.randomseed(1)
local count = 0
for _, cell in ipairs(study.cells) do
  for _, run in ipairs(cell.runs) do
    write_run(arg[2], cell, run, tonumber(arg[3]))
    count = count + 1
  end
end
print(("%d cells, %d runs"):format(#study.cells, count))
