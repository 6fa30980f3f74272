-- Sums that a score reads (sum_to_query): for a pair, the sum over the keys from the pair's key up to the query's own
-- key.
--
-- Input: the context of loop nests with the field row_sums (expression/lower.lua); the resolved spec; the plan of the
-- facet. Output of M.describe: false if there are no sums, else a list of items with these fields:
--   name         the name of the sum
--   text         the term of a pair as text
--   term         C statements that compute the term of a pair
--   place        C text of an index in the array of sums of a group of queries; key j's sum begins at this index
--   has_gradient   whether a gradient reaches the sum
-- Further fields of the list:
--   count         the number of sums
--   has_gradients   whether a gradient reaches any sum
--   reads_logit   whether a term reads the logit

local cpu = require("expression.nests_cpu")
local expression_text = require("expression.text")
local lists = require("base.lists")
local nests = require("expression.nests")
local predicates = require("facets.predicates")

local M = {}

local FIELD = "encoding.score"
local CALL = "sum_to_query(...)"

-- Refuses vectors of distances, and attention whose queries see later keys or do not see all earlier keys.
function M.check(view, report)
  local encoding = view.resolved.encoding
  if not (encoding.score or ""):find("%f[%w_.]sum_to_query%(") then
    return
  end
  local function refuse(path, is_refused, message, expected, hint)
    if is_refused then
      report.refuse(path, FIELD, CALL, { what = message, expected = expected, hint = hint })
    end
  end
  local mask, relative = (encoding.mask or {}).kind or "full", encoding.relative or {}
  refuse("encoding.mask.kind", mask ~= "causal" and not (predicates.are_decoders(view) and mask == "full"),
    "sum_to_query sums over the keys from a key to its query, so a query must see all of these keys and no later key",
    '"causal", or model.kind = "decoder"', mask == "full" and view.resolved.model.kind == "encoder_decoder"
    and "a causal mask in encoding applies to the decoder alone: encoding.decoder = { score = ... } gives the "
    .. "score to the decoder only" or nil)
  refuse("encoding.lines", encoding.lines, "a table of lines hides keys over which sum_to_query sums", "no lines")
  refuse("encoding.relative.kind", (relative.kind or "none") ~= "none",
    "vectors of distances cannot be used with sum_to_query", '"none"')
end

-- pair_gradient: the statements of a pair's gradients.
function M.describe(build, pair_gradient)
  local words = nests.collect_words(pair_gradient)
  local list = lists.map(build.row_sums, function(sum)
    return { name = sum.name, place = cpu.write_sum_index(build, sum.leaf), text = expression_text.format(sum.term),
      term = nests.make_pair(build, sum.term), has_gradient = words["d" .. sum.name] or false }
  end)
  list.count, list.has_gradients = #list, lists.any(list, function(sum) return sum.has_gradient end)
  list.reads_logit = lists.any(list, function(sum) return nests.collect_words(sum.term).logit end) or false
  return list[1] and list or false
end

-- The term of attention; nil without sums.
function M.make_term(score)
  return score.row_sums and { kind = "pair_scalar", template = "row_sums", scalar = score, row_sums = score.row_sums,
    properties = { scans_logits = true, sums_terms = true } } or nil
end

-- Bytes of scratch memory for the sums and logits of a group of queries.
function M.count_bytes(score, sizes, T)
  return score.row_sums and sizes.reals(score.row_sums.count * T * sizes.lanes) + sizes.reals(T * sizes.lanes) or 0
end

return M
