-- Generated files: positions of tokens, and random positions and distances. cases.lua describes the entries.

-- Whether positions or distances are random.
local function has_draws(case)
  return case.family.positions.range ~= false or case.family.positions.distance.draws ~= false
end

local function has_tables(case)
  return case.plan.additive.kind == "sinusoid" or case.family.rotation.kind == "rope"
    or case.family.relative.kind == "transformer_xl"
end

local M = {}

M.cases = {
  { "positions from 1", "encoding.positions.kind=randomized", "encoding.positions.range=one_based",
    "encoding.additive.kind=learned", "encoding.rotation.kind=rope", "encoding.positions.sorted=false" },
  { "positions from 1 for each sequence", "encoding.positions.kind=randomized", "encoding.positions.range=one_based",
    "encoding.positions.draw=sequence", "encoding.additive.kind=learned", "eval.dropout=true" },
  { "rotations by each sequence's own positions", "encoding.positions.kind=randomized",
    "encoding.positions.draw=sequence", "encoding.rotation.kind=rope" },
  { "rotations by each sequence's own positions and a score", "encoding.positions.kind=randomized",
    "encoding.positions.draw=sequence", "encoding.rotation.kind=rope", "encoding.score={ use = 'log_length' }",
    "encoding.additive.kind=sinusoid" },
  { "distances from 1, each side sampled by itself", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.range=one_based",
    "encoding.positions.sides=independent" },
  { "sides sampled by themselves, for a score", "encoding.score={ use = 'alibi_learned' }",
    "encoding.positions.kind=randomized",
    "encoding.positions.sides=independent", "encoding.positions.draw=pass" },
  { "differences from 1 for a score", "encoding.score={ use = 'kerple_log' }", "encoding.positions.kind=randomized",
    "encoding.positions.range=one_based", "encoding.positions.reading=difference" },
  { "cyclic", "encoding.positions={ kind = 'cyclic', period = 3 }", "encoding.additive.kind=sinusoid",
    "encoding.rotation.kind=rope", compile = "checked" },
  { "cyclic, unread", "encoding.positions={ kind = 'cyclic', period = 3 }" },
  { "digits", "encoding.positions={ kind = 'digits', offset = 20 }", "encoding.additive.kind=learned",
    compile = "checked" },
  { "digits, and rotations by index", "encoding.positions={ kind = 'digits', elsewhere = 'index' }",
    "encoding.additive.kind=learned", "encoding.rotation.kind=rope", "encoding.score={ use = 'alibi' }" },
  { "a wide model, positions drawn for each sequence", "model.width=256", "encoding.additive.kind=learned",
    "encoding.positions.kind=randomized", "encoding.positions.draw=sequence", "eval.dropout=true" },
}

M.identifiers = {
  { "make_tables", has_tables },
  { "position_row", has_tables },
  { "MAX_POSITION", has_draws },
  { "DRAWS", function(case) return has_draws(case) and case.family.positions.kind ~= "sequence" end },
  { "FIRST_POSITION", function(case) return case.family.positions.first == 1 end },
  { "lh_draw_sequence", function(case) return case.family.positions.kind == "sequence" end },
  { "is_digit", function(case) return case.plan.token_positions and case.plan.token_positions.digits ~= false end },
  { "block->positions", function(case) return case.plan.token_positions ~= false end },
  { "position_scratch", function(case) return case.family.positions.kind == "sequence" end },
  { "lh_draw_or_copy_signed_distances", function(case) return case.family.positions.distance.independent end },
  { "longhand/positions.h", has_draws },
  { "DISTANCE_DRAWS", function(case) return case.family.positions.distance.draws ~= false end },
  { "drawn_distance", function(case) return case.family.positions.distance.draws ~= false end },
}

M.sections = {
  { "positions.none", "none none index 0.1 float32", "step.c", { "shared" } },
  { "positions.sinusoid", "sinusoid none index 0.1 float32", "step.c",
    { "position_row", "count_positions", "make_sinusoid", "make_tables" } },
  { "positions.rope", "none rope index 0.1 float32", "step.c",
    { "position_row", "count_positions", "make_rotation", "make_tables" } },
  { "positions.sinusoid_rope_randomized", "sinusoid rope layer 0.1 float32", "step.c",
    { "position_row", "count_positions", "make_tables", "shared", "draw_self_positions", "begin_step" } },
  { "positions.rope_randomized", "none rope layer 0.1 float32", "step.c", { "draw_self_positions" } },
}

return M
