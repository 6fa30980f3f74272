-- Facet `rotation`: how queries and keys turn.
--
-- Input: the resolved encoding, the model's head width, the planned positions. Output: kind; for rope its base, the
-- channels after which a row of heads repeats its angles (a multiple of the head width and of the widest vector, 16
-- floats), and the index of its draw.

local M = {}

local WIDEST_VECTOR = 16

local function gcd(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a
end

function M.plan(encoding, head_width, positions)
  local rotation = encoding.rotation
  if rotation.kind == "none" then
    return { kind = "none" }
  end
  return {
    kind = "rope",
    base = rotation.base,
    base_text = string.format("%.9g", rotation.base),
    period = head_width * WIDEST_VECTOR // gcd(head_width, WIDEST_VECTOR),
    draw = positions.layer_index,
  }
end

return M
