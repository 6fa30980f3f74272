-- Generated files: the keys that a query sees. cases.lua describes the entries.

local M = {}

local LINES = "{ { head = 0, direction = 1, line = 0, value = 1 }, { head = 1, direction = -1, line = 2, value = 3 } }"

M.cases = {
  { "causal", "encoding.mask.kind=causal", compile = "complete" },
  { "a window of relative vectors", "encoding.relative.kind=transformer_xl",
    "encoding.mask={ kind = 'window', left = 3 }", compile = "checked" },
  { "causal alibi, drawn", "encoding.score={ use = 'alibi_learned' }", "encoding.mask.kind=causal",
    "encoding.positions.kind=randomized", "precision=float64", compile = "checked" },
  { "an anti-diagonal", "encoding.mask={ kind = 'antidiagonal', width = 1 }", compile = "checked" },
  { "lines", "encoding.lines=" .. LINES, compile = "checked" },
  { "causal lines, with a score and dropout of weights", "encoding.lines=" .. LINES, "encoding.mask.kind=causal",
    "encoding.score={ use = 'alibi_learned' }", "model.attention_dropout=0.1", compile = "complete" },
}

M.identifiers = {
  { "self_visible", function(case) return case.family.mask.kind ~= "none" and case.family.mask.kind ~= "lines" end },
  { "write_self_line_gains", function(case) return case.family.mask.kind == "lines" end },
}

return M
