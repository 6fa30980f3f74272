-- Generated files: the model: dropout, sizes, precision, the task. Entries are as cases.lua says.

-- What a shard's blocks add up besides the gradient.
local function sums(case)
  local family = case.family
  return family.relative.kind ~= "none" or family.score.trains or family.normaliser.kind == "geometric"
end

local M = {}

M.cases = {
  { "dropout of the input alone", "encoding.additive.kind=sinusoid", "model.dropout=0",
    "encoding.additive.dropout=0.25", compile = "whole" },
  { "dropout of the branches alone", "encoding.additive.kind=learned", "encoding.additive.dropout=0",
    compile = "checked" },
  { "heads of 12 channels", "model.width=48", "model.heads=4", "encoding.rotation.kind=rope", compile = "checked" },
  { "heads of 64 channels", "model.width=128", "model.heads=2", "encoding.rotation.kind=rope" },
  { "one answer", "task.kind=even_pairs" },
  { "dropout in evaluation", "eval.dropout=true", "encoding.additive.kind=sinusoid", "eval.batch=64" },
  { "dropout of the input alone in evaluation", "eval.dropout=true", "encoding.additive.kind=sinusoid",
    "model.dropout=0", "encoding.additive.dropout=0.25" },
  { "the largest", "model.layers=64", "model.heads=64", "model.width=1024", "model.feedforward=8192",
    "encoding.additive.kind=learned", "encoding.rotation.kind=rope", "encoding.rotation.base=123456789012",
    "encoding.positions.kind=randomized", "encoding.positions.max_position=1048576",
    "encoding.positions.draw=layer", "model.dropout=0.123456789", "eval.during={ every = 2147483647 }",
    compile = "checked" },
}

M.identifiers = {
  { "BRANCH_", function(case) return case.resolved.model.dropout > 0 end },
  { "attention_keep", function(case) return case.resolved.model.dropout > 0 end },
  { "EMBEDDING_DROP_BELOW", function(case)
    return (case.resolved.encoding.additive.dropout or 0) > 0 and not case.plan.additive.in_blocks
  end },
  { "PLACE_DROP_BELOW", function(case)
    return (case.resolved.encoding.additive.dropout or 0) > 0 and case.plan.additive.in_blocks
  end },
  { "embedding_keep", function(case)
    return (case.resolved.encoding.additive.dropout or 0) > 0 and not case.plan.additive.in_blocks
  end },
  { "draw_masks", function(case)
    return case.resolved.model.dropout > 0 or (case.resolved.encoding.additive.dropout or 0) > 0
  end },
  { "LH_DOMAIN_EVAL_DROPOUT", function(case) return case.resolved.eval.dropout ~= nil end },
  { "begin_shard", sums },
  { "end_shard", sums },
  { ".baseline", function(case) return case.plan.task.baseline_name ~= nil end },
  { ".limit", function(case) return case.plan.limit ~= false end },
  { "double real", function(case) return case.resolved.precision == "float64" end },
  { "float real", function(case) return case.resolved.precision == "float32" end },
}

return M
