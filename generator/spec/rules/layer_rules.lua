-- Rules about encodings by layer (encoding.layers).
--
-- Input: the context of validate.lua; report, the functions of reports.lua. Output: errors, through report.

local canonical = require("base.canonical")
local families = require("spec.families")
local lists = require("base.lists")
local predicates = require("facets.predicates")

local M = {}

-- Checks that entries are numbered without gaps. Only a spec that writes encoding.layer1, encoding.layer2 and so on can
-- have a gap; a spec with the list encoding.layers cannot.
local function check_numbers(encoding, report)
  local count = #families.list_layers(encoding)
  for i = 1, math.max(count, 2) do
    if count > 0 and not encoding[families.LAYERS[i]] then
      return report.add({ "encoding." .. families.LAYERS[i] }, { what = "is missing", expected = families.LAYERS_TEXT })
    end
  end
end

-- The list encoding.layers repeats over the layers of the model. Layers of an incomplete last repetition are compiled
-- as a separate attention. So the score of their entry must not depend on the index of the layer, or share learned
-- numbers between layers. Refuses such a score.
local function check_last_layers(encoding, model, report)
  for _, entry in ipairs(families.list_last_layers(encoding, model.layers)) do
    local entry_encoding = families.make_encoding(encoding, entry.name)
    local shared_name = lists.find(canonical.sort_keys(entry_encoding.parameters or {}), function(name)
      local p = entry_encoding.parameters[name]
      return p.learned ~= false and (p.per == "model" or p.per == "head")
    end)
    local cause = shared_name and ("layers share x.%s"):format(shared_name)
      or predicates.mentions(entry_encoding.score or "", { layer = true }) and "the score reads x.layer"
    if cause then
      report.add({ ("encoding.%s.score"):format(entry.name), "encoding.score" }, {
        what = cause .. ", and the last repetition of encoding.layers is incomplete",
        expected = ("model.layers as a multiple of %d, or parameters with per = \"layer\" or \"layer_head\""):format(
          entry.period) })
    end
  end
end

-- Formats the fields of positions that must be equal in all layers, for comparisons. One entry may have draw = "pass"
-- and another draw = "layer", so the text shows only whether `draw` is "sequence".
local function format_shared_fields(positions)
  return canonical.format(lists.merge(positions, { draw = positions.draw == "sequence" }))
end

-- Refuses random positions of an entry that differ from encoding.positions. The vectors that are added to tokens use
-- encoding.positions, so all layers need the same positions.
local function check_positions(encoding, list, report)
  local shared_positions = encoding.positions
  for _, entry in ipairs(list) do
    local positions = families.make_encoding(encoding, entry.name).positions
    if positions and shared_positions
      and (positions.kind == "randomized" or shared_positions.kind == "randomized")
      and format_shared_fields(positions) ~= format_shared_fields(shared_positions) then
      report.add({ ("encoding.%s.positions"):format(entry.name), ("encoding.%s.positions.kind"):format(entry.name) }, {
        what = "random positions differ between layers",
        expected = 'random positions in encoding.positions, for all layers; only positions.draw may differ: "pass" or '
          .. '"layer"' })
    end
  end
end

function M.check(context, report)
  local resolved = context.resolved
  local encoding, model = resolved.encoding, resolved.model
  check_numbers(encoding, report)
  local list = families.list(model, encoding) and encoding.layer1 and families.list_layers(encoding) or {}
  if not list[2] then
    return
  elseif model.source then
    report.refuse("encoding.layer1", "model.source", ("%q"):format(model.source), {
      what = "your own network decides how many layers it has", expected = "one encoding for all layers" })
  elseif model.layers and model.layers < list[1].period then
    report.add({ "model.layers", "encoding.layer1" }, {
      notes = { { at = report.find_origin("encoding.layer1"), what = "the encodings by layer begin here" } },
      what = ("%d layers are fewer than the %d layers of encoding.layers"):format(model.layers, list[1].period),
      expected = ("at least %d, or a shorter list"):format(list[1].period) })
  elseif model.layers then
    check_last_layers(encoding, model, report)
  end
  check_positions(encoding, list, report)
end

return M
