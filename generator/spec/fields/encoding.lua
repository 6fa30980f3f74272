-- Fields of a spec: how the network learns where tokens stand, facet by facet. Entries are as schema.lua says.

local common = require("spec.fields.common")
local features = require("spec.features")
local parameters = require("spec.score.parameters")
local traced = require("expression.traced")

return {
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
    only = { "yarn" }, default = common.settled_by_the_plan,
    default_text = "the tokens of the longest training sequence; randomized: max_position",
    doc = "positions that training has" },
  { path = "encoding.rotation.scaling.beta_slow", type = "number", min = 0, max = 1e6, default = 1, unit = "turns",
    only = { "yarn" }, doc = "a pair that turns less often within original_length slows down by factor" },
  { path = "encoding.rotation.scaling.beta_fast", type = "number", above = 0, max = 1e6, default = 32, unit = "turns",
    only = { "yarn" }, doc = "a pair that turns more often keeps its speed; between the two it is a mixture" },
  { path = "encoding.rotation.scaling.attention_factor", type = "number", above = 0, max = 1000, only = { "yarn" },
    default = common.settled_by_the_plan, default_text = "0.1 ln(factor) + 1",
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
  { path = "encoding.relative.sides", type = "choice", choices = { "both", "left" }, default = "both",
    left_out = "both", only = { "shaw" },
    doc = "distances that have a vector: all, or those of keys before the query and of itself, under a causal mask" },
  { path = "encoding.relative.init_sigma", type = "number", above = 0, only = { "shaw" }, optional = true,
    doc = "standard deviation of the table's first values; absent: sqrt(2 / (rows + D))" },

  { path = "encoding.projections", type = "table", left_out = "empty",
    doc = "the products around attention: of queries, keys and values, and of what it gives" },
  { path = "encoding.projections.bias", type = "boolean", optional = true,
    doc = "whether they have biases; absent: as model.bias says" },
  { path = "encoding.projections.output", type = "boolean", default = true, left_out = true,
    doc = "whether what attention gives goes through a product before it is added" },
  { path = "encoding.projections.init", type = "choice", choices = { "attention", "linear" }, default = "attention",
    left_out = "attention",
    doc = "first values where model.init tells the two apart: as its attention has them, or as other products" },

  { path = "encoding.mask", type = "table", left_out = "full", doc = "which keys a query sees, by their indices",
    more = { "in a decoder no query sees what is behind it, whatever the mask" } },
  { path = "encoding.mask.kind", type = "kind", default = "full", doc = "its form",
    kinds = {
      { name = "full", doc = "all" },
      { name = "causal", fingerprints = { "visible" }, doc = "itself and those before it",
        shared = function(resolved)
          local kind = features.value_at(resolved, "encoding.mask.kind")
          return kind == "window" or kind == "antidiagonal" or features.is_causal(resolved)
        end },
      { name = "window", doc = "those at most left before it and right behind it" },
      { name = "antidiagonal",
        doc = "those near the line that goes from the first query and the last key down to the left" },
    } },
  { path = "encoding.mask.left", type = "integer", min = 0, max = 1048576, required = true, only = { "window" },
    unit = "tokens", doc = "keys that are seen before the query" },
  { path = "encoding.mask.right", type = "integer", min = 0, max = 1048576,
    default = common.same_as("encoding.mask.left"), default_text = "left", only = { "window" }, unit = "tokens",
    doc = "keys that are seen behind the query" },
  { path = "encoding.mask.width", type = "integer", min = 0, max = 1048576, required = true, only = { "antidiagonal" },
    unit = "tokens", doc = "keys that are seen on either side of the line" },
  { path = "encoding.mask.stride", type = "integer", min = 1, max = 16, default = 1, only = { "antidiagonal" },
    unit = "tokens", doc = "how many keys the line goes left for each query, and is broad: 2 for pairs of digits",
    more = { "query i of S keys sees keys S - stride (i + 1) - width to S - 1 - stride i + width",
      "keys that there are not are left out; a query that sees none of them sees all" } },
  { path = "encoding.mask.left_only", type = "boolean", default = false, only = { "antidiagonal" },
    doc = "whether keys right of the line stay hidden" },

  { path = "encoding.lines", type = "table", optional = true, items = "list",
    doc = "numbers that scores gain along lines of pairs, a table for each head; pairs on no line are hidden",
    more = { "as in lines = { { head = 0, direction = -1, line = 1, value = 2.5 }, ... }",
      "where lines meet the largest number counts; a query whose head opens none of its keys sees all",
      "in a decoder's attention to itself no query sees what is behind it, whatever the lines" } },
  { path = "encoding.lines.list", type = "lines", required = true, doc = "the lines, in any order",
    more = { "pairs of query i and key j, from 0 on, of S keys, by direction:",
      "1: j - i = line; -1: (S - 1) - (i + j) = line; 0: key j = line, counted from the side that columns says" } },
  { path = "encoding.lines.zero_corner", type = "choice", choices = { "lines", "all", "none" }, default = "lines",
    doc = "heads in which the first query of cross-attention sees the last key at 0: those with lines, all, or none" },
  { path = "encoding.lines.columns", type = "choice", choices = { "left", "right" }, optional = true,
    doc = "the side from which lines of direction 0 are counted; absent: right in cross-attention, or else left" },

  { path = "encoding.normaliser", type = "table", left_out = "softmax", doc = "how scores become weights" },
  { path = "encoding.normaliser.kind", type = "kind", default = "softmax", doc = "its form",
    kinds = {
      { name = "softmax", doc = "exponentials, divided by their sum" },
      { name = "geometric", fingerprints = { "geometric" },
        doc = "keys are tried outwards, right before left; a weight: the chance that this key is the first to match" },
    } },
  { path = "encoding.normaliser.temperature", type = "number", above = 0, max = 1e6, default = 1, left_out = 1,
    only = { "softmax" }, doc = "what scores are divided by before their exponentials" },
  { path = "encoding.normaliser.normalised", type = "boolean", default = true, only = { "geometric" },
    fingerprints = { "inverse_total" }, doc = "whether the weights of a query are divided by their sum" },
  { path = "encoding.normaliser.directional", type = "boolean", default = true, only = { "geometric" },
    fingerprints = { "direction_scale", "DIRECTION_WIDTH" },
    doc = "whether a query says by a learned map what keys to its right gain, and those to its left" },

  { path = "encoding.positions", type = "table", doc = "where each token stands" },
  { path = "encoding.positions.kind", type = "kind", default = "index", doc = "how positions are chosen",
    kinds = {
      { name = "index", doc = "0, 1, 2, ..." },
      { name = "randomized", fingerprints = { "lh_draw_" }, used = features.positions_are_read,
        doc = "distinct random integers of a range of max_position, drawn anew for every batch" },
      { name = "grid", fingerprints = { "GRID_WIDTH" }, doc = "row and column of the cells of the task's grid" },
      { name = "cyclic", fingerprints = { "cyclic" }, doc = "0, 1, ..., period - 1, and again from 0 on" },
    } },
  { path = "encoding.positions.period", type = "integer", min = 2, max = 1048576, required = true,
    only = { "cyclic" }, unit = "positions", doc = "how many positions there are" },
  { path = "encoding.positions.max_position", type = "integer", min = 2, max = 1048576, default = 2048,
    unit = "positions", only = { "randomized" }, doc = "size of the range that is drawn from" },
  { path = "encoding.positions.range", type = "choice", choices = { "zero_based", "one_based" },
    default = "zero_based", left_out = "zero_based", only = { "randomized" }, fingerprints = { "FIRST_POSITION" },
    used = features.draws_places,
    doc = "with L = max_position: positions from 0 to L - 1, distances from 1 to L - 1; or both from 1 to L" },
  { path = "encoding.positions.sorted", type = "boolean", default = true, only = { "randomized" },
    doc = "whether drawn positions keep the order of the tokens" },
  { path = "encoding.positions.draw", type = "choice", choices = { "pass", "layer", "sequence" },
    only = { "randomized" }, fingerprints = { "draw_sequence" }, used = function(resolved)
      return features.draws_by_sequence(resolved) and features.positions_are_read(resolved)
    end,
    default = function(resolved)
      local rotation = resolved.encoding.rotation
      local turns = rotation ~= nil and rotation.kind == "rope"
      return (turns or features.distances_are_read(resolved)) and "layer" or "pass"
    end,
    default_text = "layer where rotation or relative is on or the score reads positions, else pass",
    doc = "draw once per pass through the network, anew for every block, or for every sequence of the batch" },
  { path = "encoding.positions.reading", type = "choice", choices = { "drawn", "difference", "clamped" },
    default = "drawn", default_text = "drawn; of cross-attention difference, the one it has", only = { "randomized" },
    doc = "distances: drawn, ascending, for 1, 2, ... tokens apart; differences of positions; or drawn and read as in "
      .. "Ruoss et al.'s released code" },
  { path = "encoding.positions.sides", type = "choice", choices = { "mirrored", "independent" },
    default = "mirrored", left_out = "mirrored", only = { "randomized" }, fingerprints = { "signed_distances" },
    used = function(resolved)
      return features.distances_are_read(resolved) and resolved.encoding.positions.reading == "drawn"
    end,
    doc = "drawn distances to the left: those to the right, or a draw of their own" },

  { path = "encoding.additive", type = "table", doc = "what is added to the vectors of tokens" },
  { path = "encoding.additive.kind", type = "kind", default = "none", doc = "its form",
    kinds = {
      { name = "none", doc = "nothing" },
      { name = "sinusoid", fingerprints = { "sinusoid" },
        doc = "fixed sines and cosines of the position; in a grid of the column, then of the row, in half the channels",
        shared = function(resolved)
          return resolved.encoding.relative.kind == "transformer_xl"
        end },
      { name = "learned", fingerprints = { "position_table" }, doc = "a learned vector per position" },
    } },
  { path = "encoding.additive.at", type = "choice", choices = { "input", "block" }, default = "input",
    left_out = "input", only = { "sinusoid", "learned" }, fingerprints = { "placed" },
    doc = "where it is added: to the vectors of tokens, or to the input of every block, learned tables one for each" },
  { path = "encoding.additive.channels", type = "choice", choices = { "halves", "interleaved" }, default = "halves",
    left_out = "halves", only = { "sinusoid" },
    doc = "sines, then cosines; or sines in even channels and cosines in odd ones" },
  { path = "encoding.additive.rows", type = "integer", min = 1, max = 1048576, unit = "positions",
    only = { "learned" },
    default = function(resolved)
      return features.is_randomized(resolved) and resolved.encoding.positions.max_position or 2048
    end,
    default_text = "2048; randomized: max_position",
    doc = "positions that have a vector; no sequence can be longer" },
  { path = "encoding.additive.learned", type = "boolean", default = true, left_out = true, only = { "learned" },
    doc = "whether training changes the table; false: its first values stay, and do not count as parameters" },
  { path = "encoding.additive.init", type = "choice", choices = { "truncated_normal", "normal" },
    default = "truncated_normal", left_out = "truncated_normal", only = { "learned" },
    doc = "what the table's first values are drawn from: a normal distribution, cut at two of init_sigma or not" },
  { path = "encoding.additive.init_sigma", type = "number", above = 0, default = 1.0, only = { "learned" },
    doc = "standard deviation of that normal distribution" },
  { path = "encoding.additive.dropout", type = "number", min = 0, max = 0.99, unit = "share of elements",
    only = { "sinusoid", "learned" }, default = function(resolved)
      local at_input = resolved.encoding.additive.at ~= "block"
      return at_input and features.value_at(resolved, "model.embedding_dropout")
        or features.value_at(resolved, "model.dropout")
    end, default_text = "model.embedding_dropout at the input, or else model.dropout",
    doc = "dropped from the sum, in training: with at = block in every block, and the residual takes what is left" },

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
  { path = "encoding.encoder", type = "table", optional = true, family = "encoder",
    doc = "facets of the encoder's attention to itself, laid upon those above field by field",
    more = { "rotation, relative, mask, lines, normaliser, positions, score and parameters, with their fields; use" } },
  { path = "encoding.decoder", type = "table", optional = true, family = "decoder",
    doc = "likewise of the decoder's attention to itself" },
  { path = "encoding.cross", type = "table", optional = true, family = "cross",
    doc = "likewise of the decoder's attention to the encoder: distance is the key's index less the query's" },
}
