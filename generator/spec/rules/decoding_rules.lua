-- Rules and warnings about greedy decoding: the answers of a generative model, one after the other.
--
-- Input: a context of validate.lua or holders.lua; say (say.lua). Output: errors, warnings.

local features = require("facets.features")
local is_causal = require("spec.rules.features").is_causal

local M = {}

local FIELD = "eval.decoding"

-- An encoder answers all at once.
function M.check(context, say)
  local kind = context.resolved.model.kind
  if say.place(FIELD) and kind and not is_causal(context.resolved) then
    say.refuse(FIELD, "model.kind", ("%q"):format(kind), {
      what = "an encoder answers everything at once: there is nothing to decode",
      expected = 'no such field; or model.kind = "decoder" or "encoder_decoder"', hint = "leave eval.decoding out" })
  end
end

-- The streams of an attention's queries and keys that hold the target.
local TARGET_SIDES = { decoder = { query = true, key = true }, cross = { query = true }, encoder = {} }
local BOTH = { query = true, key = true }

-- Whether lines lie at a place that counts from the last key.
local function counts_from_the_end(lines)
  for _, line in ipairs(lines and lines.list or {}) do
    if line.direction == 1 then
      return true
    end
  end
  return false
end

-- The facets that depend on the number of tokens in the target's stream: a list of { field, words }.
local function dependent(resolved, sides)
  local encoding, list = resolved.encoding, {}
  for side in pairs(sides) do
    if (encoding.score or ""):find("%f[%w_]x%." .. side .. "_length%f[^%w_]") then
      list[1] = { "encoding.score", "reads how many tokens a sequence has" }
    end
  end
  local positions, on_target = encoding.positions, sides.query or sides.key
  if on_target and features.is_randomized(resolved) then
    local distances = positions.reading ~= "difference" and features.distances_are_read(resolved)
    if distances or positions.sorted ~= false and features.draws_places(resolved) then
      list[#list + 1] = { "encoding.positions", "draws as many random positions as a sequence has tokens" }
    end
  end
  if sides.key and counts_from_the_end(encoding.lines) then
    list[#list + 1] = { "encoding.lines", "has lines that begin at the last token" }
  end
  return list
end

-- The sides of those that a view holds for; what is added to the embedding is added to the target, too.
local function sides_of(seen)
  local sides = {}
  if seen.resolved.model.kind == "decoder" then
    return BOTH
  end
  for _, name in ipairs(seen.holds_for) do
    for side in pairs(TARGET_SIDES[name] or {}) do
      sides[side] = true
    end
  end
  sides.query = sides.query or (seen.resolved.encoding.additive or {}).kind ~= "none" or nil
  return sides
end

-- A model has to find out the number of tokens itself where its target has an end symbol.
function M.warn(seen, say)
  if not (seen.task and seen.task.end_symbol and is_causal(seen.resolved)) then
    return
  end
  for _, entry in ipairs(dependent(seen.resolved, sides_of(seen))) do
    say.warn(("%s: %s, those of the target among them, and targets of this task end with a symbol: while it answers, a "
      .. "model is told the length that the example's target has in the data (docs/own-task.md#decoding)"):format(
      say.named(entry[1]), entry[2]))
  end
end

return M
