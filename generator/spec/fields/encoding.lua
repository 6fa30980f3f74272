-- Fields of a spec: how the network learns where tokens stand, facet by facet. Entries are as schema.lua says; those of
-- a facet stand on its page.

local lists = require("base.lists")
local pages = require("facets.pages")

local FAMILIES = {
  { path = "encoding.made_for", seldom = true, type = "choice", choices = { "encoder", "decoder" }, optional = true,
    doc = "the one attention of an encoder-decoder that the facets next to it are for, in presets" },
  { path = "encoding.encoder", type = "table", optional = true, family = "encoder",
    doc = "facets of the encoder's attention to itself, laid upon those above field by field",
    more = { "rotation, relative, mask, lines, normaliser, positions, score and parameters, with their fields; use",
      "of those above, a causal mask and a window are the decoder's alone" } },
  { path = "encoding.decoder", type = "table", optional = true, family = "decoder",
    doc = "facets of the decoder's self-attention, in the same form" },
  { path = "encoding.cross", type = "table", optional = true, family = "cross",
    doc = "facets of the decoder's attention to the encoder: distance is the key's index less the query's",
    more = { "has relative, lines and a score that reads positions or indices only where they stand here" } },
}

local fields = {
  { path = "encoding", type = "table", doc = "the positional encoding; absent: none" },
}
for _, page in ipairs(pages.written) do
  lists.append(fields, page.fields)
end
return lists.append(fields, FAMILIES)
