-- Derives the parts of a plan about the network without its encoding: dimensions, families of attentions, dropout, and
-- the tokens that the model adds to the task's symbols.
--
-- Input: a plan with its resolved spec and task. Output of M.derive:
--   layers          the number of layers of all stacks
--   width           the channels of a token's vector
--   feedforward     the channels of the hidden layer of a feed-forward part; 0 without this part
--   readout         the tokens at which answers are read: model.readout, by default "outputs"
--   streams         the sequences of tokens that the model processes: { name, index }, index from 0
--   shard_sequences   the largest number of sequences of a shard
--   block_tokens    the number of tokens that the CPU computes together, layer after layer
--   classes         the number of output symbols
--   class_columns   `classes`, rounded up to whole vectors
--   real_bytes      the bytes of a number
--   dropout         the dropout of branches (M.plan_dropout)
--   cuts_by_warp    whether device code divides matrix products among warps (device_products = "warps")
--   part_start      C text of the call that returns where the computed part of a sequence begins, such as
--                   "part_start(w, part)"
--   tokens          the number of tokens of the vocabulary
--   tokens_text     words for the tokens of the vocabulary
--   computation, empty_token, decoder, reading, token_constants   see the comment of the local table `vocabularies`
-- M.attentions gives, for each kind of model, the families that a description of a network may name (a description is a
-- function that builds the network: model_network.lua). A family consists of the attentions at one place in the block,
-- over all layers of a stack. encoding_facets.lua adds its facets. Fields of a family:
--   name           its name, such as "self"; names of functions and types in generated code contain it
--   spec_name      its name in the spec, the same in all models of a kind
--   title          its name for users
--   prefix, PREFIX   the prefixes of its members in shared structs and of its constants, such as "cross_" and "CROSS_";
--                  "" if the model has a single family
--   stack          names in C for the layers that contain it: count (a constant), parameters (a type), member (the name
--                  of their array in structs), state (a type)
--   queries, keys  the two sides: { stream, stream_prefix }; stream_prefix: the prefix of the stream's length in the
--                  workspace
--   cross          whether the sides differ: queries [WIDTH], keys and values [2 WIDTH] are then in separate rows
--   causal         whether no query may see keys after it
--   is_decoded     whether decoding computes the queries of new tokens alone: then calls pass a range of queries
--   caches_tiles   whether decoding also caches keys and values in tiles, for queries that come one at a time
--   computes_labelled_tokens   whether the last layer computes only tokens whose results are read (labelled_rows.lua)
--   recomputed     false, or how the backward pass recomputes weights on the CPU: recomputed_weights.lua
--   has_query_bounds   whether the kernels compute a range of queries within a sequence, since the family
--                  computes_labelled_tokens or recomputes its weights for some queries at a time
--   layers         the number of its layers
--   repetitions    `layers`; in a model with loops, `layers` times the number of passes that store values
--   heads, head_width   the number of its heads, and the channels of a head
--   head_part      the largest power of two that divides head_width
--   dropout_rate   the dropout rate of its weights, or nil
--   first_site     its first site in the counter of random numbers

local common = require("spec.fields.common")
local spec_families = require("spec.families")
local lists = require("base.lists")
local vector_width = require("base.vector_width")

local M = {}

-- The record of a dropout for templates. name: the prefix of its constants in C. The field `threshold` is the number of
-- random words, of 65536 possible ones, that drop an element.
function M.plan_dropout(name, rate)
  return (not rate or rate == 0) and { kind = "none" } or {
    kind = "bernoulli",
    name = name,
    rate_text = string.format("%.9g", rate),
    threshold = math.floor(65536 * rate + 0.5),
    keep_scale = 1 / (1 - rate),
  }
end

-- Facts about the computation token; false if there is none. For each token of the input, `times` computation tokens
-- are added. Fields:
--   token    the index of the computation token in the vocabulary
--   text     words for the computation tokens of one token
--   times_text   C text that multiplies a count by `times`
--   tokens_per_symbol   the number of tokens for one symbol of the input: its token and the computation tokens
local function plan_computation(times, token)
  return times and {
    token = token,
    text = times > 1 and times .. " computation tokens" or "a computation token",
    times_text = times > 1 and times .. " * " or "",
    tokens_per_symbol = times + 1,
  } or false
end

local READOUTS = { probe = "The encoder reads the input; the answer is read at the probe token.",
  last = "The encoder reads the input; the answer is read at its last token.",
  in_place = "The encoder reads the input; an answer is read at each of its tokens." }
local READINGS = { decoder = "The decoder reads the input, %sa separator and the target",
  encoder_decoder = "The encoder reads the input, %sthe decoder a separator and the target" }

-- The tokens that the model adds to the task's symbols, as members of a C enum.
local function write_constants(computation, other_constants)
  return (computation and ("COMPUTATION_TOKEN = %d, "):format(computation.token) or "") .. other_constants
end

-- Functions, by the kind of a model, that give the fields about the vocabulary: tokens, tokens_text, and
--   computation       facts about the computation token (plan_computation), or false
--   empty_token       the token at which an output is read, or false
--   decoder           { first_output, separator }, the tokens of the first output symbol and of the separator; or false
--   reading           sentences about what the model reads
--   token_constants   the members of a C enum for the model's own tokens
-- inputs: the number of input symbols; times: the number of computation tokens for each token of the input, or nil.
local vocabularies = {}

-- After the input symbols come the computation token, if there is one, and the empty token. Without a computation token
-- an unused token takes its place, unless model.spare_token is false or the embedding is linear. A model with a readout
-- has none of these tokens: check_readout (spec/rules/rules.lua) refuses computation tokens with a readout.
function vocabularies.encoder(plan, inputs, times)
  local model = plan.resolved.model
  if model.readout then
    return { computation = false, tokens = inputs, tokens_text = "input symbols",
      empty_token = false, decoder = false, reading = READOUTS[model.readout],
      token_constants = model.readout == "probe" and ("PROBE = %s"):format(plan.task.probe) or "" }
  end
  local has_spare = times or model.spare_token ~= false and model.embedding ~= "linear"
  local count = inputs + (has_spare and 2 or 1)
  local text = times and "input symbols, the computation token, the empty output"
    or has_spare and "input symbols, an unused symbol, the empty output" or "input symbols, the empty output"
  local computation = plan_computation(times, inputs)
  return { computation = computation, tokens = count, tokens_text = text, empty_token = count - 1, decoder = false,
    reading = ("The encoder reads the input, %sone empty token per output; the answers are read at the empty tokens.")
      :format(times and computation.text .. " for each of its tokens, then " or "then "),
    token_constants = write_constants(computation, "EMPTY_TOKEN = " .. count - 1) }
end

-- After the input symbols come the symbols of the target, unless input and target share an alphabet; the computation
-- token, if there is one; and the separator, unless the task has a symbol for it.
function vocabularies.decoder(plan, inputs, times)
  local shared, start = plan.task.has_shared_symbols, plan.task.start
  local symbol_count = inputs + (shared and 0 or plan.task.output_count)
  local computation = plan_computation(times, symbol_count)
  local count = symbol_count + (times and 1 or 0) + (start and 0 or 1)
  local text = (shared and "the symbols of inputs and outputs" or "input symbols, output symbols")
    .. (times and ", the computation token" or "") .. (start and "" or ", the separator")
  local first_output, separator = shared and 0 or inputs, start or count - 1
  return { computation = computation, tokens = count, tokens_text = text, empty_token = false,
    decoder = { first_output = first_output, separator = separator },
    reading = READINGS[plan.resolved.model.kind]:format(times and computation.text .. " for each of its tokens, " or "")
      .. " without its last token. Each token from the separator on predicts the next token of the target.",
    token_constants = write_constants(computation, ("FIRST_OUTPUT = %d, SEPARATOR = %d"):format(first_output,
      separator)) }
end

-- A recurrent model has the encoder's tokens, without the unused token.
function vocabularies.recurrent(_, inputs, times)
  local count, computation = inputs + (times and 2 or 1), plan_computation(times, inputs)
  return { computation = computation, tokens = count, empty_token = count - 1, decoder = false,
    tokens_text = ("input symbols, %sthe empty output"):format(times and "the computation token, " or ""),
    reading = ("The model reads the input, %sone empty token per output; the answers are read at the empty tokens.")
      :format(times and computation.text .. " for each of its tokens, then " or "then "),
    token_constants = write_constants(computation, "EMPTY_TOKEN = " .. count - 1) }
end

-- An encoder-decoder has the decoder's tokens; its input, followed by computation tokens, is a separate stream.
vocabularies.encoder_decoder = vocabularies.decoder

local LAYERS = { count = "LAYERS", parameters = "layer_parameters", member = "layer", state = "layer_state" }
local INPUT = { stream = 0, stream_prefix = "" }
local SOURCE, TARGET = { stream = 0, stream_prefix = "source." }, { stream = 1, stream_prefix = "target." }

-- A family, without the fields that depend on other families. spec_name: the family's name in the spec, by default
-- `name`; layers: the number of its layers, by default all layers of the plan.
local function make_family(plan, name, queries, keys, causal, spec_name, layers)
  local model = plan.resolved.model
  local heads = model.heads or 1
  local head_width = model.width // heads
  return { name = name, spec_name = spec_name or name, stack = LAYERS, layers = layers or plan.layers,
    title = name, queries = queries, keys = keys,
    cross = queries ~= keys, causal = causal or false, heads = heads, head_width = head_width,
    head_part = head_width & -head_width, dropout_rate = model.attention_dropout }
end

-- The families of encodings by layer: the entries of families.list_layers, with their names in generated code. If the
-- last repetition of the list of encodings is incomplete, it has families of its own (is_last).
function M.list_layer_families(plan)
  local function name_entries(list, ending)
    return lists.map(list, function(entry)
      return lists.merge(entry, { name = entry.name:gsub("layer", "self") .. ending, spec_name = entry.name,
        is_last = ending ~= "" })
    end)
  end
  local encoding = plan.resolved.encoding
  return lists.append(name_entries(spec_families.list_layers(encoding), ""),
    name_entries(spec_families.list_last_layers(encoding, plan.layers), "_last"))
end

-- The layers of a family for users, such as "layers 0 to 2 of every 4".
local function describe_layers(plan, entry)
  local last_layer = entry.first + entry.times - 1
  return (last_layer > entry.first and "layers %d to %d" or "layer %d"):format(entry.first, last_layer)
    .. (not entry.is_last and entry.period < plan.layers and (" of every %d"):format(entry.period) or "")
end

-- The self-attentions of an encoder or a decoder: one, or one for each encoding by layer.
local function make_self_families(plan, causal)
  local list = lists.map(M.list_layer_families(plan), function(entry)
    local repetitions = entry.is_last and 1 or plan.layers // entry.period
    local family = make_family(plan, entry.name, INPUT, INPUT, causal, entry.spec_name, repetitions * entry.times)
    family.title = describe_layers(plan, entry)
    return family
  end)
  return list[1] and list or { make_family(plan, "self", INPUT, INPUT, causal) }
end

-- Functions, by the kind of a model, that return the families that a description may name; model_network.lua selects
-- the families that the description names, and finds their blocks.
M.attentions = {
  encoder = function(plan) return make_self_families(plan, false) end,
  decoder = function(plan) return make_self_families(plan, true) end,
  encoder_decoder = function(plan)
    return { make_family(plan, "encoder", SOURCE, SOURCE), make_family(plan, "decoder", TARGET, TARGET, true),
      make_family(plan, "cross", TARGET, SOURCE) }
  end,
}
M.attentions.recurrent = M.attentions.encoder -- no description names this family

-- The family `name` in a block (builder.lua) of a network, with the block's layers and repetitions (with loops,
-- over all passes that store values), and the names of both counts in C.
function M.place_in_block(family, name, block)
  return lists.merge(family, { name = name, layers = block.count, repetitions = block.count * block.stored_loops,
    stack = { count = block.count_name, parameters = block.parameters_type, member = block.name,
      state = block.name .. "_state" } })
end

-- The families of a plan; without attention only plan.first_family, which holds the positions of the tokens.
function M.list_families(plan)
  return plan.attentions[1] and plan.attentions or { plan.first_family }
end

-- Sets the fields of families that depend on the other families of the model: prefix, PREFIX and first_site.
function M.settle_families(families)
  local site = 0
  for _, family in ipairs(families) do
    family.prefix = #families > 1 and family.name .. "_" or ""
    family.PREFIX = family.prefix:upper()
    family.first_site = site
    site = site + family.layers + 1 -- a site for the input, and one for each layer
  end
end

function M.derive(plan)
  local model = plan.resolved.model
  local fields = vocabularies[model.kind](plan, plan.task.input_count, plan.resolved.task.computation)
  fields.layers = model.layers or model.encoder_layers and model.encoder_layers + model.decoder_layers or 1
  fields.width, fields.feedforward, fields.readout = model.width, model.feedforward or 0, model.readout or "outputs"
  fields.part_start = fields.readout == "probe" and "part_start(w, part, s)" or "part_start(w, part)"
  fields.classes, fields.real_bytes = plan.task.output_count, plan.precision == "float64" and 8 or 4
  fields.class_columns = vector_width.round_up(fields.classes)
  fields.cuts_by_warp = plan.resolved.device_products == "warps"
  fields.shard_sequences = (plan.resolved.train.batch + plan.resolved.train.shards - 1) // plan.resolved.train.shards
  fields.block_tokens = plan.resolved.train.block_tokens or common.BLOCK_TOKENS
  fields.streams = { { name = "source", index = 0 }, model.kind == "encoder_decoder" and { name = "target", index = 1 }
    or nil }
  fields.dropout = M.plan_dropout("BRANCH", model.dropout)
  return fields
end

return M
