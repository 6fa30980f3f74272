-- The terms of an attention: the parts that its facets add to the loops over queries and keys.
--
-- Input: a planned attention family for which recomputed_weights.lua has run. Output: its terms in the order of their
-- kinds, and their common properties. Fields of a term:
--
--   kind         one of KINDS
--   template     the name of a file templates/attention/<target>/terms/<template>.tpl, with a section for every slot
--                that the term fills
--   device_templates   the names of such files for device code; nil: device code has the file `template` alone
--   properties   name of a property -> whether the term has it
--   other fields   variables of the term's text; they take precedence over the family's fields of the same name
--
-- A slot is a named line of a template at which terms insert their text; a skeleton is a template with slots. Skeletons
-- read these properties, each false if no term has it:
--
--   pair vectors:
--     pair_vectors     a pair has a vector, whose product with the query is added to the logit; the backward pass sums
--                      gradients of the vectors
--     by_offset        pairs with equal offsets (key - query) share a vector; arrays of gradients of logits begin and
--                      end with zeros
--     by_pair          the vector of each pair is looked up in a table
--     by_rotation      pairs have no vectors: a group's rotated queries are multiplied with sinusoids of keys. One call
--                      computes these products for a run of consecutive keys, before their logits are computed
--     computes_tables  tables of pair vectors are computed once a step
--     has_biases       queries have two biases, one for products with keys and one for products with pair vectors
--     scans_logits     a pass over the logits of a query's keys, from the last key to the first, precedes the scores
--   pair scalar:
--     maps_logits      the logit of a pair becomes a score
--     reads_tables     the score reads numbers from the step's tables, which are computed first
--     needs_logits     the backward pass needs the logits of pairs
--     trains_tables    learned tables have gradients
--     sums_terms       the score reads sums over the keys of a query
--     changes_gradient   the gradient of a logit differs from the gradient of its score
--     scores_rows      a function computes the scores of a query with LANES consecutive keys
--     excludes_last_keys   the function of scores_rows excludes the last keys of a sequence. It loads LANES consecutive
--                      entries of a table whose index is a distance; for the last keys, the first of these entries
--                      would lie before the table
--   domain:
--     has_spans        a group of queries sees a span, a run of consecutive keys, not all keys
--     hides_keys       some keys of the span may be hidden from a query
--     has_open_keys    a part of the span consists of open keys: keys that all queries of the group see, so that their
--                      pairs need no test
--     open_keys_begin_later   the open keys begin after the first key of the span
--     tests_all        every pair is tested, because a term also hides pairs with open keys
--     adds_values      values that are added to scores are written before the scores
--     sees_all         a query that would see no key sees all keys
--     differs_by_head   heads see different pairs of queries and keys
--     has_scattered_keys   keys that a query sees are not consecutive
--   contribution:
--     reads_tokens     scores read values of tokens, alone or in running sums
--     multiplies_rows  rows of queries or keys are multiplied by learned vectors
--     has_directions   the query adds one number to the logits of keys on its right, and another number to the logits
--                      of keys on its left
--   row function:
--     visits_outwards   keys are visited outwards from the query; probabilities are stored next to weights
--     breaks_stick     each query has a stick of length 1. From the nearest key on, each key takes a part of the rest
--                      of the stick as its weight. No function for scores is generated
--     saves_rests      the rest of each query's stick, which no key has taken, is stored next to weights
--     normalised       weights are divided by their sum, so the backward pass needs the attended values
--   weight map:
--     drops_weights    dropout applies to weights; until the backward pass, the sign of a weight marks whether it is
--                      dropped
--   row maps:
--     rotates_rows     rows are rotated by their positions
--   terms of any kind:
--     needs_head_number   the loops over pairs need the index of the head
--     has_sums         a shard, a part of the batch, has sums in addition to its gradient
--     needs_first_query   logits, scores or seen keys of a group depend on the index of its first query
--
-- The list has two further fields: scalar, which is family.score; and vectors_per_query, the number of vectors of a
-- head's width that the backward pass reads for each query.
--
-- Properties are equal for CPU and device. Skeletons know properties, and no facet.

local bounds = require("attention.bounds")
local lists = require("base.lists")
local facets = require("facets.modules")

local M = {}

-- The kinds of terms, in the order in which a skeleton inserts their text into a slot; terms of one kind keep the order
-- of facets/modules.lua. Sums of floats follow this order, so it determines the bits of results.
local KINDS = {
  "position_source", -- positions of tokens, and distances of pairs
  "contribution",    -- values that the network computes from a block's input for its attention
  "row_map",         -- changes rows of queries and keys before their products
  "pair_vector",     -- adds the product of a vector and the query to the logit of a pair
  "row_source",      -- computes the rows of a pair vector
  "pair_scalar",     -- changes the logit of a pair
  "domain",          -- selects the pairs that exist
  "row_function",    -- computes the weights of a query from its logits
  "weight_map",      -- changes a weight
}

-- Dropout belongs to the model, not to a facet.
local function make_weight_map(family)
  return family.weight_dropout and { kind = "weight_map", template = "dropped",
    site = family.weight_dropout.dropout_number, rate = family.weight_dropout.name,
    properties = { drops_weights = true, needs_head_number = true } } or nil
end

M.PROPERTIES = {
  "pair_vectors", "by_offset", "by_pair", "by_rotation", "computes_tables", "has_biases", "scans_logits", "sums_terms",
  "maps_logits", "reads_tables", "needs_logits", "trains_tables", "changes_gradient", "scores_rows",
  "excludes_last_keys", "has_spans", "hides_keys", "has_open_keys", "open_keys_begin_later", "tests_all",
  "adds_values", "sees_all", "differs_by_head", "has_scattered_keys", "visits_outwards", "breaks_stick", "saves_rests",
  "normalised", "reads_tokens", "multiplies_rows", "has_directions", "drops_weights", "rotates_rows",
  "needs_head_number", "has_sums", "needs_first_query",
}

local function add_properties(terms, term)
  terms[#terms + 1] = term
  terms.vectors_per_query = term.vectors_per_query or terms.vectors_per_query
  for name, value in next, term.properties do
    assert(terms[name] ~= nil, name)
    terms[name] = terms[name] or value or false
  end
end

-- Refuses terms that exclude each other, if no check of the facets has refused them before.
local function check_terms(family, terms)
  local domain_count = lists.count(terms, function(term) return term.kind == "domain" end)
  local problem = terms.visits_outwards and (terms.maps_logits or domain_count > 0)
    and "visits keys outwards from the query, and another part of the encoding changes scores or hides pairs"
    or domain_count > 1 and terms.sees_all
    and "lets a query that would see no key see all keys, and another part of the encoding hides pairs"
  if problem then
    error({ problem = true, field = "encoding", what = ("attention %s %s"):format(family.name, problem),
      expected = "one of these two parts of the encoding alone" })
  end
end

-- The list of a family's terms, with the properties as fields.
function M.list(family)
  local terms, unordered = { vectors_per_query = 2, scalar = family.score }, { make_weight_map(family) or nil }
  for _, name in ipairs(M.PROPERTIES) do
    terms[name] = false
  end
  for _, list in ipairs(facets.collect("make_terms", family)) do
    lists.append(unordered, list)
  end
  for _, kind in ipairs(KINDS) do
    for _, term in ipairs(unordered) do
      if term.kind == kind then
        add_properties(terms, term)
      end
    end
  end
  check_terms(family, terms)
  terms.open_keys_begin_later = terms.open_keys_begin_later and not terms.tests_all
  terms.has_open_keys = terms.has_open_keys and not terms.tests_all
  return terms
end

-- Sets the terms of every family (family.terms), and the names of the bounds of its loops, as fields of the family.
function M.settle(plan)
  for _, family in ipairs(plan.attentions) do
    family.terms = M.list(family)
    lists.update(family, bounds.find(family))
  end
end

return M
