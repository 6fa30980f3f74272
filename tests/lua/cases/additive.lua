-- Generated files: what is added to the token embedding. Entries are as cases.lua says.

local M = {}

M.cases = {
  { "grid", spec = "tests/golden/specs/grid.lua", compile = "whole" },
  { "interleaved", "encoding.additive={ kind = 'sinusoid', channels = 'interleaved' }", "model.dropout=0" },
  { "frozen", "encoding.additive={ kind = 'learned', learned = false, init = 'normal' }", compile = "checked" },
}

M.identifiers = {
  { "make_place", function(case) return case.plan.additive.member == "place" end },
  { "POSITION_ROWS", function(case) return case.plan.additive.kind == "learned" end },
}

M.sections = {
  { "embed.none", "none none index 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.sinusoid", "sinusoid none index 0 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.sinusoid_randomized", "sinusoid none pass 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.learned", "learned none index 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.frozen", "frozen", "layers.inc", { "embed", "embed_backward" } },
  { "embed.grid", "grid", "step.c", { "make_waves", "make_place", "make_tables" } },
  { "embed.learned_randomized", "learned none pass 0 float32", "layers.inc", { "embed", "embed_backward" } },
}

return M
