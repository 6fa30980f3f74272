-- Facet `rotation`: how queries and keys turn.
--
-- Input: the resolved encoding, the family with its positions, the tokens of the longest training sequence. Output:
-- kind; for rope its base, its scaling, the channels after which a row of heads repeats its angles (a multiple of the
-- head width and of the widest vector, 16 floats), and the index of its draw.

local M = {}

local WIDEST_VECTOR = 16

local function gcd(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a
end

local SCALED = { linear = "linear x %s", ntk = "NTK x %s", yarn = "YaRN x %s from %d positions" }

-- How the angles are squeezed; attention_factor is absent where the program computes it from factor.
local function scaling(given, positions, longest_training)
  if not given then
    return { kind = "none" }
  end
  local factor_text = string.format("%.9g", given.factor)
  local original_length = given.original_length or positions.range or longest_training
  return {
    kind = given.kind,
    factor = given.factor,
    factor_text = factor_text,
    original_length = given.kind == "yarn" and original_length or nil,
    beta_slow = given.beta_slow,
    beta_fast = given.beta_fast,
    slow_text = given.beta_slow and string.format("%.9g", given.beta_slow),
    fast_text = given.beta_fast and string.format("%.9g", given.beta_fast),
    attention_factor = given.attention_factor,
    about = string.format(SCALED[given.kind], factor_text, original_length),
  }
end

function M.plan(encoding, family, longest_training)
  local rotation, positions, head_width = encoding.rotation, family.positions, family.head_width
  if rotation.kind == "none" then
    return { kind = "none" }
  end
  return {
    kind = "rope",
    base = rotation.base,
    base_text = string.format("%.9g", rotation.base),
    period = head_width * WIDEST_VECTOR // gcd(head_width, WIDEST_VECTOR),
    draw = positions.layer_index,
    scaling = scaling(rotation.scaling, positions, longest_training),
  }
end

return M
