-- Accuracy of a study's models under noise on their embeddings.
--
-- Input: groups (groups.lua) and { project, provide, folder, study, split, length, examples, draws, seed, noise,
-- relative, say }: noise is a list of deviations. Output of M.of: groups get by_run[i] = { { accuracy, sd }, ... }
-- for each deviation, shares and their standard deviation over draws, and `drops`, where evaluation drops out, too.
-- Runs need not have been trained with noise in their spec: a trainer of the same model with it evaluates their
-- checkpoints. Errors end the analysis: see source.lua.

local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local source = require("lab.study.analyse.source")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

-- What is set in a spec so that its trainer has this noise.
local function sets_of(options)
  local words = lists.map(options.noise, function(deviation) return ("%.17g"):format(deviation) end)
  return { ("eval.by.noise={ list = { %s } }"):format(table.concat(words, ", ")),
    ("eval.noise=%s"):format(options.relative and "relative" or "absolute") }
end

-- One model's accuracy at every deviation.
local function evaluate(from, options)
  local out = options.folder .. "/noise"
  write.remove_tree(out)
  local split = from.run.info.data and options.split or nil
  from:call("eval", { "--checkpoint", from.run.checkpoint, "--lengths", options.length, "--examples", options.examples,
    "--draws", options.draws, "--seed", options.seed, "--out", out, split and "--splits", split })
  local at = {}
  local damage = run_files.evaluations(out, {}, function(row)
    at[row.by and row.by.noise or false] = { accuracy = row.accuracy, sd = row.sd_over_draws }
  end)
  return lists.map(options.noise, function(deviation)
    return at[deviation] or source.stop(1, damage or ("%s: it has no accuracy under noise %g"):format(from.run.dir,
      deviation))
  end)
end

function M.of(groups, options)
  for _, group in ipairs(groups) do
    local from = source.of_group(group, options, sets_of(options))
    group.drops = from.run.info.spec.eval.dropout == true
    group.by_run = lists.map(group.runs, function(run)
      from.run = source.run(run.dir)
      return evaluate(from, options)
    end)
    options.say(("%s: %s evaluated"):format(group.name, wording.count(#group.runs, "run")))
  end
end

return M
