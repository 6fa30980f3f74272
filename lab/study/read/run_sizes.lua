-- The size of a run's model, as columns of tables of runs.
--
-- Input: a run's resolved spec, or nil. Output: { model, layers, width, heads }: the kind of network, blocks over all
-- stacks, channels of a token's vector, heads of a block; fields that the spec lacks are absent.

local M = { FIELDS = { "layers", "width", "heads" } }

function M.of(spec)
  local model = spec and spec.model or {}
  local layers = model.layers or model.decoder_layers and (model.encoder_layers or 0) + model.decoder_layers
  return { model = model.kind, layers = layers, width = model.width, heads = model.heads }
end

return M
