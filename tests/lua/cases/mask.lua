-- Generated files: which keys a query sees. Entries are as cases.lua says.

local M = {}

M.cases = {
  { "causal", "encoding.mask.kind=causal", compile = "whole" },
  { "a window of relative vectors", "encoding.relative.kind=transformer_xl",
    "encoding.mask={ kind = 'window', left = 3 }", compile = "checked" },
  { "causal alibi, drawn", "encoding.score={ use = 'alibi_learned' }", "encoding.mask.kind=causal",
    "encoding.positions.kind=randomized", "precision=float64", compile = "checked" },
}

M.identifiers = {
  { "self_visible", function(case) return case.family.mask.kind ~= "none" end },
}

return M
