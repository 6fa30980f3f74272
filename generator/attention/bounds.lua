-- Names of the bounds of loops over queries and keys, in C.
--
-- Input: a planned family of attentions with its terms. Output, all text:
--
--   S, K        the number of keys, and the offset from the row of one key to the next
--   T_S         the numbers of queries and keys, as arguments; length_words: as parameters
--   from_key, to_key   the keys that a group of queries sees; keys_seen: their number; from_weights, from_values: the
--                      weights and the values of a group, from its first key on
--   from_query, to_query   the queries to compute; first_group: the first query of the group that contains from_query
--   span        the bounds of keys as arguments of the functions for a group; span_words: as parameters
--   of_head     the declaration of T, and of S if there are two lengths, from a head
--   of_step, of_shape   both lengths, read from the step and from a shape

local M = {}

function M.of(family)
  local cross, spans = family.cross, family.terms.spans
  local S, K = cross and "S" or "T", family.PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
  local bounded = family.bounded
  local function lengths(of)
    local text = ("%s[%d]"):format(of, family.queries.stream)
    return cross and ("%s, %s[%d]"):format(text, of, family.keys.stream) or text
  end
  return {
    S = S,
    K = K,
    T_S = cross and "T, S" or "T",
    length_words = cross and "int T, int S" or "int T",
    from_key = spans and "begin" or "0",
    to_key = spans and "end" or S,
    keys_seen = spans and "end - begin" or S,
    from_weights = spans and "weights + begin * LANES" or "weights",
    from_values = spans and ("value + begin * %s"):format(K) or "value",
    from_query = bounded and "head->first_query" or "0",
    to_query = bounded and "head->end_query" or "T",
    first_group = bounded and "first_group" or "0",
    span = spans and "begin, end" or S,
    span_words = spans and "int begin, int end" or "int " .. S,
    of_head = cross and "T = head->T, S = head->S" or "T = head->T",
    of_step = lengths("step->shape.length"),
    of_shape = lengths("shape->length"),
  }
end

return M
