-- Generated files: training, evaluation and checkpoints. Entries are as cases.lua says.

local M = {}

M.cases = {
  { "no clipping", "train.clip.kind=none", compile = "whole" },
  { "evaluation while training", "eval.during={ every = 5, lengths = { list = { 3, 5 } } }" },
  { "lists", "train.lengths={ list = { 3, 5 } }", "eval.lengths={ list = { 7 } }",
    "train.checkpoint.keep={ 10, 20 }" },
  { "all checkpoints", "train.checkpoint.keep=all" },
}

M.identifiers = {
  { "MAX_NORM", function(case) return case.plan.clip.kind == "global_norm" end },
  { ".clip_norm", function(case) return case.plan.clip.kind == "global_norm" end },
  { "eval.during_", function(case) return case.resolved.eval.during ~= nil end },
  { "train.keep_steps", function(case) return type(case.resolved.train.checkpoint.keep) == "table" end },
  { "train.keep_all", function(case) return case.resolved.train.checkpoint.keep == "all" end },
}

return M
