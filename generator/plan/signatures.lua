-- What functions of generated code hand on to each other: parameters and arguments that only some encodings need, as C
-- text for both sides of a call, and the words of comments beside them.
--
-- Input: a plan with its network and encoding. Output, into the plan, in pairs: <name>_argument, the parameters that a
-- function declares, and <name>_pass, what its caller writes; <name>_hand_on, where the caller has them under the same
-- names. All of them are empty where nothing is handed on.

local M = {}

-- From a step's functions to those of one head, forward and backward.
local function derive_heads(plan)
  local relative, scores, grads = plan.relative.kind ~= "none", plan.score.kind ~= "none", plan.score.grads
  local function both(first, second, on)
    return (relative and first or "") .. (on and second or "")
  end
  local arguments = { "const relative_head *relative, ", "const score_head *score, " }
  plan.head_argument, plan.back_argument = both(arguments[1], arguments[2], scores),
    both(arguments[1], arguments[2], grads)
  plan.head_pass, plan.back_pass = both("&relative, ", "&score, ", scores), both("&relative, ", "&score, ", grads)
  plan.relative_hand_on = relative and "relative, " or ""
  plan.back_hand_on = both("relative, ", "score, ", grads)
end

-- The calls around a pair's logit: of the first key of a row, of key j.
local function derive_pairs(plan)
  local masked, scores = plan.mask.kind ~= "none", plan.score.kind ~= "none"
  local function opening(key)
    return (masked and ("masked(T, first, %s, "):format(key) or "")
      .. (scores and ("score_pair(score, first, %s, "):format(key) or "")
  end
  plan.scored = { open0 = opening("0"), open = opening("j"), close = (scores and ")" or "") .. (masked and ")" or "") }
end

-- What a shard's blocks add up besides the gradient.
local function derive_sums(plan)
  local relative, geometric = plan.relative.kind ~= "none", plan.normaliser.kind == "geometric"
  plan.sums = relative or plan.score.trains or geometric
  plan.early_take = relative or plan.score.kind ~= "none" or geometric
  plan.sums_argument = plan.sums and "const shard_sums *sums, " or ""
  plan.sums_pass = plan.sums and "&w->sums, " or ""
end

-- From the step to the layers, and from there to attention.
local function derive_layers(plan)
  local rope, relative = plan.rotation.kind == "rope", plan.relative.kind ~= "none"
  local scores, geometric = plan.score.kind ~= "none", plan.normaliser.kind == "geometric"
  local turned = rope and plan.positions.kind == "sequence" -- by the positions of the workspace
  local argument, pass = "const lh_cpu_step *step, int l, ", "step, l, "
  if turned and not scores and not geometric then
    argument, pass = "const lh_cpu_step *step, ", "step, "
  end
  local forward, back = rope or relative or scores or geometric, rope or relative or plan.score.grads or geometric
  plan.step_argument, plan.step_pass = forward and argument or "", forward and pass or ""
  plan.back_step_argument, plan.back_step_pass = back and argument or "", back and pass or ""
  plan.position_argument = turned and ", const int32_t *position" or ""
  plan.position_pass = turned and ", w->position" or ""
  plan.rotate_by = turned and "position + s * T" or "l"
  plan.rotated = rope and ", queries and keys turned" or ""
  plan.rotated_in_place = rope and " (queries and keys are turned in place)" or ""
  local drops = plan.dropout.kind ~= "none"
  plan.layer_argument = (drops and "const lh_cpu_block *block, " or "") .. "workspace *w, int l,"
  plan.layer_pass = (drops and "block, " or "") .. "&w, l, "
end

-- To the input's embedding: how the places of its tokens are written, row m of a block.
local function derive_embedding(plan)
  local learned, by_sequence = plan.additive.kind == "learned", plan.positions.kind == "sequence"
  plan.embed_adds = plan.additive.kind == "sinusoid" and " + sinusoid of its position"
    or learned and " + learned vector of its position" or ""
  local scatters = learned and plan.input_draw and not by_sequence
  plan.embed_backward_step = scatters and "const lh_cpu_step *step, " or ""
  plan.embed_backward_pass = scatters and "step, " or ""
  local first = plan.positions.first == 1 and learned and " - FIRST_POSITION" or ""
  local index = by_sequence and "position[m]" or plan.input_draw and "position[m % w->length]" or "m % w->length"
  plan.input_place = first ~= "" and "(" .. index .. first .. ")" or index
  local shared = plan.input_draw and "v->draws[row % v->T]" or "row % v->T"
  plan.places_row = (plan.input_draw and "v->draws[e / WIDTH]" or "e / WIDTH") .. first
  plan.input_place_cuda = by_sequence and "position[row]" or shared
  plan.input_row_cuda = plan.input_place_cuda .. first
  if not by_sequence or first ~= "" then
    plan.input_row_cuda = "(" .. plan.input_row_cuda .. ")"
  end
end

function M.derive(plan)
  derive_heads(plan)
  derive_pairs(plan)
  derive_sums(plan)
  derive_layers(plan)
  derive_embedding(plan)
end

return M
