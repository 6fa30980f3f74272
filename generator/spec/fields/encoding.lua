-- Fields of the section `encoding`, facet by facet. schema.lua describes entries; a facet's module (facets/modules.lua)
-- has the entries of the facet's fields.

local families = require("spec.families")
local lists = require("base.lists")
local facets = require("facets.modules")

local FAMILIES = {
  { path = "encoding.layers", is_rare = true, type = "layers", optional = true,
    doc = "a list of encodings for the layers of an encoder or a decoder: each layer has the next encoding of the "
      .. "list, which repeats if there are more layers (docs/encodings.md)",
    details = { "an entry is the name of a preset, or a table of facets that replace the shared facets field by field",
      "times = 5 next to the facets of an entry: five neighbouring layers have the entry" } },
  { path = "encoding.made_for", is_rare = true, type = "choice", choices = { "encoder", "decoder" }, optional = true,
    doc = "in presets for encoder-decoders: the facets next to this field apply only to the self-attention of this "
      .. "part" },
  { path = "encoding.encoder", type = "table", optional = true, family = "encoder",
    doc = "facets of the encoder's self-attention, which replace the facets directly in encoding field by field",
    details = { "possible fields, in the same form as in encoding: use, rotation, relative, projections, mask, lines, "
      .. "normaliser, positions, score, parameters",
      "a causal mask or a window that is set in encoding applies to the decoder alone" } },
  { path = "encoding.decoder", type = "table", optional = true, family = "decoder",
    doc = "facets of the decoder's self-attention, in the form of encoding.encoder" },
  { path = "encoding.cross", type = "table", optional = true, family = "cross",
    doc = "facets of the decoder's attention to the encoder; distance is the key's index minus the query's index",
    details = { "relative, lines and a score that reads positions, distances or indices apply to cross-attention only "
      .. "if they are given here" } },
}

-- Entries for the tables encoding.layer1, encoding.layer2, ... of resolved specs, one for each item of encoding.layers.
for i, name in ipairs(families.LAYERS) do
  lists.append(FAMILIES, {
    { path = "encoding." .. name, numbered = true, type = "table", optional = true, family = name,
      doc = ("entry %d of encoding.layers"):format(i) },
    { path = ("encoding.%s.times"):format(name), numbered = true, type = "integer", min = 1, max = 64, default = 1,
      omitted_value = 1, unit = "layers", family = name,
      doc = "the number of neighbouring layers that have the entry" } })
end

local fields = lists.collect(facets.in_spec_order, function(facet) return facet.fields end)
table.insert(fields, 1, { path = "encoding", type = "table", doc = "the positional encoding; absent: none" })
return lists.append(fields, FAMILIES)
