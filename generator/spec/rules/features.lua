-- What a resolved spec makes use of, where more than one field decides it.
--
-- Input: the resolved spec; defaults of fields ask while it is being resolved, when a later facet may be missing.
-- Output: yes or no.

local M = {}

-- The value at a path; nil also where a table on the way is missing.
function M.value_at(resolved, path)
  local value = resolved
  for name in path:gmatch("[^%.]+") do
    value = type(value) == "table" and value[name] or nil
  end
  return value
end

-- Whether the model has attention in which no query may see what is behind it, whatever the encoding's mask says.
function M.is_causal(resolved)
  local kind = M.value_at(resolved, "model.kind")
  return kind == "decoder" or kind == "encoder_decoder"
end

-- Whether a mask alone hides keys: lines do so in its place.
function M.hides_by_a_mask(resolved)
  local kind, lines = M.value_at(resolved, "encoding.mask.kind") or "full", M.value_at(resolved, "encoding.lines")
  return (kind ~= "full" or M.is_causal(resolved)) and not (lines and #lines.list > 0)
end

function M.is_randomized(resolved)
  return resolved.encoding.positions.kind == "randomized"
end

-- Whether the score reads what can be drawn: x.distance, x.query or x.key in the text of its formula.
function M.score_reads_positions(resolved)
  for word in (resolved.encoding.score or ""):gmatch("%f[%w_]x%.([%w_]+)") do
    if word == "distance" or word == "query" or word == "key" then
      return true
    end
  end
  return false
end

-- Whether something reads the signed distance of a pair.
function M.distances_are_read(resolved)
  local relative = resolved.encoding.relative
  return relative ~= nil and relative.kind ~= "none" or M.score_reads_positions(resolved)
end

function M.positions_are_read(resolved)
  local encoding = resolved.encoding
  return encoding.additive.kind ~= "none" or encoding.rotation.kind ~= "none" or M.distances_are_read(resolved)
end

-- Whether positions are drawn: distances that are drawn themselves need none.
function M.draws_places(resolved)
  local encoding = resolved.encoding
  return M.is_randomized(resolved) and (encoding.additive.kind ~= "none" or encoding.rotation.kind ~= "none"
    or encoding.positions.reading == "difference" and M.distances_are_read(resolved))
end

-- Whether positions are drawn for every sequence of a batch.
function M.draws_by_sequence(resolved)
  return M.is_randomized(resolved) and resolved.encoding.positions.draw == "sequence"
end

-- Whether parameters decay beside the optimiser's step.
function M.decays(resolved)
  return (M.value_at(resolved, "train.optimizer.weight_decay") or 0) > 0
end

-- How long the learning rate falls, as the spec counts it: { steps } or { epochs }; nil where it does not.
function M.falls_over(resolved)
  local train = resolved.train
  if not train.schedule or train.schedule.kind == "constant" then
    return nil
  end
  return { steps = train.steps, epochs = train.epochs }
end

-- The rates at which something is dropped out in training, each with its field; the embedding has one, in two fields.
function M.dropouts(resolved)
  local model, additive = resolved.model, resolved.encoding.additive
  local of_model = model.embedding_dropout ~= nil
  return {
    { "model.dropout", model.dropout },
    { "model.attention_dropout", model.attention_dropout or 0 },
    { "model.hidden_dropout", model.hidden_dropout or 0 },
    { of_model and "model.embedding_dropout" or "encoding.additive.dropout",
      of_model and model.embedding_dropout or additive.dropout or 0 },
  }
end

-- How much the standard deviations of eval.by.noise are: "absolute", "relative"; nil: embeddings have no noise.
function M.noise(resolved)
  return M.value_at(resolved, "eval.by.noise") and (resolved.eval.noise or "absolute") or nil
end

-- Whether something is dropped out in training.
function M.drops(resolved)
  for _, entry in ipairs(M.dropouts(resolved)) do
    if entry[2] > 0 then
      return true
    end
  end
  return false
end

return M
