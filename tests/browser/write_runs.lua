-- Writes folders of simulated runs for tests of the report's page: three tasks, six encodings, three seeds; one task
-- has accuracies near 100%; some runs are missing, failed or damaged.
--
--     lua5.4 tests/browser/write_runs.lua FOLDER

dofile("tests/lua/support.lua")

local json = require("dkjson")
local reports = require("reports")
local write = require("base.write")

local root = assert(arg[1], "expected: a folder to write to")
local TASKS = { "even_pairs", "bucket_sort", "missing_duplicate_string" }
local ENCODINGS = { "none", "rope", "rand_rope", "alibi", "learned", "rand_sincos_unsorted" }
local RATE, STEPS, TRAINED_TO = 1e-3, 2000, 40

-- Returns an accuracy. It falls beyond training lengths, faster for later encodings of the list, and a small wave
-- distinguishes seeds; in the second task it stays near 1.
local function compute_accuracy(task, place, seed, length)
  local wave = 0.02 * math.sin(length / 9 + 2 * seed + place)
  if task == 2 then
    return 1 - (0.0004 * place + 0.0002 * seed) * length ^ 0.7
  end
  local excess = math.max(0, length - TRAINED_TO) / (20 + 400 / place)
  return math.max(0, math.min(1, 0.5 / task + (0.99 - 0.5 / task) * math.exp(-excess) + wave - 0.02))
end

local function make_evaluations(task, place, seed)
  local lines = {}
  for length = 10, 200, 10 do
    lines[#lines + 1] = reports.make_eval_line(STEPS, length <= TRAINED_TO and "in_distribution" or "beyond",
      length, compute_accuracy(task, place, seed, length))
  end
  return table.concat(lines)
end

local function make_metrics(place, seed)
  local lines = {}
  for step = 100, STEPS, 100 do
    local loss = 2.3 * math.exp(-step / (150 + 40 * place)) + 0.004 * (1 + seed) + 0.002 * math.sin(step)
    lines[#lines + 1] = ('{"step":%d,"loss":%.6f,"accuracy":%.6f,"seconds":%.3f}\n'):format(step, loss,
      math.exp(-loss), step / 100)
  end
  return table.concat(lines)
end

local function write_text(path, text)
  assert(write.make_directory(path:match("^(.*)/")))
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local function write_run(task, place, seed)
  local id = ("%s_%s"):format(TASKS[task], ENCODINGS[place])
  local dir = ("%s/%s/%s/lr%g-seed%d"):format(root, id, reports.DIGEST, RATE, seed)
  local spec = reports.make_spec(TASKS[task])
  spec.train.lengths.last = TRAINED_TO
  local is_failed = task == 3 and place == 5
  local facts = { id = id, digest = reports.DIGEST, seed = seed, learning_rate = RATE, exit = is_failed and 1 or 0,
    spec = spec, flags = { "--seed", tostring(seed), "--learning-rate", tostring(RATE), "--out", "runs" },
    compiler = "gcc 12", level = "x86-64-v4", variant = "cpu", precision = "float32", train_seconds = 20 + seed,
    source_digest = task == 1 and seed == 2 and "bb" or "aa" }
  write_text(dir .. "/run.json", json.encode(facts) .. "\n")
  write_text(dir .. "/eval.jsonl", is_failed and "" or make_evaluations(task, place, seed))
  write_text(dir .. "/metrics.jsonl", make_metrics(place, seed))
end

for task in ipairs(TASKS) do
  for place in ipairs(ENCODINGS) do
    for seed = 0, task == 3 and place == 6 and 0 or 2 do
      write_run(task, place, seed)
    end
  end
end
local damaged_path = ("%s/even_pairs_none/%s/lr%g-seed1/eval.jsonl"):format(root, reports.DIGEST, RATE)
write_text(damaged_path, '{"step":"many"}\n')
-- Files of an analysis next to the runs: a picture of one pixel, and lines wider than a page.
write_text(root .. "/compare/compare.txt", ("mean over all heads and layers %s\n"):format(("| 0.12345 "):rep(20)))
write_text(root .. "/compare/compare.png", "\137PNG\r\n\26\n\0\0\0\13IHDR\0\0\0\1\0\0\0\1\8\0\0\0\0\58\126\155\85"
  .. "\0\0\0\10IDAT\120\156\99\248\15\0\1\1\1\0\27\182\238\86\0\0\0\0IEND\174\66\96\130")
