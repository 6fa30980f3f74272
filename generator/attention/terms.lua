-- The terms of an attention: what its facets add to the loops over queries and keys.
--
-- Input: a planned family of attentions, whose loops are settled (recomputed_weights.lua). Output: its terms in the
-- order of their ranks, and the properties that they have together. A term is
--
--   kind, rank   of kinds.lua
--   page         templates/attention/<target>/terms/<page>.tpl has its text, a section for every slot that it fills;
--                device_pages: on a device, several pages instead
--   properties   true for each property of the term
--   other names  names that the term's text sees before those of the family
--
-- Skeletons read these properties, each false where no term has it:
--
--   positions: sided         queries and keys have positions sampled apart, even if both are of one stream
--   pair vectors: beside     a pair has a vector: the backward pass needs more than weights and their gradients
--                by_offset   pairs of equal key - query share a row: gradients of logits have zeros on both sides
--                by_pair     a pair's row is looked up
--                far         vectors of consecutive keys are looked up together, before logits are computed
--                made        tables of pair vectors are computed once a step
--                biases      queries have biases, one for keys and one for rows
--   pair scalar: scaled      the logit of a pair becomes a score
--                tables      the score reads numbers from the step's tables, which are computed first
--                again       the backward pass needs the logit
--                trains      learned tables have gradients
--                changes     the gradient of a logit differs from that of its score
--                gathers     gradients of tables add up for a group of queries
--                row         a query with consecutive keys has its own form; partly: not with all keys
--   domain:      spans       a group of queries sees a span of keys
--                hides       a query may miss some keys of the span
--                opens       keys of the span before some key are open to all queries of a group
--                opens_later keys of the span behind some key are open to all queries of a group
--                tests_all   every pair is tested, since a term also hides pairs of keys that would be open to all
--                gains       the values that scores gain are written before the scores
--                sees_all    a query that would see nothing sees all
--                by_head     heads see other pairs
--                scattered   keys that a query sees are not consecutive
--   contribution: directional   logits of keys to the right and to the left gain numbers of the query
--   row function: outwards   keys are visited outwards, and probabilities are stored next to weights
--                normalised  weights are divided by their sum: the backward pass needs the attended values
--   weight map:  drops       weights are dropped out; their sign marks this until the backward pass
--   row maps:    rotates     rows are rotated by their positions
--   any:         numbered    the loops over pairs need the number of the head
--                sums        the blocks of a shard add up more than the gradient
--                after_positions   something is computed from sampled positions
--                first_query the logits of a group depend on the number of its first query
--
-- vectors: vectors of the head's width that the backward pass reads for each query. scalar: what the pair scalar reads.
--
-- No name here is text of a target; skeletons know these names and no facet.

local bounds = require("attention.bounds")
local kinds = require("attention.kinds")
local pages = require("facets.pages")

local M = {}

-- Dropout belongs to the model, not to a facet.
local function weight_map(family)
  return family.drops and { kind = "weight_map", page = "dropped", site = family.drops.place, rate = family.drops.name,
    properties = { drops = true, numbered = true } } or nil
end

M.PROPERTIES = {
  "sided", "beside", "by_offset", "by_pair", "far", "biases", "scaled", "tables", "again", "trains", "changes",
  "gathers", "row", "partly", "spans", "hides", "opens", "opens_later", "tests_all", "gains", "sees_all", "by_head",
  "scattered", "outwards", "normalised", "directional", "drops", "rotates", "numbered", "sums", "first_query",
  "made", "after_positions",
}

local function enter(terms, term)
  terms[#terms + 1] = term
  terms.vectors = term.vectors or terms.vectors
  for name, value in next, term.properties do
    assert(terms[name] ~= nil, name)
    terms[name] = terms[name] or value or false
  end
end

-- Refuses terms that exclude one another. Pages that know of each other have refused first, with their own message.
local function check(family, terms)
  local domains = 0
  for _, term in ipairs(terms) do
    domains = domains + (term.kind == "domain" and 1 or 0)
  end
  local what = terms.outwards and (terms.scaled or domains > 0)
    and "tries keys outwards, and something changes its scores or hides pairs"
    or domains > 1 and terms.sees_all and "has queries that see all, lest they see nothing, and something hides pairs"
  if what then
    error({ problem = true, field = "encoding", what = ("attention %s %s"):format(family.name, what),
      expected = "one of the two" })
  end
end

function M.of(family)
  local terms, found = { vectors = 2, scalar = family.score }, { weight_map(family) or nil }
  for _, name in ipairs(M.PROPERTIES) do
    terms[name] = false
  end
  for _, list in ipairs(pages.said("terms", family)) do
    table.move(list, 1, #list, #found + 1, found)
  end
  for _, kind in ipairs(kinds) do
    for _, term in ipairs(found) do
      if term.kind == kind.name then
        term.rank = kind.rank
        enter(terms, term)
      end
    end
  end
  check(family, terms)
  return terms
end

-- Sets the terms of every family, and the names of its loops' bounds.
function M.settle(plan)
  for _, family in ipairs(plan.attentions) do
    family.terms = M.of(family)
    for name, text in next, bounds.of(family) do
      family[name] = text
    end
  end
end

return M
