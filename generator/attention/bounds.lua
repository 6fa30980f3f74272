-- Names of the bounds of loops over queries and keys, in C.
--
-- Input: a planned attention family with its terms (terms.lua). A group is a number of queries that are computed
-- together. Output, texts except `cached`:
--
--   S, K        the number of keys, and the offset from the row of one key to the next, in elements
--   T_S         the numbers of queries and keys, as arguments; length_words: as parameters
--   from_key, to_key   the first key that a group sees, and the key after its last one; keys_seen: the number of keys
--   from_weights, from_values   the weights and the values of a group, from its first key on
--   from_query, to_query   the queries to compute; first_group: the first query of the group that contains from_query
--   span        the bounds of keys as arguments of the functions for a group; span_words: as parameters
--   cached      whether keys of earlier calls may precede those of the queries
--   row_of_first, row_count   the row of query `first` and the number of rows, which may be those of some queries only
--   asked_from, asked_to       the queries whose results are used; forward_from, forward_to: those of a forward call
--   rows_at, keys_at          the rows of queries, and those of keys, in calls with all heads
--   shown, open_score         functions from logits to scores, of any key and of a key that all queries see, or false
--   score_start               the function that gives the offset of the score's tables in step->shared
--   zeros, of_dlogits         an offset to append, for zeros before the gradients of logits; and the last word in the
--                             name of the function that counts these gradients for a group
--   middle      the offset, to append, of the distance of a token to itself among drawn distances
--   of_head     the declaration of T, and of S if there are two lengths, from a head
--   of_step, of_shape   the length, or the two lengths, of a step and of a shape
--   of_tables, tables_shape   the lengths that the tables in step->shared are made for, and the shape with them
--   of_head_tables            the same lengths in the function that makes a head

local M = {}

function M.find(family)
  local cross, spans = family.cross, family.terms.spans
  local S, K = cross and "S" or "T", family.PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
  local bounded, ranged, partial, terms, name = family.bounded, family.ranged, family.partial, family.terms, family.name
  local tables_shape = family.slices and "get_tables_shape(step)" or "&step->shape"
  local of_tables = family.slices and "get_tables_shape(%s)->length" or "%s->shape.length"
  local function write_lengths(array)
    local text = ("%s[%d]"):format(array, family.queries.stream)
    return cross and ("%s, %s[%d]"):format(text, array, family.keys.stream) or text
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
    cached = ranged and not cross,
    row_of_first = ranged and "first - head->from" or "first",
    row_count = ranged and "head->to - head->from" or "head->T",
    asked_from = partial and "first_query" or "0",
    asked_to = partial and "end_query" or "T",
    forward_from = partial and "first_query" or ranged and "from" or "0",
    forward_to = partial and "end_query" or ranged and "from + count" or "T",
    rows_at = cross and "query" or "query_key_value",
    keys_at = cross and "key_value" or "query_key_value + WIDTH",
    shown = (terms.scaled or terms.hides) and name .. "_score",
    open_score = terms.scaled and name .. "_open_score",
    score_start = name .. (terms.computes_tables and "_score_start" or "_start"),
    zeros = terms.by_offset and (" + %sKEYS * LANES"):format(family.PREFIX) or "",
    of_dlogits = terms.by_offset and "dlogits" or "weights",
    middle = family.positions.distance.independent and (" + %sMAX_POSITION"):format(family.PREFIX) or "",
    span = spans and "begin, end" or S,
    span_words = spans and "int begin, int end" or "int " .. S,
    of_head = cross and "T = head->T, S = head->S" or "T = head->T",
    of_step = write_lengths("step->shape.length"),
    of_shape = write_lengths("shape->length"),
    of_tables = write_lengths(of_tables:format("step")),
    tables_shape = tables_shape,
    of_head_tables = family.slices and write_lengths(of_tables:format("w->step")) or cross and "head.T, head.S"
      or "head.T",
  }
end

return M
