-- Generated files: how scores become weights. Entries are as cases.lua says.

local function geometric(case)
  return case.plan.normaliser.kind == "geometric"
end

local M = {}

M.cases = {
  { "geometric", "encoding.normaliser.kind=geometric", compile = "whole" },
  { "geometric, not normalised", "encoding.normaliser={ kind = 'geometric', normalised = false }",
    "encoding.rotation.kind=rope", "precision=float64" },
  { "geometric, without directions", "encoding.normaliser={ kind = 'geometric', directional = false }",
    "encoding.additive.kind=sinusoid", "encoding.positions.kind=randomized" },
  { "geometric, neither", "encoding.normaliser={ kind = 'geometric', normalised = false, directional = false }",
    "model.width=48", "model.heads=4", "model.dropout=0", compile = "checked" },
}

M.identifiers = {
  { "walk_outwards", geometric },
  { "kept_attention", geometric },
  { "kernels/cpu/functions.h", geometric },
  { "inverse_sum", function(case) return not geometric(case) end },
  { "LOGIT_SCALE", function(case) return not geometric(case) end },
  { "to_direction", function(case) return case.plan.normaliser.directional or false end },
  { "inverse_of", function(case) return case.plan.normaliser.normalised or false end },
}

M.sections = {
  { "geometric.walk", "geometric", "attention_self.inc",
    { "load_queries", "pair_logit", "try_keys", "walk_outwards", "return_keys", "end_return" } },
  { "geometric.neither", "geometric, neither", "attention_self.inc", { "load_queries", "try_keys", "return_keys" } },
  { "geometric.step", "geometric", "step.c", { "geometric_sums", "end_geometric" } },
}

return M
