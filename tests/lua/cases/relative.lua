-- Generated files: vectors of distances. cases.lua describes the entries.

local function is_relative(case)
  return case.family.relative.kind ~= "none"
end

local function uses_cope(case)
  return case.family.relative.kind == "cope"
end

local M = {}

M.cases = {
  { "relative", "encoding.relative.kind=transformer_xl", "model.dropout=0", compile = "complete" },
  { "relative in float64", "encoding.relative.kind=transformer_xl", "precision=float64", "model.width=48",
    "model.heads=4", compile = "checked" },
  { "relative, drawn", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized",
    compile = "checked" },
  { "relative, drawn for the pass", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized",
    "encoding.positions.draw=pass", "encoding.additive.kind=sinusoid", compile = "checked" },
  { "relative, clamped", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized",
    "encoding.positions.reading=clamped", "encoding.rotation.kind=rope", compile = "checked" },
  { "relative, differences", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized",
    "encoding.positions.reading=difference", compile = "complete" },
  { "relative, differences of the input's positions", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.reading=difference", "encoding.additive.kind=learned",
    compile = "checked" },
  { "relative, differences for the pass", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.reading=difference", "encoding.positions.draw=pass",
    compile = "checked" },
  { "shaw", "encoding.relative.kind=shaw", compile = "complete" },
  { "shaw, to the left", "encoding.relative={ kind = 'shaw', clip = 5, sides = 'left' }", "encoding.mask.kind=causal",
    "encoding.normaliser.temperature=0.5", "encoding.projections={ bias = true, output = false }",
    compile = "checked" },
  { "shaw, drawn", "encoding.relative.kind=shaw", "encoding.positions.kind=randomized", compile = "checked" },
  { "shaw, differences", "encoding.relative.kind=shaw", "encoding.positions.kind=randomized",
    "encoding.positions.reading=difference", compile = "checked" },
  { "cope", "encoding.relative={ kind = 'cope', rows = 7 }", "encoding.mask.kind=causal", compile = "complete" },
  { "cope, undivided", "encoding.relative={ kind = 'cope', divided = false }", "encoding.mask.kind=causal",
    "precision=float64", "model.attention_dropout=0.1", compile = "checked" },
}

M.identifiers = {
  { "RELATIVE_SETS", function(case) return case.family.relative.biases or false end },
  { "self_group_dlogits", function(case) return is_relative(case) and case.family.relative.toeplitz end },
  { "self_pair_offset", function(case) return case.family.relative.kind == "shaw"
    and not case.family.relative.toeplitz end },
  { "write_signed_sinusoid", function(case)
    return case.family.relative.kind == "transformer_xl" and case.family.relative.toeplitz
  end },
  { "add_self_rotated_gradients", function(case) return case.family.relative.rotated end },
  { "position_bias", function(case) return case.family.relative.kind == "transformer_xl" end },
  { "count_self_keys", uses_cope },
  { "kernels/cpu/counts.h", uses_cope },
  { "COUNT_FACTOR", function(case) return uses_cope(case) and case.family.relative.factor ~= false end },
  { "CLIP", function(case) return case.family.relative.kind == "shaw" end },
}

M.sections = {
  { "relative.index", "relative", "attention_self.inc",
    { "self_logits", "add_self_row_gradients", "self_relative_rows_grad" } },
  { "relative.differences", "relative, differences", "attention_self.inc",
    { "load_self_queries", "self_distance_logits", "self_logits", "add_self_rotated_gradients" } },
  { "relative.shaw", "shaw", "attention_self.inc", { "self_logits", "add_self_row_gradients" } },
  { "relative.shaw_differences", "shaw, differences", "attention_self.inc",
    { "self_pair_offset", "load_self_rows", "self_logit", "add_self_row_gradients", "self_relative_rows_grad" } },
  { "relative.cope", "cope", "attention_self.inc",
    { "multiply_self_table", "count_self_keys", "add_self_count_rows" } },
  { "relative.drawn", "relative, drawn", "step.c",
    { "shared", "drawn_distance", "draw_self_distances", "begin_step", "begin_shard", "end_self_relative" } },
  { "relative.clamped", "relative, clamped", "step.c", { "drawn_distance", "begin_step" } },
}

return M
