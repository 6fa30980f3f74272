-- The module of the facet `rotation`: the rotation of queries and keys by their positions. modules.lua describes
-- modules of facets.
--
-- Input of M.plan: the resolved encoding, the family with the field `positions`, and context.longest_training, the
-- number of tokens of the longest training sequence. Output:
--   kind             "none" or "rope"
--   base             the base of the angles
--   base_text        C text of the base
--   heads            the number of heads that rotate, from the first on; nil: all heads
--   period           in a row with the channels of all heads, the angles repeat after this number of channels. It is a
--                    multiple of the head width and of the widest vector, 16 floats; if some heads do not rotate, it is
--                    the width of all heads
--   draw             C text of the index of the positions' draw, such as "l"; false if positions are not sampled, or
--                    are sampled for every sequence
--   scaling          the change of the angles for sequences longer than in training, the result of plan_scaling

local diagnostics = require("base.diagnostics")
local vector_width = require("base.vector_width")
local wording = require("base.wording")

local M = { name = "rotation", reads = "positions" }

-- Fields of specs (spec/schema.lua). `fingerprints`: texts that generated code has only if the feature is on.
M.fields = {
  { path = "encoding.rotation", type = "table", doc = "the rotation of queries and keys by their positions" },
  { path = "encoding.rotation.kind", type = "kind", default = "none", doc = "the kind of rotation",
    kinds = {
      { name = "none", doc = "queries and keys are not rotated" },
      { name = "rope", fingerprints = { "ROTATION_PERIOD", "rotation" }, doc = "adjacent pairs of channels rotate" },
    } },
  { path = "encoding.rotation.base", type = "number", above = 1, max = 1e12, default = 10000, only = { "rope" },
    doc = "base of the angles: channel pair m of a head with D channels rotates by base^(-2 m / D) per position" },
  { path = "encoding.rotation.heads", is_rare = true, type = "integer", min = 1, max = 63, only = { "rope" },
    default_text = "all heads", doc = "number of heads that rotate, from the first on; the others have no rotation" },
  { path = "encoding.rotation.scaling", type = "table", only = { "rope" }, omitted_value = "none",
    doc = "the change of the rotation for sequences longer than those of training" },
  { path = "encoding.rotation.scaling.kind", type = "kind", default = "none", doc = "the kind of scaling",
    kinds = {
      { name = "none", doc = "no change" },
      { name = "linear", fingerprints = { "interpolated" }, doc = "positions are divided by factor" },
      { name = "ntk", fingerprints = { "log_base" },
        doc = "the base is multiplied by factor^(D / (D - 2)): this divides the speed of the slowest channel pair "
          .. "by factor and leaves the fastest pair unchanged" },
      { name = "yarn", fingerprints = { "scale_speed" },
        doc = "the speed of channel pairs is divided by factor, except for pairs with many turns within "
          .. "original_length; logits become larger" },
    } },
  { path = "encoding.rotation.scaling.factor", type = "number", min = 1, max = 1e6, required = true,
    only = { "linear", "ntk", "yarn" }, doc = "the length to reach, as a multiple of the training length" },
  { path = "encoding.rotation.scaling.original_length", is_rare = true, type = "integer", min = 1, max = 1048576,
    unit = "positions", only = { "yarn" },
    default_text = "the tokens of the longest training sequence; for randomized positions max_position",
    doc = "number of positions in training" },
  { path = "encoding.rotation.scaling.beta_slow", is_rare = true, type = "number", min = 0, max = 1e6, default = 1,
    unit = "turns",
    only = { "yarn" },
    doc = "number of turns within original_length; the speed of channel pairs with fewer turns is divided by factor" },
  { path = "encoding.rotation.scaling.beta_fast", is_rare = true, type = "number", above = 0, max = 1e6, default = 32,
    unit = "turns", only = { "yarn" },
    doc = "number of turns within original_length; channel pairs with more turns keep their speed; pairs between "
      .. "beta_slow and beta_fast have a speed in between" },
  { path = "encoding.rotation.scaling.attention_factor", is_rare = true, type = "number", above = 0, max = 1000,
    only = { "yarn" }, default_text = "0.1 ln(factor) + 1",
    doc = "the factor by which queries and keys are multiplied" },
}

function M.check(view, report)
  local rotation, fast_path = view.resolved.encoding.rotation, "encoding.rotation.scaling.beta_fast"
  local scaling, heads = rotation and rotation.scaling or {}, view.resolved.model.heads
  if rotation and rotation.heads and heads and rotation.heads >= heads then
    report.refuse("encoding.rotation.heads", "model.heads", diagnostics.show(heads), {
      what = ("the model has %s"):format(wording.count(heads, "head")),
      expected = ("fewer than %d; without this field, all heads rotate"):format(heads) })
  end
  local beta_slow, beta_fast = scaling.beta_slow, scaling.beta_fast
  if beta_slow and beta_fast and beta_slow >= beta_fast then
    local fast_text = diagnostics.show(beta_fast)
    report.refuse("encoding.rotation.scaling.beta_slow", fast_path, fast_text, {
      what = ("%s is not below beta_fast"):format(diagnostics.show(beta_slow)),
      expected = ("a number below %s = %s"):format(fast_path, fast_text) })
  end
end

local DESCRIPTIONS = { linear = "linear x %s", ntk = "NTK x %s", yarn = "YaRN x %s from %d positions" }

-- The plan of a scaling: numbers of the spec, and C texts of some of them. scaling: the spec's table, or nil. If the
-- table has no attention_factor, the trainer computes it (yarn).
local function plan_scaling(scaling, positions, longest_training)
  if not scaling then
    return { kind = "none" }
  end
  local factor_text = string.format("%.9g", scaling.factor)
  local original_length = scaling.original_length or positions.range or longest_training
  return {
    kind = scaling.kind,
    factor = scaling.factor,
    factor_text = factor_text,
    original_length = scaling.kind == "yarn" and original_length or nil,
    beta_slow = scaling.beta_slow,
    beta_fast = scaling.beta_fast,
    slow_text = scaling.beta_slow and string.format("%.9g", scaling.beta_slow),
    fast_text = scaling.beta_fast and string.format("%.9g", scaling.beta_fast),
    attention_factor = scaling.attention_factor or false,
    description = string.format(DESCRIPTIONS[scaling.kind], factor_text, original_length),
  }
end

function M.plan(encoding, family, context)
  local rotation, positions, head_width = encoding.rotation, family.positions, family.head_width
  return rotation.kind == "none" and { kind = "none" } or {
    kind = "rope",
    base = rotation.base,
    base_text = string.format("%.9g", rotation.base),
    heads = rotation.heads or false,
    period = rotation.heads and family.heads * head_width
      or head_width * vector_width.WIDEST // math.min(head_width & -head_width, vector_width.WIDEST),
    draw = positions.layer_index,
    scaling = plan_scaling(rotation.scaling, positions, context.longest_training),
  }
end

function M.describe(family)
  local rotation, position_period = family.rotation, family.positions.period
  local heads = rotation.heads and (" of the first %s"):format(wording.count(rotation.heads, "head")) or ""
  return rotation.kind == "rope" and ("queries and keys%s are rotated (base %s%s%s)"):format(heads, rotation.base_text,
    rotation.scaling.description and ", " .. rotation.scaling.description or "",
    position_period and (", the position modulo %d"):format(position_period) or "") or nil
end

-- The identity leaves the scaling out, so that a model with scaling can read checkpoints of a model without it.
function M.identify(encoding)
  local rotation = encoding.rotation
  return { rotation = rotation.kind == "rope" and { "rope", rotation.base, rotation.heads } or "none" }
end

-- Parts of exported Python files; modules.lua describes their fields.
M.parts = { { name = "rope", rank = 10, fields = { "rope", "by_sequence", "cyclic" }, names = { "rotate" } } }

function M.export(family, context)
  local rope = family.rotation.kind == "rope" and family.rotation
  context.extra_inputs.positions = rope and true or context.extra_inputs.positions
  context.extra_inputs.memory_positions = context.crosses and rope and true or nil
  context.part_texts.rope = rope and { "rotation" }
  return { rope = rope }
end

function M.make_terms(family)
  local rotation = family.rotation
  return rotation.kind ~= "none" and { { kind = "row_map", template = "rotation", draw = rotation.draw,
    properties = { rotates_rows = true } } } or nil
end

return M
