-- Generated files: training, evaluation and checkpoints. cases.lua describes the entries.

local M = {}

M.cases = {
  { "no clipping", "train.clip.kind=none", compile = "complete" },
  { "evaluation while training", "eval.during={ every = 5, lengths = { list = { 3, 5 } } }" },
  { "lists", "train.lengths={ list = { 3, 5 } }", "eval.lengths={ list = { 7 } }",
    "train.checkpoint.keep={ 10, 20 }" },
  { "all checkpoints", "train.checkpoint.keep=all" },
  { "adamw", "train.optimizer.kind=adamw", compile = "checked" },
  { "adamw without decay", "train.optimizer={ kind = 'adamw', weight_decay = 0 }" },
  { "adamw of matrices", "train.optimizer={ kind = 'adamw', decays = 'matrices' }", "train.clip.kind=none",
    compile = "checked" },
  { "sgd", "train.optimizer.kind=sgd", "train.clip.kind=none", compile = "checked" },
  { "momentum", "train.optimizer={ kind = 'sgd', momentum = 0.9 }", "train.schedule={ kind = 'cosine', warmup = 100 }",
    compile = "checked" },
  { "warm-up", "train.schedule.warmup=7" },
}

M.identifiers = {
  { "MAX_NORM", function(case) return case.plan.clip.kind == "global_norm" end },
  { ".clip_norm", function(case) return case.plan.clip.kind == "global_norm" end },
  { "spread_decay", function(case) return case.plan.optimizer.decay ~= false end },
  { "element_range spared", function(case) return case.plan.optimizer.spared ~= false end },
  { "static const adam constants", function(case) return case.resolved.train.optimizer.kind ~= "sgd" end },
  { ".state_name", function(case) return #case.plan.optimizer.states > 0 end },
  { "second_moment", function(case) return #case.plan.optimizer.states == 2 end },
  { ".schedule", function(case) return case.resolved.train.schedule ~= nil end },
  { "eval.during_", function(case) return case.resolved.eval.during ~= nil end },
  { "train.keep_steps", function(case) return type(case.resolved.train.checkpoint.keep) == "table" end },
  { "train.keep_all", function(case) return case.resolved.train.checkpoint.keep == "all" end },
}

return M
