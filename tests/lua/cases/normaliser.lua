-- Generated files: the conversion of scores to weights. cases.lua describes the entries.

local function is_geometric(case)
  return case.family.normaliser.kind == "geometric"
end

local function uses_stick_breaking(case)
  return case.family.normaliser.kind == "stick_breaking"
end

local M = {}

M.cases = {
  { "geometric", "encoding.normaliser.kind=geometric", compile = "complete" },
  { "geometric, not normalised", "encoding.normaliser={ kind = 'geometric', normalised = false }",
    "encoding.rotation.kind=rope", "precision=float64" },
  { "geometric, without directions", "encoding.normaliser={ kind = 'geometric', directional = false }",
    "encoding.additive.kind=sinusoid", "encoding.positions.kind=randomized" },
  { "geometric, neither normalised nor directional",
    "encoding.normaliser={ kind = 'geometric', normalised = false, directional = false }",
    "model.width=48", "model.heads=4", "model.dropout=0", compile = "checked" },
  { "stick-breaking", "encoding.normaliser.kind=stick_breaking", "encoding.mask.kind=causal", compile = "complete" },
  { "stick-breaking, with rests", "encoding.normaliser={ kind = 'stick_breaking', own_key = true, rest = 'own_value' }",
    "encoding.mask.kind=causal", "encoding.rotation.kind=rope", "precision=float64", compile = "checked" },
}

M.identifiers = {
  { "weigh_outwards", is_geometric },
  { "write_dlogits", is_geometric },
  { "kernels/cpu/geometric.h", is_geometric },
  { "break_stick", uses_stick_breaking },
  { "kernels/cpu/stick.h", uses_stick_breaking },
  { "add_self_rests", function(case) return case.family.normaliser.own_value or false end },
  { "inverse_sum", function(case)
    return case.family.normaliser.normalised or case.family.normaliser.kind == "softmax"
  end },
  { "LOGIT_SCALE", function(case) return not is_geometric(case) end },
  { "to_direction", function(case) return case.family.normaliser.directional or false end },
  { "invert_self_total", function(case) return case.family.normaliser.normalised or false end },
}

M.sections = {
  { "geometric.group", "geometric", "attention_self.inc",
    { "load_self_queries", "write_self_logits", "write_self_group", "end_self_queries" } },
  { "geometric.neither", "geometric, neither normalised nor directional", "attention_self.inc",
    { "load_self_queries", "write_self_group" } },
  { "geometric.step", "geometric", "step.c", { "self_number_sums", "end_self_numbers" } },
  { "stick.rests", "stick-breaking, with rests", "attention_self.inc",
    { "self_breaks", "self_weights", "add_self_rests", "attend_self_queries" } },
}

return M
