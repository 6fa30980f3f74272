-- Finds, in a list of names, the name that is most similar to a misspelt name, for the hints of messages.
--
-- Input: the misspelt name, the list of names. Output: the most similar name, or a hint that asks about this name; nil
-- if no name is similar, or if the misspelt name is not text of at most 60 bytes.

local M = {}

-- Edit distance with transpositions of neighbours (optimal string alignment).
local function measure_distance(a, b)
  -- Row i has the distances of the first i characters of a from the first 0, 1, ... characters of b.
  local row_before_last, last_row = {}, {}
  for j = 0, #b do
    last_row[j] = j
  end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last_row[j] + 1, row[j - 1] + 1, last_row[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], row_before_last[j - 2] + 1)
      end
    end
    row_before_last, last_row = last_row, row
  end
  return last_row[#b]
end

function M.find(name, names)
  local similar_name, min_distance
  if type(name) ~= "string" or #name > 60 then
    return nil
  end
  for _, candidate in ipairs(names) do
    local distance = measure_distance(name, candidate)
    local is_similar = distance <= math.max(1, math.min(#name, #candidate) // 3)
    if is_similar and (not similar_name or distance < min_distance) then
      similar_name, min_distance = candidate, distance
    end
  end
  return similar_name
end

-- A hint that suggests the most similar name. form: the format of the name in the question, by default in quotes.
function M.make_hint(name, names, form)
  local suggestion = M.find(name, names)
  return suggestion and ("did you mean %s?"):format((form or '"%s"'):format(suggestion)) or nil
end

return M
