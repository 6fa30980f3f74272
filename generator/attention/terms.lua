-- The terms of an attention: what its facets add to the loops over queries and keys.
--
-- Input: a planned family of attentions, whose loops are settled (recomputed_weights.lua). Output: its terms in the
-- order of their ranks, and beside them the properties that they have together. A term is
--
--   kind, rank   of kinds.lua
--   page         templates/attention/<target>/terms/<page>.tpl has its text, a section for every slot that it fills;
--                device_pages: on a device, several pages in its place
--   properties   true for each that it has
--   and whatever else its text reads: names that the text sees before those of the family.
--
-- Skeletons ask for properties, which are these, each false where no term has it:
--
--   positions: sided         queries and keys have draws of their own, also where both are of one stream
--   pair vectors: beside     a pair has a vector, so that the way back needs more than weights and their gradients
--                by_offset   pairs of equal key - query share a row: gradients of logits have zeros on both sides
--                by_pair     a pair's row is looked up
--                far         a whole run of keys is asked for at once, before logits are
--                made        tables of them are made once a step
--                biases      queries have biases, one for keys and one for rows
--   pair scalar: scaled      the logit of a pair becomes a score
--                tables      by numbers of the step's tables, which are made ahead of it
--                again       the way back needs the logit
--                trains      learned tables have gradients
--                changes     the gradient of a logit is not that of its score
--                gathers     gradients of tables add up for a group of queries
--                row         a query with keys side by side has a form of its own; partly: not with all keys
--   domain:      spans       a group of queries sees a span of keys
--                hides       of these a query may miss some
--                opens       keys of the span before some key are open to all queries of a group
--                opens_later ... and behind some key
--                tests_all   there are no such keys, since a term hides pairs among them as well
--                gains       what scores gain is written before them
--                sees_all    a query that would see nothing sees all
--                by_head     heads see other pairs
--                scattered   keys that a query sees do not lie side by side
--   contribution: directional   logits of keys to the right and to the left gain numbers of the query
--   row function: outwards   keys are tried outwards, and chances kept beside weights
--                normalised  weights are divided by their sum: the backward pass needs what was attended
--   weight map:  drops       weights are dropped out; the sign says so until the way back
--   row maps:    turns       rows are turned by their positions
--   any:         numbered    the loops over pairs need the number of the head
--                sums        the blocks of a shard add up more than the gradient
--                after_positions   something is made of drawn positions
--                first_query the logits of a group hang on the number of its first query
--
-- vectors: how many of a head's width the way back reads for each query. scalar: what the pair scalar reads.
--
-- Nothing here is text of a target; skeletons know these names and no facet.

local bounds = require("attention.bounds")
local kinds = require("attention.kinds")
local pages = require("facets.pages")

local M = {}

-- Dropout is the model's rather than a facet's.
local function weight_map(family)
  return family.drops and { kind = "weight_map", page = "dropped", site = family.drops.place, rate = family.drops.name,
    properties = { drops = true, numbered = true } } or nil
end

M.PROPERTIES = {
  "sided", "beside", "by_offset", "by_pair", "far", "biases", "scaled", "tables", "again", "trains", "changes",
  "gathers", "row", "partly", "spans", "hides", "opens", "opens_later", "tests_all", "gains", "sees_all", "by_head",
  "scattered", "outwards", "normalised", "directional", "drops", "turns", "numbered", "sums", "first_query",
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

-- Terms that exclude one another, of whichever pages: those that know each other say so before, in words of their own.
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

-- Sets the terms of every family, and what their loops call their bounds.
function M.settle(plan)
  for _, family in ipairs(plan.attentions) do
    family.terms = M.of(family)
    for name, text in next, bounds.of(family) do
      family[name] = text
    end
  end
end

return M
