-- Words about a plan: its encoding in a sentence, and the comments at the head of generated files.
--
-- Input: a plan. Output: text, or lines of it. Nothing is decided here.

local canonical = require("base.canonical")
local wording = require("base.wording")

local M = {}

local BANNER_COLUMNS = 97 -- 100 with the comment's margin

-- What is added to the vectors of tokens, or nil.
local function added_words(additive)
  if additive.kind == "none" then
    return nil
  end
  local what = additive.kind == "sinusoid" and (additive.grid and "sinusoids of column and row"
      or additive.period and ("sinusoids of the position modulo %d"):format(additive.period) or "sinusoids")
    or additive.frozen and "random vectors" or "learned vectors"
  return ("%s are added to the %s"):format(what, additive.in_blocks and "input of every block" or "token embedding")
end

local RELATIVE = {
  transformer_xl = "logits have vectors of the signed distance, with content and position bias",
  shaw = "keys have a learned vector of the distance, the same beyond %d",
  left = "keys up to the query have a learned vector of the distance, the same beyond %d",
}

local DISTANCES = {
  drawn = "ascending distances drawn from 1 .. %d",
  clamped = "ascending distances p drawn from 1 .. %d, read as %d - p to the left and as %d elsewhere",
  difference = "distances are differences of positions",
}

-- What positions are drawn from: of a family, or of what is added to tokens.
local function positions_words(positions)
  return string.format("%s positions drawn from %d .. %d%s", positions.sorted and "sorted" or "unsorted",
    positions.first, positions.max_position - 1, positions.kind == "sequence" and " for every sequence" or "")
end

-- How positions and distances are drawn, or nil.
local function drawn_words(family)
  local positions, parts = family.positions, {}
  if positions.range then
    parts[1] = positions_words(positions)
  end
  local words = DISTANCES[positions.distance.kind]
  if words then
    local most = positions.max_position or positions.distance.max_position
    parts[#parts + 1] = words:format(most - 1, most, most - 1)
      .. (positions.distance.independent and ", each side by itself" or "")
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

-- What the products around attention have that is not as usual, or nil.
local function projection_words(own)
  local words = {}
  if own.bias ~= nil then
    words[1] = own.bias and "biases in its products" or "no biases in its products"
  end
  words[#words + 1] = own.output == false and "no product of its output" or nil
  return words[1] and "attention has " .. table.concat(words, " and ") or nil
end

-- The additive encoding and the facets of a family.
local function family_encoding(plan, family)
  local apart = plan.input_draw and plan.input_draw.apart
  local parts = { added_words(plan.additive) }
  if apart then
    parts[1] = ("%s, at %s"):format(parts[1], positions_words(plan.input_draw))
  end
  if family.relative.kind ~= "none" then
    parts[#parts + 1] = RELATIVE[family.relative.left and "left" or family.relative.kind]:format(family.relative.clip)
  end
  if family.rotation.kind == "rope" then
    local scaling = family.rotation.scaling
    parts[#parts + 1] = "queries and keys are rotated (base " .. family.rotation.base_text
      .. (scaling.about and ", " .. scaling.about or "")
      .. (family.positions.period and (", the position modulo %d"):format(family.positions.period) or "") .. ")"
  end
  if family.normaliser.kind == "geometric" then
    parts[#parts + 1] = ("geometric attention, %s%s"):format(
      family.normaliser.directional and "with directional encoding, " or "",
      family.normaliser.normalised and "weights divided by their sum" or "weights not divided by their sum")
  end
  if #parts == 0 and not family.score_text then
    parts[1] = "no positional encoding"
  end
  local phrases = { #parts > 0 and table.concat(parts, ", ") or nil }
  phrases[#phrases + 1] = drawn_words(family)
  phrases[#phrases + 1] = family.mask.about
  phrases[#phrases + 1] = (family.normaliser.temperature or 1) ~= 1
    and ("softmax at a temperature of %.9g"):format(family.normaliser.temperature) or nil
  phrases[#phrases + 1] = projection_words(family.projections)
  phrases[#phrases + 1] = family.score_text and "score = " .. family.score_text
  return table.concat(phrases, "; ")
end

-- The same of a family, or of all: in one sentence where they are alike.
function M.encoding(plan, family)
  if family then
    return family_encoding(plan, family)
  end
  local words, alike = { family_encoding(plan, plan.first) }, true
  for i, each in ipairs(plan.attentions) do
    words[i] = family_encoding(plan, each)
    alike = alike and words[i] == words[1]
  end
  if alike then
    return words[1]
  end
  for i, each in ipairs(plan.attentions) do
    words[i] = ("%s: %s"):format(each.name, words[i])
  end
  return table.concat(words, "; ")
end

-- The labels that the loss is of, where some may be masked.
function M.loss(plan)
  return plan.task.counted and "loss of the labels that count (mask 1)" or "loss of all labels, masked ones, too"
end

local KINDS = { decoder = "a decoder", encoder_decoder = "an encoder-decoder" }

local BIASES = { all = "biases in all products", none = "no biases" }

local READOUTS = { last = "answers at the last token of the input", probe = "answers at the token that is asked for" }

-- The rates at which a model drops out, as words to go on with; those that are not asked for are not named.
function M.dropout(plan)
  local model, words = plan.resolved.model, {}
  if not plan.network_sizes or plan.network_sizes.dropout then
    words[1] = "dropout " .. (plan.dropout.rate_text or "0")
  end
  for _, entry in ipairs({ { "attention_dropout", "of attention's weights" }, { "hidden_dropout", "of hidden numbers" },
    { "embedding_dropout", "of the embedding" } }) do
    local rate = model[entry[1]]
    words[#words + 1] = rate and ("%s %.9g"):format(entry[2], rate) or nil
  end
  return #words > 0 and ", " .. table.concat(words, ", ") or ""
end

-- The sizes of a model; of a network of one's own those that it reads.
function M.sizes(plan)
  local used, family, words = plan.network_sizes, plan.first, {}
  local function add(name, text)
    words[#words + 1] = (not used or used[name]) and text or nil
  end
  add("layers", wording.layers(plan.resolved.model))
  add("heads", ("%s x %d"):format(wording.count(family.heads, "head"), family.head_width))
  words[#words + 1] = ("width %d"):format(plan.width)
  add("feedforward", ("feed-forward %d"):format(plan.feedforward))
  return table.concat(words, ", ")
end

-- What the model is beyond its sizes, where a field says so: words to go on with.
function M.model(plan)
  local model, words = plan.resolved.model, {}
  local norm = model.norm or {}
  words[1] = KINDS[model.kind]
  words[#words + 1] = plan.own_network and "network " .. plan.own_network.path or nil
  for _, name in ipairs(canonical.sorted_keys(model.options or {})) do
    words[#words + 1] = ("%s = %s"):format(name, tostring(model.options[name]))
  end
  words[#words + 1] = norm.place and norm.place .. "-norm" or nil
  words[#words + 1] = norm.kind == "rms" and "RMS norm" or nil
  words[#words + 1] = model.embedding == "linear" and "linear embedding" or nil
  words[#words + 1] = model.activation
  words[#words + 1] = model.branch_activation and model.branch_activation .. " behind the feed-forward part" or nil
  words[#words + 1] = BIASES[model.bias]
  words[#words + 1] = model.init and "first values of " .. model.init or nil
  words[#words + 1] = model.tied and "tied output" or nil
  words[#words + 1] = READOUTS[model.readout]
  return #words > 0 and ", " .. table.concat(words, ", ") or ""
end

local function sentence(text)
  return text:sub(1, 1):upper() .. text:sub(2) .. "."
end

-- Comment lines: each sentence starts one and goes on where it is too long for the banner.
local function wrapped(...)
  local lines = {}
  for _, text in ipairs({ ... }) do
    local line = ""
    for word in text:gmatch("%S+") do
      if line ~= "" and #line + 1 + #word > BANNER_COLUMNS then
        lines[#lines + 1] = line
        line = word
      else
        line = line == "" and word or line .. " " .. word
      end
    end
    lines[#lines + 1] = line
  end
  return lines
end

local ATTENDS = {
  softmax = "%s-attention over whole sequences, forward and backward: softmax(q k / sqrt(head width)) v.",
  geometric = "%s-attention over whole sequences, forward and backward: every query tries keys outwards until one "
    .. "matches, right before left at every distance.",
}

-- Those of the files of each family, by its name.
local function family_comments(plan)
  local attention, score = {}, {}
  for _, family in ipairs(plan.attentions) do
    attention[family.name] = wrapped(ATTENDS[family.normaliser.kind]:format(family.cross and "Cross" or "Self"),
      sentence(M.encoding(plan, family)))
    score[family.name] = family.score.formula and wrapped("The score of a pair of tokens, from its logit: tables of "
      .. "what does not need the logit, and the rest.", "score = " .. family.score.formula)
  end
  return attention, score
end

local function flops_comment(plan)
  local sentences = {}
  for i, stream in ipairs(plan.flops.streams) do
    local of = plan.streams[2] and " of " .. stream.name or ""
    sentences[i] = ("Every token%s is multiplied by %d weights: %s."):format(of, stream.weights, stream.products)
  end
  sentences[#sentences + 1] = ("Attention multiplies %s by %s."):format(plan.streams[2] and "pairs" or "T^2 pairs",
    plan.flops.pairs_text)
  return wrapped(table.unpack(sentences))
end

function M.comments(plan)
  local size = string.format("%s, %s%s.", M.sizes(plan), plan.precision, M.model(plan))
  local encoding, attention, score = sentence(M.encoding(plan)), family_comments(plan)
  return {
    config = wrapped("Dimensions and the layout of the parameters.", size),
    tuned = wrapped("What was chosen for this model at each level and changes no bit: it is in no digest.",
      "./longhand tune searches for the best on a machine. See docs/tuning.md."),
    spec = wrapped("What the runtime knows of this experiment: tensors, task, instruction-set levels.",
      string.format("%d parameters.", plan.parameters)),
    defaults = wrapped("What a trainer does unless a flag says otherwise, and the resolved spec for its records.",
      "Nothing here changes the code: where a spec differs in this alone, ./longhand build writes the text into the "
        .. "trainer that is there. See runtime/training/defaults.h."),
    step = wrapped("One training step and one forward pass, block by block.", size, encoding),
    attention = attention,
    score = score,
    device = wrapped(plan.cuda.products == "library"
      and "Device code: training and evaluation, phase by phase; products of matrices are made between them, over the "
        .. "whole batch. A block does a phase for a shard; blocks meet where gradients are folded."
      or "Device code: training, many steps at a launch, and evaluation. A block takes a shard of the "
        .. "batch through all layers and back; blocks meet where gradients are folded.", size, encoding),
    cuda = wrapped("What the runtime knows of the device code: kernels, memory, draws, position tables."),
    layers = wrapped(("The %s's layers over one block of sequences, forward and backward."):format(
      (plan.resolved.model.kind:gsub("_", "-"))), size),
    trace = wrapped("One forward pass that keeps what evaluation forgets: activations, scores, attention.", size,
      encoding),
    decode = wrapped("Decoding: a few tokens of each sequence through all layers at a time, which keep keys and "
      .. "values.", size, encoding),
    flops = flops_comment(plan),
    loss = wrapped(("Softmax cross-entropy over %d classes at %s of each sequence%s."):format(plan.classes,
      plan.readout == "probe" and "the token that is asked for" or "the last tokens",
      plan.task.counted and ", masked labels apart" or "")),
  }
end

return M
