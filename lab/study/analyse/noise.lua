-- Accuracy of a study's models under noise on their embeddings.
--
-- Input: groups (groups.lua) and { project, provide, folder, study, split, length, examples, draws, seed, noise,
-- relative, progress }: noise is a list of deviations. Output of M.of: groups get by_run[i] = { { accuracy, sd }, ... }
-- for each deviation, shares and their standard deviation over draws, and `drops`, where evaluation drops out, too.
-- Runs need not have been trained with noise in their spec: a trainer of the same model with it evaluates their
-- checkpoints. Errors end the analysis: see source.lua.

local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local source = require("lab.study.analyse.source")
local trained = require("lab.study.read.trained")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

-- What is set in a spec so that its trainer has this noise.
local function sets_of(options)
  local words = lists.map(options.noise, function(deviation) return ("%.17g"):format(deviation) end)
  return { ("eval.by.noise={ list = { %s } }"):format(table.concat(words, ", ")),
    ("eval.noise=%s"):format(options.relative and "relative" or "absolute") }
end

-- What evaluates the models of a group with noise.
local function source_of(group, options)
  local run, message = trained.open(group.runs[1].dir)
  if not run then
    source.stop(1, message)
  end
  local study, sets = options.study, sets_of(options)
  local cell = not study.found and ("%s:%s%s"):format(study.path, study.scale and study.scale .. ":" or "",
    group.cell.id) or nil
  if cell then
    table.move(study.set or {}, 1, #(study.set or {}), #sets + 1, sets)
  end
  group.drops = run.info.spec.eval.dropout == true
  return source.open(run, { project = options.project, provide = options.provide, folder = options.folder, cell = cell,
    sets = sets, seed = options.seed })
end

-- One model's accuracy at every deviation.
local function evaluate(from, options)
  local out = options.folder .. "/noise"
  write.remove_tree(out)
  local words = { "--checkpoint", from.run.checkpoint, "--lengths", options.length, "--examples", options.examples,
    "--draws", options.draws, "--seed", options.seed, "--out", out }
  if from.run.info.data then
    table.move({ "--splits", options.split }, 1, 2, #words + 1, words)
  end
  from:call("eval", words)
  local at, list = {}, {}
  local damage = run_files.evaluations(out, {}, function(row)
    at[row.by and row.by.noise or false] = { accuracy = row.accuracy, sd = row.sd_over_draws }
  end)
  for i, deviation in ipairs(options.noise) do
    list[i] = at[deviation] or source.stop(1, damage or ("%s: it has no accuracy under noise %g"):format(from.run.dir,
      deviation))
  end
  return list
end

function M.of(groups, options)
  for _, group in ipairs(groups) do
    local from = source_of(group, options)
    group.by_run = {}
    for i, run in ipairs(group.runs) do
      local opened, message = trained.open(run.dir)
      from.run = opened or source.stop(1, message)
      group.by_run[i] = evaluate(from, options)
    end
    options.progress(("%s: %s evaluated"):format(group.name, wording.count(#group.runs, "run")))
  end
end

return M
