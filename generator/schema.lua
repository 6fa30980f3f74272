-- THE table of all fields of a spec. Error messages, `fields` and the tests come from it.
--
-- Input: none. Output: M.fields, in the order in which they are resolved and printed; M.at by path; M.children by path.
-- An entry is
--   path, doc      where it stands, one line on what it says
--   type           table, kind, choice, integer, number, boolean, lengths, keep, score, parameters, source (a C file
--                  of the user's), file (any other), symbols, options
--   default        a value, or a function of the spec resolved so far; `default_text` then says it in words
--   required       true: has no default; optional: true: absent unless given
--   min, max       inclusive; above, below: exclusive; multiple: of what
--   unit           what a number counts
--   left_out       a kind whose table, or a value that, stays out of the resolved spec: the same spec, written or not
--   choices        legal strings
--   kinds          (type kind) the variants { name, doc, fingerprints }; `of = "tasks"`: the tasks that were found.
--                  One may have `used`, a function of the resolved spec: false where the kind is on and leaves no code,
--                  and `shared`, likewise: true where another feature uses the same code
--   with           the field of its table that it belongs to: without that one it is an error
--   only           the kinds of its table which have this field; nil: all
--   more           lines of documentation for `fields`
--   fingerprints   identifiers that appear in rendered code only while the feature is on: its field has a value, and
--                  `used`, a function of the resolved spec, is true where there is one
-- Invariants: pure data and pure functions; a default reads only fields that come earlier in the list.

local diagnostics = require("diagnostics")
local parameters = require("expression.parameters")
local traced = require("expression.traced")

local M = {}

local MOST = 2147483647 -- 2^31 - 1
M.LONGEST = 100000 -- of a task length
M.LONGEST_DATA = 512 -- task.longest unless given

-- A default that repeats an earlier field.
local function same_as(path)
  return function(resolved)
    local value = resolved
    for name in path:gmatch("[^%.]+") do
      value = type(value) == "table" and value[name] or nil
    end
    return value
  end
end

-- The default of a field that stays out of the resolved spec unless it is given: what it follows is derived later.
local function settled_by_the_plan()
  return nil
end

local function draws(resolved)
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

-- Whether positions are drawn for every sequence of a batch.
function M.draws_by_sequence(resolved)
  local positions = resolved.encoding.positions
  return positions.kind == "randomized" and positions.draw == "sequence"
end

-- Whether something is dropped out in training.
function M.drops(resolved)
  return resolved.model.dropout > 0 or (resolved.encoding.additive.dropout or 0) > 0
end

function M.positions_are_read(resolved)
  local encoding = resolved.encoding
  return encoding.additive.kind ~= "none" or encoding.rotation.kind ~= "none" or M.distances_are_read(resolved)
end

-- Whether positions are drawn: distances that are drawn themselves need none.
function M.draws_places(resolved)
  local encoding = resolved.encoding
  return encoding.positions.kind == "randomized" and (encoding.additive.kind ~= "none"
    or encoding.rotation.kind ~= "none" or encoding.positions.reading == "difference"
    and M.distances_are_read(resolved))
end

local function masks(resolved, kind)
  local mask = resolved.encoding.mask
  return mask ~= nil and mask.kind == kind
end

M.fields = {
  { path = "precision", type = "choice", choices = { "float32", "tf32", "bf16", "float64" }, default = "float32",
    doc = "float64: for gradient checks; tf32, bf16: on a GPU products round what they multiply, the rest is float32" },

  { path = "task", type = "table", required = true, doc = "what is learnt" },
  { path = "task.kind", type = "kind", of = "tasks", optional = true,
    doc = "the sampler: runtime/data/tasks/<kind>.c; a task has one of kind, source and data" },
  { path = "task.source", type = "source", optional = true,
    doc = "a sampler of your own, relative to the spec file (docs/own-task.md)" },
  { path = "task.data", type = "file", optional = true,
    doc = "a file of examples, JSON lines, relative to the spec file (docs/own-task.md)" },
  { path = "task.eval", type = "file", optional = true, with = "data",
    doc = "another such file, to evaluate; absent: the training examples" },
  { path = "task.input_symbols", type = "symbols", optional = true, with = "data",
    doc = "the alphabet of inputs: tokens are below its size" },
  { path = "task.output_symbols", type = "symbols", optional = true, with = "data",
    doc = "the alphabet of targets" },
  { path = "task.longest", type = "integer", min = 2, max = 100000, optional = true, with = "data", unit = "tokens",
    doc = "the most that an input and its target have together; with data, 512 unless given" },
  { path = "task.options", type = "options", default = settled_by_the_plan,
    default_text = "the first choice of each option", doc = "what a task leaves open, by name: ./longhand list tasks" },
  { path = "task.computation", type = "integer", min = 0, max = 1000, default = 0, left_out = 0,
    unit = "tokens per input token",
    doc = "tokens without content between the input and the outputs: room to compute" },

  { path = "model", type = "table", doc = "the network" },
  { path = "model.kind", type = "kind", default = "encoder", doc = "its form",
    kinds = { { name = "encoder", doc = "bidirectional encoder, layer norm after each block" } } },
  { path = "model.layers", type = "integer", min = 1, max = 64, default = 5, unit = "blocks",
    doc = "attention and feed-forward blocks" },
  { path = "model.heads", type = "integer", min = 1, max = 64, default = 8, unit = "heads",
    doc = "attention heads of a block; width / heads is a multiple of 4" },
  { path = "model.width", type = "integer", min = 16, max = 1024, multiple = 16, default = 64, unit = "channels",
    doc = "size of a token's vector" },
  { path = "model.feedforward", type = "integer", min = 16, max = 8192, multiple = 16, default = 256,
    unit = "channels", doc = "hidden size of the feed-forward layers" },
  { path = "model.dropout", type = "number", min = 0, max = 0.99, default = 0.1, unit = "share of elements",
    fingerprints = { "dropout" }, doc = "dropped after attention and after feed-forward, in training" },
  { path = "model.spare_token", type = "boolean", default = true, left_out = true,
    doc = "an embedding that no token has, as in Ruoss et al.'s counts of parameters; computation tokens take it" },

  { path = "encoding", type = "table", doc = "how the network learns where tokens stand; absent: it does not" },
  { path = "encoding.rotation", type = "table", doc = "how queries and keys turn with the position" },
  { path = "encoding.rotation.kind", type = "kind", default = "none", doc = "its form",
    kinds = {
      { name = "none", doc = "they do not" },
      { name = "rope", fingerprints = { "rotate", "rotation" }, doc = "adjacent pairs of channels turn" },
    } },
  { path = "encoding.rotation.base", type = "number", above = 1, max = 1e12, default = 10000, only = { "rope" },
    doc = "pair m of D / 2 turns by base^(-2 m / D) per position" },
  { path = "encoding.rotation.scaling", type = "table", only = { "rope" }, left_out = "none",
    doc = "how the turns change to reach past the lengths of training" },
  { path = "encoding.rotation.scaling.kind", type = "kind", default = "none", doc = "its form",
    kinds = {
      { name = "none", doc = "they do not" },
      { name = "linear", fingerprints = { "interpolated" }, doc = "positions are divided by factor" },
      { name = "ntk", fingerprints = { "log_base" },
        doc = "the base is multiplied by factor^(D / (D - 2)): the slowest pair slows down by factor, the first not" },
      { name = "yarn", fingerprints = { "slowed" },
        doc = "pairs slow down by factor unless they turn often within original_length; logits grow" },
    } },
  { path = "encoding.rotation.scaling.factor", type = "number", min = 1, max = 1e6, required = true,
    only = { "linear", "ntk", "yarn" }, doc = "how many times the lengths of training are to be reached" },
  { path = "encoding.rotation.scaling.original_length", type = "integer", min = 1, max = 1048576, unit = "positions",
    only = { "yarn" }, default = settled_by_the_plan,
    default_text = "the tokens of the longest training sequence; randomized: max_position",
    doc = "positions that training has" },
  { path = "encoding.rotation.scaling.beta_slow", type = "number", min = 0, max = 1e6, default = 1, unit = "turns",
    only = { "yarn" }, doc = "a pair that turns less often within original_length slows down by factor" },
  { path = "encoding.rotation.scaling.beta_fast", type = "number", above = 0, max = 1e6, default = 32, unit = "turns",
    only = { "yarn" }, doc = "a pair that turns more often keeps its speed; between the two it is a mixture" },
  { path = "encoding.rotation.scaling.attention_factor", type = "number", above = 0, max = 1000, only = { "yarn" },
    default = settled_by_the_plan, default_text = "0.1 ln(factor) + 1",
    doc = "what queries and keys are multiplied by" },

  { path = "encoding.relative", type = "table", doc = "vectors of the signed distance, key - query, in the logit" },
  { path = "encoding.relative.kind", type = "kind", default = "none", doc = "its form",
    kinds = {
      { name = "none", doc = "there are none" },
      { name = "transformer_xl", fingerprints = { "signed_sinusoid", "position_bias" },
        doc = "(q + u) k + (q + v) W R: a learned map W of the distance's sinusoid R, learned biases u and v" },
      { name = "shaw", fingerprints = { "table_row", "relative_table" },
        doc = "q (k + a): a learned vector a per distance, shared by the heads" },
    } },
  { path = "encoding.relative.clip", type = "integer", min = 1, max = 1048576, default = 16, unit = "positions",
    only = { "shaw" }, doc = "farther keys share the vector of this distance" },

  { path = "encoding.mask", type = "table", left_out = "full", doc = "which keys a query sees, by their indices" },
  { path = "encoding.mask.kind", type = "kind", default = "full", doc = "its form",
    kinds = {
      { name = "full", doc = "all" },
      { name = "causal", fingerprints = { "visible" }, doc = "itself and those before it",
        shared = function(resolved) return masks(resolved, "window") end },
      { name = "window", doc = "those at most left before it and right behind it" },
    } },
  { path = "encoding.mask.left", type = "integer", min = 0, max = 1048576, required = true, only = { "window" },
    unit = "tokens", doc = "keys that are seen before the query" },
  { path = "encoding.mask.right", type = "integer", min = 0, max = 1048576, default = same_as("encoding.mask.left"),
    default_text = "left", only = { "window" }, unit = "tokens", doc = "keys that are seen behind the query" },

  { path = "encoding.normaliser", type = "table", left_out = "softmax", doc = "how scores become weights" },
  { path = "encoding.normaliser.kind", type = "kind", default = "softmax", doc = "its form",
    kinds = {
      { name = "softmax", doc = "exponentials, divided by their sum" },
      { name = "geometric", fingerprints = { "geometric" },
        doc = "keys are tried outwards, right before left; a weight: the chance that this key is the first to match" },
    } },
  { path = "encoding.normaliser.normalised", type = "boolean", default = true, only = { "geometric" },
    fingerprints = { "inverse_total" }, doc = "whether the weights of a query are divided by their sum" },
  { path = "encoding.normaliser.directional", type = "boolean", default = true, only = { "geometric" },
    fingerprints = { "direction_scale", "DIRECTION_WIDTH" },
    doc = "whether a query says by a learned map what keys to its right gain, and those to its left" },

  { path = "encoding.positions", type = "table", doc = "where each token stands" },
  { path = "encoding.positions.kind", type = "kind", default = "index", doc = "how positions are chosen",
    kinds = {
      { name = "index", doc = "0, 1, 2, ..." },
      { name = "randomized", fingerprints = { "lh_draw_" }, used = M.positions_are_read,
        doc = "distinct random integers of a range of max_position, drawn anew for every batch" },
    } },
  { path = "encoding.positions.max_position", type = "integer", min = 2, max = 1048576, default = 2048,
    unit = "positions", only = { "randomized" }, doc = "size of the range that is drawn from" },
  { path = "encoding.positions.range", type = "choice", choices = { "zero_based", "one_based" },
    default = "zero_based", left_out = "zero_based", only = { "randomized" }, fingerprints = { "FIRST_POSITION" },
    used = function(resolved) return M.draws_places(resolved) end,
    doc = "with L = max_position: positions from 0 to L - 1, distances from 1 to L - 1; or both from 1 to L" },
  { path = "encoding.positions.sorted", type = "boolean", default = true, only = { "randomized" },
    doc = "whether drawn positions keep the order of the tokens" },
  { path = "encoding.positions.draw", type = "choice", choices = { "pass", "layer", "sequence" },
    only = { "randomized" }, fingerprints = { "draw_sequence" }, used = function(resolved)
      return M.draws_by_sequence(resolved) and M.positions_are_read(resolved)
    end,
    default = function(resolved)
      local rotation = resolved.encoding.rotation
      local turns = rotation ~= nil and rotation.kind == "rope"
      return (turns or M.distances_are_read(resolved)) and "layer" or "pass"
    end,
    default_text = "layer where rotation or relative is on or the score reads positions, else pass",
    doc = "draw once per pass through the network, anew for every block, or for every sequence of the batch" },
  { path = "encoding.positions.reading", type = "choice", choices = { "drawn", "difference", "clamped" },
    default = "drawn", only = { "randomized" },
    doc = "distances: drawn, ascending, for 1, 2, ... tokens apart; differences of positions; or drawn and read as in "
      .. "Ruoss et al.'s released code" },
  { path = "encoding.positions.sides", type = "choice", choices = { "mirrored", "independent" },
    default = "mirrored", left_out = "mirrored", only = { "randomized" }, fingerprints = { "signed_distances" },
    used = function(resolved)
      return M.distances_are_read(resolved) and resolved.encoding.positions.reading == "drawn"
    end,
    doc = "drawn distances to the left: those to the right, or a draw of their own" },

  { path = "encoding.additive", type = "table", doc = "what is added to the token embedding" },
  { path = "encoding.additive.kind", type = "kind", default = "none", doc = "its form",
    kinds = {
      { name = "none", doc = "nothing" },
      { name = "sinusoid", fingerprints = { "sinusoid" }, doc = "fixed sines and cosines of the position",
        shared = function(resolved)
          return resolved.encoding.relative.kind == "transformer_xl"
        end },
      { name = "learned", fingerprints = { "position_table" }, doc = "a learned vector per position" },
    } },
  { path = "encoding.additive.rows", type = "integer", min = 1, max = 1048576, unit = "positions",
    only = { "learned" },
    default = function(resolved)
      return draws(resolved) and resolved.encoding.positions.max_position or 2048
    end,
    default_text = "2048; randomized: max_position",
    doc = "positions that have a vector; no sequence can be longer" },
  { path = "encoding.additive.init_sigma", type = "number", above = 0, default = 1.0, only = { "learned" },
    doc = "standard deviation of the table's first values, before they are cut at two of it" },
  { path = "encoding.additive.dropout", type = "number", min = 0, max = 0.99, unit = "share of elements",
    only = { "sinusoid", "learned" }, default = same_as("model.dropout"), default_text = "model.dropout",
    doc = "dropped from the sum of embedding and encoding, in training" },

  { path = "encoding.score", type = "score", optional = true, fingerprints = { "score_pair", "score_tables" },
    doc = "what becomes of the scaled logit of a pair before the mask: one formula, or several, applied in order",
    more = {
      "as in function(x) return x.score - x.slope * abs(x.distance) end",
      "x holds score query key distance query_index key_index head heads layer layers query_length key_length",
      "and the parameters; x.score is the logit, in a list what came before; distance is key - query",
      "operators: + - * / // % ^; functions: " .. table.concat(traced.names, " "),
      "lookup(x.table, integer), bucket(value, { edges }), select(condition, a, b), sum(8, function(m) ... end)",
      "an entry of a list: { use = preset, constant = value ... } or { score = function, parameters = { ... } }",
    } },
  { path = "encoding.parameters", type = "parameters", optional = true,
    doc = "numbers that the score reads by name; a number, a name or a list alone is a constant's values",
    more = {
      "per: model, layer, head (shared by the layers) or layer_head; default: model",
      "shape = n: n values, read by lookup from 0 on; index = { first, last }: from first on",
      "init: " .. parameters.INIT_TEXT .. "; what learning starts from",
      "values: a number, a list or a name, which learning does not change; lists: one number for all, a number per",
      "    index, a number per head, or all numbers, head after head",
      "learned: default true with init, false with values",
      "outside: what lookup gives beyond the index: a number, or \"clip\"; default: the formula must stay inside",
    } },

  { path = "train", type = "table", doc = "how it is trained" },
  { path = "train.batch", type = "integer", min = 1, max = 65536, default = 128, unit = "sequences",
    doc = "sequences of one step, all of one length" },
  { path = "train.shards", type = "integer", min = 1, max = 256, unit = "parts",
    default = function(resolved)
      return math.min(16, resolved.train.batch or 16)
    end,
    default_text = "16, or batch where that is less",
    doc = "parts of a batch, summed in order: the most threads a step can use; part of the bits" },
  { path = "train.steps", type = "integer", min = 1, max = MOST, default = 2000000, unit = "steps",
    doc = "optimiser steps" },
  { path = "train.epochs", type = "integer", min = 1, max = MOST, optional = true, unit = "epochs",
    doc = "in place of steps, with task.data: every example once in each" },
  { path = "train.learning_rate", type = "number", above = 0, max = 1, default = 3e-4, doc = "step size, constant" },
  { path = "train.lengths", type = "lengths", default = { first = 1, last = 40, step = 1 },
    default_text = "{ 1, 40 }", unit = "task length n", doc = "a step draws one of them uniformly" },
  { path = "train.optimizer", type = "table", doc = "how gradients become steps" },
  { path = "train.optimizer.kind", type = "kind", default = "adam", doc = "its form",
    kinds = { { name = "adam", doc = "Adam with bias correction" } } },
  { path = "train.optimizer.beta1", type = "number", min = 0, below = 1, default = 0.9, only = { "adam" },
    doc = "decay of the first moment" },
  { path = "train.optimizer.beta2", type = "number", min = 0, below = 1, default = 0.999, only = { "adam" },
    doc = "decay of the second moment" },
  { path = "train.optimizer.epsilon", type = "number", above = 0, max = 1, default = 1e-8, only = { "adam" },
    doc = "added to the root of the second moment" },
  { path = "train.clip", type = "table", doc = "limit on the gradient" },
  { path = "train.clip.kind", type = "kind", default = "global_norm", doc = "its form",
    kinds = {
      { name = "none", doc = "no limit" },
      { name = "global_norm", doc = "the whole gradient is scaled down to max_norm where its L2 norm is larger" },
    } },
  { path = "train.clip.max_norm", type = "number", above = 0, default = 1.0, only = { "global_norm" },
    doc = "largest L2 norm" },
  { path = "train.log_every", type = "integer", min = 1, max = MOST, default = 100, unit = "steps",
    doc = "one line of metrics" },
  { path = "train.checkpoint", type = "table", doc = "when the state is written; always at the end, too" },
  { path = "train.checkpoint.every", type = "integer", min = 1, max = MOST, default = 10000, unit = "steps",
    doc = "at multiples of this" },
  { path = "train.checkpoint.minutes", type = "number", min = 0, max = 525600, default = 10, unit = "minutes",
    doc = "and when this much time has passed; 0: by steps alone" },
  { path = "train.checkpoint.keep", type = "keep", choices = { "last", "all" }, default = "last",
    doc = "which stay: the last, all, or a list of steps besides the last" },

  { path = "eval", type = "table", doc = "how it is evaluated" },
  { path = "eval.lengths", type = "lengths", default = { first = 41, last = 500, step = 1 },
    default_text = "{ 41, 500 }", unit = "task length n", doc = "each is one condition" },
  { path = "eval.examples", type = "integer", min = 1, max = 1048576, default = 500, unit = "sequences",
    doc = "per condition" },
  { path = "eval.batch", type = "integer", min = 1, max = 1048576, optional = true, unit = "sequences",
    doc = "so many share a draw, and a condition's accuracy is the mean over such batches; absent: all are one batch" },
  { path = "eval.draws", type = "integer", min = 1, max = 65536, default = 1, unit = "draws",
    doc = "draws per condition of what is random in a pass: positions, and with eval.dropout what is dropped" },
  { path = "eval.dropout", type = "boolean", default = false, left_out = false, fingerprints = { "EVAL_DROPOUT" },
    used = function(resolved) return M.drops(resolved) end,
    doc = "whether dropout stays on outside training; part of the program, not a flag" },
  { path = "eval.during", type = "table", optional = true, doc = "evaluation while training; absent: none" },
  { path = "eval.during.every", type = "integer", min = 1, max = MOST, required = true, unit = "steps",
    doc = "at multiples of this" },
  { path = "eval.during.lengths", type = "lengths", default = same_as("eval.lengths"), default_text = "eval.lengths",
    unit = "task length n", doc = "each is one condition" },
  { path = "eval.during.examples", type = "integer", min = 1, max = 1048576, default = 128, unit = "sequences",
    doc = "per condition, one batch" },
}

M.at = {}
M.children = { [""] = {} }
for _, field in ipairs(M.fields) do
  local parent, name = field.path:match("^(.*)%.([^%.]+)$")
  field.name = name or field.path
  M.at[field.path] = field
  table.insert(M.children[parent or ""], field)
  if field.type == "table" then
    M.children[field.path] = {}
  end
end

-- Whether a table of that kind has the field.
function M.allows(field, kind)
  if not field.only then
    return true
  end
  for _, name in ipairs(field.only) do
    if name == kind then
      return true
    end
  end
  return false
end

-- The range of a number in words: "an integer from 1 to 64", "a multiple of 16 from 16 to 1024".
local function range_text(field)
  local noun = field.multiple and "a multiple of " .. field.multiple
    or field.type == "integer" and "an integer" or "a number"
  local low = field.min and "from " .. diagnostics.number(field.min)
    or field.above and "above " .. diagnostics.number(field.above)
  local high = field.max and (field.min and "to " or "at most ") .. diagnostics.number(field.max)
    or field.below and "below " .. diagnostics.number(field.below)
  local joint = low and high and (field.min and field.max and " " or field.min and " to " or ", ") or ""
  return noun .. " " .. (low or "") .. joint .. (high or "")
end

M.MOST_SYMBOLS = 4096

-- What a field of these types takes, in words.
M.TEXT = {
  boolean = "true or false",
  lengths = "{ first, last }, { first, last, step = 20 } or { list = { 6, 10, 50 } }, lengths from 1 to " .. M.LONGEST,
  score = "function(x) return x.score + ... end, a list of such, or { use = preset }",
  parameters = "{ name = " .. parameters.TEXT .. ", ... }",
  source = "a C file named <kind>.c, the kind being a letter a-z, then 1 to 63 of a-z, 0-9 and _",
  file = "the path of a file, relative to the spec file",
  options = "{ name = choice, ... }",
  symbols = ("a number of symbols from 1 to %d, or a list of their names"):format(M.MOST_SYMBOLS),
}

-- What a field takes, in words. kinds: names for a kind that is not listed here (tasks).
function M.expected(field, kinds)
  if field.type == "integer" or field.type == "number" then
    return range_text(field)
  elseif field.type == "kind" then
    local names = kinds or {}
    for i, kind in ipairs(field.kinds or {}) do
      names[i] = kind.name
    end
    return #names > 0 and table.concat(names, ", ") or "the kind of a task"
  elseif field.type == "choice" then
    return table.concat(field.choices, ", ")
  elseif field.type == "keep" then
    return table.concat(field.choices, ", ") .. ", or an ascending list of steps"
  elseif M.TEXT[field.type] then
    return M.TEXT[field.type]
  end
  local names = {}
  for i, child in ipairs(M.children[field.path]) do
    names[i] = child.name
  end
  return "a table with " .. table.concat(names, ", ")
end

local function feature_is_on(field, resolved)
  local value = same_as(field.path)(resolved)
  if field.path == "model.dropout" then
    return M.drops(resolved)
  end
  return value ~= nil and value ~= false and (not field.used or field.used(resolved))
end

-- Identifiers that code rendered for this resolved spec must not contain, because their features are off.
function M.absent(resolved)
  local names = {}
  for _, field in ipairs(M.fields) do
    if field.fingerprints and not feature_is_on(field, resolved) then
      table.move(field.fingerprints, 1, #field.fingerprints, #names + 1, names)
    end
    for _, kind in ipairs(field.kinds or {}) do
      local on = same_as(field.path)(resolved) == kind.name and (not kind.used or kind.used(resolved))
        or kind.shared and kind.shared(resolved)
      if kind.fingerprints and not on then
        table.move(kind.fingerprints, 1, #kind.fingerprints, #names + 1, names)
      end
    end
  end
  return names
end

local function default_text(field)
  if field.required then
    return "required"
  elseif field.optional then
    return "default: absent"
  elseif field.type == "table" then
    return ""
  end
  return "default: " .. (field.default_text or (type(field.default) == "number" and diagnostics.number(field.default))
    or tostring(field.default))
end

-- The reference of the spec, one paragraph per field: what the verb `fields` prints.
function M.fields_text()
  local out = { "use: at the top level a spec file to build upon, in a section also the name of a preset", "" }
  for _, field in ipairs(M.fields) do
    local only = field.only and "  (kind " .. table.concat(field.only, ", ") .. ")" or ""
    out[#out + 1] = field.path .. only
    out[#out + 1] = "    " .. field.doc
    if field.type ~= "table" and not field.kinds then
      out[#out + 1] = "    takes: " .. M.expected(field) .. (field.unit and "; unit: " .. field.unit or "")
    end
    for _, line in ipairs(field.more or {}) do
      out[#out + 1] = "    " .. line
    end
    for _, kind in ipairs(field.kinds or {}) do
      out[#out + 1] = ("    %s: %s"):format(kind.name, kind.doc)
    end
    if default_text(field) ~= "" then
      out[#out + 1] = "    " .. default_text(field)
    end
  end
  return table.concat(out, "\n") .. "\n"
end

return M
