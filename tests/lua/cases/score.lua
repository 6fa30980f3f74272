-- Generated files: scores, which change the logit of a pair. cases.lua describes the entries.

local M = {}

M.cases = {
  { "alibi", "encoding.score={ use = 'alibi' }", compile = "complete" },
  { "alibi, learned", "encoding.score={ use = 'alibi_learned' }", compile = "complete" },
  { "alibi, drawn", "encoding.score={ use = 'alibi' }", "encoding.positions.kind=randomized", compile = "checked" },
  { "t5 and relative, drawn for the pass", "encoding.score={ use = 't5' }", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.draw=pass", compile = "checked" },
  { "kerple, differences", "encoding.score={ use = 'kerple_log' }", "encoding.positions.kind=randomized",
    "encoding.positions.reading=difference", "precision=float64", compile = "checked" },
  { "kerple, differences of the input's positions", "encoding.score={ use = 'kerple_power' }",
    "encoding.positions.kind=randomized", "encoding.positions.reading=difference", "encoding.additive.kind=learned",
    compile = "checked" },
  { "fire", "encoding.score={ use = 'fire' }", compile = "complete" },
  { "sandwich, clamped", "encoding.score={ use = 'sandwich' }", "encoding.positions.kind=randomized",
    "encoding.positions.reading=clamped", compile = "checked" },
  { "t5", "encoding.score={ use = 't5' }" },
  { "softcap", spec = "tests/golden/specs/softcap.lua", compile = "complete" },
  { "softcap with a constant", "encoding.parameters.log_cap=3", spec = "tests/golden/specs/softcap.lua",
    compile = "complete" },
  { "values of queries and keys", spec = "tests/golden/specs/token_values.lua", compile = "checked" },
  { "sums over keys", spec = "tests/golden/specs/row_sums.lua", compile = "complete" },
  { "a list of scores", "encoding.score={ { use = 'window' }, { use = 'cyclic' }, { use = 'log_length' } }",
    compile = "checked" },
}

M.identifiers = {
  { "self_score_pair", function(case) return case.family.score.kind ~= "none" end },
  { "self_score_pair_grad", function(case) return case.family.score.needs_pair_gradient or false end },
  { "make_self_score_set", function(case)
    return case.family.score.kind ~= "none" and case.family.score.filling_nests[1] ~= nil
  end },
  { "end_self_score(", function(case) return case.family.score.has_trained_tables or false end },
  { "kernels/cpu/score.h", function(case)
    return case.family.score.kind ~= "none" or case.family.mask.kind ~= "none"
  end },
  { "kernels/cpu/products.h", function(case)
    local running = case.family.score.running
    return running and running.products[1] ~= nil
  end },
  { "sum_self_rows", function(case) return case.family.score.row_sums ~= false end },
  { "self_score_row_sum(", function(case) return case.family.score.row_sums ~= false end },
  { "SCORE_SETS", function(case) return case.family.score.per_layer or false end },
}

local FUNCTIONS = { "make_self_score_set", "self_score_pair", "self_score_pair_grad", "end_self_score" }

M.sections = {
  { "score.alibi", "alibi, learned", "score_self.inc", FUNCTIONS },
  { "score.fire", "fire", "score_self.inc", FUNCTIONS },
  { "score.t5", "t5", "score_self.inc", FUNCTIONS },
  { "score.row_sums", "sums over keys", "score_self.inc",
    { "self_score_row_sum", "self_score_row_sum_2", "self_score_pair", "self_score_pair_grad" } },
  { "attention.row_sums", "sums over keys", "attention_self.inc", { "self_sees", "sum_self_rows" } },
}

return M
