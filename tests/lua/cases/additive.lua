-- Generated files: what is added to the token embedding. Entries are as cases.lua says.

local M = {}

M.identifiers = {
  { "POSITION_ROWS", function(case) return case.plan.additive.kind == "learned" end },
}

M.sections = {
  { "embed.none", "none none index 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.sinusoid", "sinusoid none index 0 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.sinusoid_randomized", "sinusoid none pass 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.learned", "learned none index 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.learned_randomized", "learned none pass 0 float32", "layers.inc", { "embed", "embed_backward" } },
}

return M
