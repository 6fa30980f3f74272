-- Masks of a plan, pair by pair.
--
-- Input: an attention of a plan (encoding_facets.lua), the numbers of queries T and of keys S. Output: a list with the
-- rows of each head, or of one head if all heads are equal; a row has, for each key, the value that the head adds to
-- the score, or false if the key is hidden. Queries, keys and heads are numbered from 0.

local lists = require("base.lists")
local facets = require("facets.modules")

local M = {}

-- Functions by the kind of mask: whether query i sees key j of S keys.
local is_visible = {
  none = function() return true end,
  causal = function(mask, i, j) return j <= i + mask.right end,
  window = function(mask, i, j) return j >= i - mask.left and j <= i + mask.right end,
  antidiagonal = function(mask, i, j, S)
    return j >= S + mask.low - mask.stride * i and j <= S + mask.high - mask.stride * i
  end,
}

-- Returns the largest value of those lines of a head that contain query i and key j; 0 for the first query and the last
-- key if the head leaves this corner visible; otherwise false. head: an item of mask.heads (facets/lines.lua).
local function find_line_value(mask, head, i, j, S)
  local value = false
  if mask.causal and j > i then
    return false
  elseif head.corner and i == 0 and j == S - 1 then
    return 0
  end
  for _, line in ipairs(head.lines) do
    if j == line.key_factor * S + line.first + line.step * i then
      value = math.max(value or line.value, line.value)
    end
  end
  return value
end

-- Makes a row whose cells get_value(key) returns. A query for which every key is hidden sees all keys; in a causal mask
-- of lines, it sees the keys up to its own token.
local function make_row(mask, i, S, get_value)
  local row, sees_key = {}, false
  for j = 0, S - 1 do
    row[j + 1] = get_value(j)
    sees_key = sees_key or row[j + 1] ~= false
  end
  if not sees_key then
    for j = 0, S - 1 do
      local is_later_key = mask.kind == "lines" and mask.causal and j > i
      row[j + 1] = not is_later_key and 0
    end
  end
  return row
end

-- Returns the values of all pairs of a query and a key, as the first comment of this file describes.
function M.list_cells(family, T, S)
  local mask, heads = family.mask, {}
  for h = 1, (mask.heads or family.terms.differs_by_head) and family.heads or 1 do
    heads[h] = {}
    for i = 0, T - 1 do
      heads[h][i + 1] = make_row(mask, i, S, function(j)
        if lists.any(facets, function(module) return module.hides and module.hides(family, h - 1, i, j, S) end) then
          return false -- another facet hides the pair
        elseif mask.kind == "lines" then
          return find_line_value(mask, mask.heads[h], i, j, S)
        end
        return is_visible[mask.kind](mask, i, j, S) and 0
      end)
    end
  end
  return heads
end

return M
