-- Fields of a spec: the network. Entries are as schema.lua says.

local features = require("spec.features")

return {
  { path = "model", type = "table", doc = "the network" },
  { path = "model.kind", type = "kind", default = "encoder", doc = "its form",
    kinds = { { name = "encoder", families = { "self" },
      doc = "bidirectional encoder, layer norm after each block" } } },
  { path = "model.layers", type = "integer", min = 1, max = 64, default = 5, unit = "blocks",
    doc = "attention and feed-forward blocks" },
  { path = "model.heads", type = "integer", min = 1, max = 64, default = 8, unit = "heads",
    doc = "attention heads of a block; width / heads is a multiple of 4" },
  { path = "model.width", type = "integer", min = 16, max = 1024, multiple = 16, default = 64, unit = "channels",
    doc = "size of a token's vector" },
  { path = "model.feedforward", type = "integer", min = 16, max = 8192, multiple = 16, default = 256,
    unit = "channels", doc = "hidden size of the feed-forward layers" },
  { path = "model.dropout", type = "number", min = 0, max = 0.99, default = 0.1, unit = "share of elements",
    fingerprints = { "dropout" }, used = features.drops,
    doc = "dropped after attention and after feed-forward, in training" },
  { path = "model.spare_token", type = "boolean", default = true, left_out = true,
    doc = "an embedding that no token has, as in Ruoss et al.'s counts of parameters; computation tokens take it" },
}
