-- Predicates and other facts of a resolved spec that depend on more than one field. facets/predicates.lua has
-- the predicates that depend on facets.
--
-- Input: the resolved spec. settle.lua calls M.is_causal during resolution, when sections may be missing. Output: a
-- boolean, or a value of the spec.

local lists = require("base.lists")

local get = lists.get

local M = {}

-- Whether the model has attention in which no query may see later keys, whatever the encoding's mask.
function M.is_causal(resolved)
  local kind = get(resolved, "model.kind")
  return kind == "decoder" or kind == "encoder_decoder"
end

-- Whether parameters decay separately from the optimiser's step.
function M.has_weight_decay(resolved)
  return (get(resolved, "train.optimizer.weight_decay") or 0) > 0
end

-- The duration of the learning rate's fall, in the unit of the spec: { steps } or { epochs }; nil if the rate is
-- constant.
function M.get_fall(resolved)
  local train = resolved.train
  return train.schedule and train.schedule.kind ~= "constant" and { steps = train.steps, epochs = train.epochs } or nil
end

-- The dropout rates in training: { { path of the field, rate }, ... }. The embedding's rate is in one of two fields.
function M.list_dropouts(resolved)
  local model, additive = resolved.model, resolved.encoding.additive
  local is_in_model = model.embedding_dropout ~= nil
  return {
    { "model.dropout", model.dropout or 0 },
    { "model.attention_dropout", model.attention_dropout or 0 },
    { "model.hidden_dropout", model.hidden_dropout or 0 },
    { is_in_model and "model.embedding_dropout" or "encoding.additive.dropout",
      is_in_model and model.embedding_dropout or additive.dropout or 0 },
  }
end

-- Whether passes of a model with loops start from noise.
function M.starts_from_noise(resolved)
  return get(resolved, "model.loops.start") == "noise"
end

-- The unit of the standard deviations in eval.by.noise: "absolute" or "relative"; nil if embeddings have no noise.
function M.get_noise_unit(resolved)
  return get(resolved, "eval.by.noise") and (resolved.eval.noise or "absolute") or nil
end

-- Whether anything is dropped out in training.
function M.has_dropout(resolved)
  return lists.any(M.list_dropouts(resolved), function(entry) return entry[2] > 0 end)
end

return M
