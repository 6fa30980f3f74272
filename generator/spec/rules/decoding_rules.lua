-- Rules and warnings about greedy decoding, in which a generative model gives its answers one after another.
--
-- Input: the context of validate.lua, or of a family (family_facets.lua); report, the functions of reports.lua. Output:
-- errors and warnings, through report.

local is_causal = require("spec.rules.features").is_causal
local lists = require("base.lists")
local facets = require("facets.modules")

local M = {}

local FIELD = "eval.decoding"

-- Refuses settings of decoding for an encoder, which gives all answers at once.
function M.check(context, report)
  local kind = context.resolved.model.kind
  if report.find_origin(FIELD) and kind and not is_causal(context.resolved) then
    report.refuse(FIELD, "model.kind", ("%q"):format(kind), {
      what = "an encoder answers everything at once: there is nothing to decode",
      expected = 'no field eval.decoding; or model.kind = "decoder" or "encoder_decoder"',
      hint = "leave out eval.decoding" })
  end
end

-- Name of a family -> the sides of its attention (query, key) whose tokens include the tokens of the target.
local TARGET_SIDES = { decoder = { query = true, key = true }, cross = { query = true }, encoder = {} }

-- The sides (query, key) on which attention reads the target, as a set. view: the context of families with the same
-- facets (family_facets.lua). Vectors that encoding.additive adds to tokens are also added to the target's tokens; this
-- counts as reading on the side `query`.
local function find_target_sides(view)
  if view.resolved.model.kind == "decoder" then
    return { query = true, key = true }
  end
  local family_sides = lists.map(view.family_names, function(name) return TARGET_SIDES[name] end)
  local sides = lists.merge({}, table.unpack(family_sides))
  sides.query = sides.query or (view.resolved.encoding.additive or {}).kind ~= "none" or nil
  return sides
end

-- Warns about facets that depend on the number of tokens of the target, if an end symbol ends targets: the model must
-- determine this number itself, but the facets take the number from the data.
function M.warn(view, report)
  if not (view.task and view.task.end_symbol and is_causal(view.resolved)) then
    return
  end
  local sides = find_target_sides(view)
  for _, module in ipairs(facets) do
    local words = module.explain_length and module.explain_length(view.resolved, sides)
    if words then
      report.warn(("%s: %s (the sequence includes tokens of the target). Targets of this task end with a "
        .. "symbol, so in decoding the model would read the length of the target from the data "
        .. "(docs/own-task.md#decoding)"):format(report.get_path("encoding." .. module.name), words))
    end
  end
end

return M
