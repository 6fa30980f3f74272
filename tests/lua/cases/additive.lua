-- Generated files: vectors that are added to the token embedding. cases.lua describes the entries.

local M = {}

M.cases = {
  { "grid", spec = "tests/golden/specs/grid.lua", compile = "complete" },
  { "interleaved", "encoding.additive={ kind = 'sinusoid', channels = 'interleaved' }", "model.dropout=0" },
  { "in blocks", "encoding.additive={ kind = 'learned', at = 'block' }", "encoding.normaliser.temperature=2",
    "encoding.projections.output=false", compile = "complete" },
  { "in blocks, drawn", "encoding.additive={ kind = 'sinusoid', at = 'block' }", "model.dropout=0",
    "encoding.positions={ kind = 'randomized', draw = 'layer' }", compile = "checked" },
  { "in blocks, drawn for each sequence", "encoding.additive={ kind = 'learned', at = 'block' }",
    "encoding.positions={ kind = 'randomized', draw = 'sequence', range = 'one_based', max_position = 1100 }",
    compile = "checked" },
  { "frozen", "encoding.additive={ kind = 'learned', learned = false, init = 'normal' }", compile = "checked" },
}

M.identifiers = {
  { "place_grad", function(case) return case.plan.additive.in_blocks and case.plan.additive.kind == "learned" end },
  { "make_place", function(case) return case.plan.additive.member == "place" end },
  { "placed", function(case) return case.plan.additive.in_blocks or false end },
  { "POSITION_ROWS", function(case) return case.plan.additive.kind == "learned" end },
  { "VOCABULARY", function(case) return case.plan.cpu.vocabulary ~= false end },
  { "sum_by_symbol", function(case) return case.plan.cpu.vocabulary ~= false end },
}

M.sections = {
  { "embed.none", "none none index 0.1 float32", "layers.inc", { "embed", "embed_vocabulary",
    "embed_vocabulary_backward" } },
  { "embed.sinusoid", "sinusoid none index 0 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.sinusoid_randomized", "sinusoid none pass 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.learned", "learned none index 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.blocks", "in blocks", "layers.inc", { "embed", "place", "place_grad" } },
  { "embed.frozen", "frozen", "layers.inc", { "embed", "embed_backward" } },
  { "embed.grid", "grid", "step.c", { "make_waves", "make_place", "make_tables" } },
  { "embed.learned_randomized", "learned none pass 0 float32", "layers.inc", { "embed", "embed_backward" } },
}

return M
