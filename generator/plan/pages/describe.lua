-- Words about a plan: its encoding in a sentence, and the comments at the head of generated files.
--
-- Input: a plan. Output: text, or lines of text.

local canonical = require("base.canonical")
local lists = require("base.lists")
local facets = require("facets.modules")
local wording = require("base.wording")

local M = {}

local BANNER_COLUMNS = 117 -- 120 with the comment's margin

local function describe_family(plan, family)
  local parts, phrases = facets.collect("describe", family, plan), facets.collect("describe_details", family, plan)
  if #parts == 0 and not family.score_text then
    parts[1] = "no positional encoding"
  end
  if parts[1] then
    table.insert(phrases, 1, table.concat(parts, ", "))
  end
  return table.concat(phrases, "; ")
end

-- Describes the encoding of a family. Without a family, describes the encodings of all families, once if all are equal.
function M.describe_encoding(plan, family)
  if family then
    return describe_family(plan, family)
  end
  local texts = lists.map(plan.attentions, function(attention) return describe_family(plan, attention) end)
  local are_equal = #lists.drop_repeats(texts) <= 1
  if are_equal then
    return texts[1] or describe_family(plan, plan.first_family)
  end
  return table.concat(lists.map(texts, function(text, i)
    return ("%s: %s"):format(plan.attentions[i].title, text)
  end), "; ")
end

local KINDS = { decoder = "a decoder", encoder_decoder = "an encoder-decoder", recurrent = "a recurrent network" }

local BIASES = { all = "biases in all products", none = "no biases" }

local READOUTS = { last = "answers at the last token of the input", probe = "answers at the probe token",
  in_place = "answers at every token of the input" }
-- The labelled tokens, by the readout; every other readout labels the last tokens.
local LABELLED_TOKENS = { probe = "the probe token", in_place = "every token" }

-- The sizes of a model in words. For a user's own network, sizes that the network does not read are left out, except
-- the width. Heads are described for the first family, since all families of a model have equal heads.
function M.describe_sizes(plan)
  local read_sizes, family, words = plan.network_sizes, plan.first_family, {}
  local function add(name, text)
    words[#words + 1] = (not read_sizes or read_sizes[name]) and text or nil
  end
  add("layers", wording.format_layers(plan.resolved.model))
  add("heads", ("%s x %d"):format(wording.count(family.heads, "head"), family.head_width))
  words[#words + 1] = ("width %d"):format(plan.width)
  add("feedforward", ("feed-forward %d"):format(plan.feedforward))
  return table.concat(words, ", ")
end

-- Phrases for the model's fields other than sizes, each after a comma; "" if there are none.
function M.describe_model(plan)
  local model, words = plan.resolved.model, {}
  local norm = model.norm or {}
  local function add(text)
    words[#words + 1] = text or nil
  end
  add(KINDS[model.kind])
  add(model.cell)
  add(plan.own_network and "network " .. plan.own_network.path)
  for _, name in ipairs(canonical.sort_keys(model.options or {})) do
    add(("%s = %s"):format(name, tostring(model.options[name])))
  end
  add(norm.place and norm.place .. "-norm")
  add(norm.kind == "rms" and "RMS norm")
  add(norm.embedding and "norm of the embedding")
  add(model.embedding == "linear" and "linear embedding")
  add(model.activation)
  add(model.branch_activation and model.branch_activation .. " after the feed-forward part")
  add(BIASES[model.bias])
  add(model.init and "initial values of " .. model.init)
  add(model.output == "feedforward" and "a feed-forward part before the output layer")
  add(model.output_bias == false and "no bias in the output")
  add(model.tied and "tied output")
  add(READOUTS[model.readout])
  return #words > 0 and ", " .. table.concat(words, ", ") or ""
end

local function make_sentence(text)
  return text:sub(1, 1):upper() .. text:sub(2) .. "."
end

-- Comment lines: each text starts a line; a text that is too long continues on the next line.
local function wrap(...)
  return lists.collect({ ... }, function(text)
    return wording.fill_lines(lists.find_all(text, "%S+"), BANNER_COLUMNS)
  end)
end

local function make_family_comments(plan)
  local attention, score = {}, {}
  for _, family in ipairs(plan.attentions) do
    local lines = facets.collect("describe_attention", family)
    lines[#lines + 1] = make_sentence(M.describe_encoding(plan, family))
    attention[family.name] = wrap(table.unpack(lines))
    score[family.name] = family.score.formula and wrap("The score of a pair of tokens, from its logit; terms that "
      .. "do not need the logit are in tables.", "score = " .. family.score.formula)
  end
  return attention, score
end

local function make_flops_comment(plan)
  local sentences = lists.map(plan.flops.streams, function(stream)
    local owner = plan.streams[2] and " of " .. stream.name or ""
    return ("Every token%s is multiplied by %d weights: %s."):format(owner, stream.weights, stream.products)
  end)
  sentences[#sentences + 1] = ("Attention multiplies, for each of %s, %s."):format(
    plan.streams[2] and "the pairs" or "T^2 pairs", plan.flops.pairs_text)
  return wrap(table.unpack(sentences))
end

-- The comments of generated files, as lists of lines: by file, and for attention and score by family.
function M.make_comments(plan)
  local size = string.format("%s, %s%s.", M.describe_sizes(plan), plan.precision, M.describe_model(plan))
  local encoding, attention, score = make_sentence(M.describe_encoding(plan)), make_family_comments(plan)
  return {
    config = wrap("Dimensions and the layout of the parameters.", size),
    tuned = wrap(
      "Choices for this model at each instruction-set level. They change no bit, and no digest covers them.",
      "./longhand tune finds the best choices for a machine. See docs/tuning.md."),
    spec = wrap("This experiment's description for the runtime: tensors, task, instruction-set levels.",
      string.format("%d parameters.", plan.parameters)),
    defaults = wrap("Defaults of the trainer's flags, and the resolved spec for its records.",
      "They change no code: for a spec that differs only in them, ./longhand build replaces this text in the existing "
        .. "trainer. See runtime/training/defaults.h."),
    step = wrap("One training step and one forward pass, block by block.", size, encoding),
    attention = attention,
    score = score,
    device = wrap(plan.cuda.products == "library"
      and "Device code: training and evaluation, phase by phase; a library computes matrix products between phases, "
        .. "over the whole batch. A block runs a phase for one shard; blocks synchronise where gradients are summed."
      or "Device code: training, many steps per launch, and evaluation. A block processes one shard of the batch, "
        .. "forward and backward through all layers; blocks synchronise where gradients are summed.", size, encoding),
    cuda = wrap("The device code's description for the runtime: kernels, memory, draws, position tables."),
    layers = wrap((plan.is_step_major and "The recurrence over one block of sequences, forward and backward."
      or "The %s's layers over one block of sequences, forward and backward."):format(
        (plan.resolved.model.kind:gsub("_", "-"))), size),
    trace = wrap(plan.attentions[1] and "One forward pass that stores activations, scores and attention."
      or "One forward pass that stores activations.", size, encoding),
    decode = wrap("Decoding: a few tokens of each sequence at a time pass through all layers, which cache keys "
      .. "and values.", size, encoding),
    flops = make_flops_comment(plan),
    loss = wrap(("Softmax cross-entropy over %d classes at %s of each sequence%s."):format(plan.classes,
      LABELLED_TOKENS[plan.readout] or "the last tokens",
      plan.task.excludes_masked_labels and ", without masked labels" or "")),
  }
end

return M
