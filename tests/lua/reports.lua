-- Writes folders of runs, and makes studies of such runs, for tests of reports.

local support = require("support")

local cells = require("lab.study.read.cells")
local json = require("dkjson")
local lists = require("base.lists")
local published = require("lab.study.read.published")
local run_seeds = require("lab.study.read.seeds")

local M = {}

M.project = require("project").new(".")
M.DIGEST = "0123456789abcdef"

-- Returns a line of eval.jsonl. axis_values: a length, or text such as '"vectors":1'; more_keys: text of further
-- fields, which begins with a comma.
function M.make_eval_line(step, split, axis_values, accuracy, more_keys)
  return ('{"step":%d,"split":"%s","by":{%s},"examples":50,"draws":1,"accuracy":%.17g,"exact_match":0.25,'
    .. '"loss":0.5,"sd_over_draws":0%s}\n'):format(step, split,
      type(axis_values) == "number" and ('"length":%d'):format(axis_values) or axis_values,
    accuracy, more_keys or "")
end

-- Returns the resolved spec that run.json contains.
function M.make_spec(task)
  return { task = { kind = task }, encoding = { positions = { kind = "index" } }, precision = "float32",
    model = { layers = 2, heads = 2, width = 16, feedforward = 32 },
    train = { batch = 8, steps = 100, lengths = { first = 1, last = 10, step = 1 } },
    eval = { examples = 50, lengths = { list = { 5, 20, 30 } } } }
end

-- Writes the folder of a run below `root` and returns its path. rate: the learning rate. options:
--   exit            the trainer's exit code
--   eval, metrics   texts of eval.jsonl and metrics.jsonl
--   facts           other fields of run.json
--   digest          the plan digest
function M.write_run(root, id, seed, rate, options)
  local digest = options.digest or M.DIGEST
  local name = run_seeds.format({ seed = seed, part_seeds = (options.facts or {}).seeds_apart })
  local dir = ("%s/%s/%s/lr%g-seed%s"):format(root, id, digest, rate, name)
  local facts = { id = id, digest = digest, seed = seed, learning_rate = rate, exit = options.exit,
    spec = M.make_spec("bucket_sort"), flags = { "--seed", tostring(seed) }, compiler = "gcc 12", level = "x86-64",
    variant = "cpu", precision = "float32", source_digest = "aa" }
  lists.update(facts, options.facts or {})
  local path = support.write(dir .. "/run.json", json.encode(facts) .. "\n")
  support.write(dir .. "/eval.jsonl", options.eval or "")
  if options.metrics then
    support.write(dir .. "/metrics.jsonl", options.metrics)
  end
  return path:match("^(.*)/run%.json$")
end

-- Returns the lines of eval.jsonl of a run. The run's score, the mean over two lengths, is `percent`.
function M.make_scored_lines(percent)
  return M.make_eval_line(100, "in_distribution", 5, 0.99)
    .. M.make_eval_line(100, "beyond", 20, percent / 100 + 0.01) .. M.make_eval_line(100, "beyond", 30,
      percent / 100 - 0.01)
end

-- Returns the folder of all runs that contains the folder `dir` of a run.
function M.get_root(dir)
  return dir:match("^(.*)/[^/]+/[^/]+/[^/]+$")
end

-- Calls the function `run` of a verb with options; returns its exit code, its message and the printed text.
function M.run_verb(run, options)
  local output = {}
  local code, message = run(lists.merge(options, { say = function(text) output[#output + 1] = text end }))
  return code, message, table.concat(output, "\n")
end

-- Whether a verb wrote all files except pictures because gnuplot is not installed.
function M.lacks_gnuplot(code, message)
  return code == 4 and message:find("gnuplot is not installed", 1, true) ~= nil
end

-- Writes and reads the runs of a study of two tasks and two encodings, with two learning rates and three seeds.
-- scores["TASK ENCODING"][rate][seed + 1]: a score in percent, "failed", or nil for a missing run. scored: the
-- study's field `scored`; seeds: the number of seeds, by default three; metric: replaces the metric of the study.
function M.make_study(root, scores, scored, seeds, metric)
  local study = { name = "s", title = "Study", path = "s.lua", cells = {}, scored = scored,
    axes = { { name = "task", values = { "even_pairs", "bucket_sort" } },
      { name = "encoding", values = { "rope", "rand-rope" } } } }
  for _, task in ipairs(study.axes[1].values) do
    for _, encoding in ipairs(study.axes[2].values) do
      local id = task .. "_" .. encoding:gsub("-", "_")
      local cell = { key = { task = task, encoding = encoding }, id = id, runs = {},
        spec = { plan = { digest = M.DIGEST } } }
      for _, rate in ipairs({ 0.1, 0.2 }) do
        for seed = 0, (seeds or 3) - 1 do
          local score = ((scores[task .. " " .. encoding] or {})[rate] or {})[seed + 1]
          if score then
            M.write_run(root, id, seed, rate, score == "failed" and { exit = 1 }
              or { exit = 0, eval = M.make_scored_lines(score), facts = { train_seconds = 3600 * (seed + 1) } })
          end
          table.insert(cell.runs, { seed = seed, learning_rate = rate,
            dir = ("%s/%s/lr%g-seed%d"):format(id, M.DIGEST, rate, seed) })
        end
      end
      study.cells[#study.cells + 1] = cell
    end
  end
  local folder = support.write(root .. "/here", ""):match("^(.*)/")
  return cells.read_study(study, folder, metric)
end

local SCORED = { split = "test", select = "test", metric = "accuracy" }

-- Returns a study along these axes, with a cell for each combination of values. scores[i]: the best score of cell i.
function M.make_axes_study(axes, scores)
  local study = { path = "s.lua", name = "s", axes = axes, cells = {}, scored = SCORED }
  local keys = { {} }
  for _, axis in ipairs(axes) do
    keys = lists.collect(keys, function(key)
      return lists.map(axis.values, function(value) return lists.merge(key, { [axis.name] = value }) end)
    end)
  end
  study.cells = lists.map(keys, function(key, i)
    return { key = key, id = "c" .. i, number = i, runs = {}, summary = { requested = 1, evaluated = 1,
      choice = { rate_count = 1 }, states = {}, best_score = scores[i], differences = {},
      hours = { count = 1, machines = {} } } }
  end)
  return study
end

M.RANDOMIZED = { "rand-sincos", "rand-relative", "rand-alibi", "rand-rope", "rand-learned" }
M.PLAIN = { "none", "sincos", "relative", "alibi", "rope", "learned" }

-- Returns a study of the tasks and encodings of a paper. It has no runs, so its tables show only the paper's values.
function M.make_empty_study()
  local rows = assert(published.read(M.project, "ruoss_2023/table1")).rows
  local tasks = lists.drop_repeats(lists.map(rows, function(row) return row.task end))
  return { cells = {}, scored = SCORED, axes = { { name = "task", values = tasks },
    { name = "encoding", values = lists.join(M.RANDOMIZED, M.PLAIN) } } }
end

-- The default scores of make_study.
M.SCORES = {
  ["even_pairs rope"] = { [0.1] = { 50, 52, 54 }, [0.2] = { 60, 40, 44 } },
  ["even_pairs rand-rope"] = { [0.1] = { 95, 99, 97 }, [0.2] = { 70, 70, 70 } },
  ["bucket_sort rope"] = { [0.1] = { 30, "failed" } },
}

return M
