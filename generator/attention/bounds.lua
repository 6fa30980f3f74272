-- Names of the bounds of loops over queries and keys, in C.
--
-- Input: a planned attention family with its terms (terms.lua). A group is a number of queries that are computed
-- together. Output, texts unless stated otherwise:
--
--   S, K          the number of keys, and the number of elements from the row of one key to that of the next
--   T_S           the numbers of queries and keys as arguments, T alone if they are equal; length_parameters: as
--                 parameters
--   from_key, to_key   the first key that a group sees, and the key after its last one; keys_seen: the number of keys
--   from_weights, from_values   the weights and the values of a group, from its first key on
--   from_query, to_query   the first query to compute, and the query after the last one; first_group: the first query
--                 of the group that contains from_query
--   span          the bounds of keys as arguments of the functions for a group; span_parameters: as parameters
--   has_cached_keys   a boolean: whether keys of earlier calls may precede those of the queries
--   row_of_first, row_count   the row of query `first`, and the number of rows of queries in the buffers
--   used_from, used_to   the first query whose result is used, and the query after the last one; forward_from,
--                 forward_to: the same for a forward call
--   query_pointer, key_pointer   the pointers to rows of queries, and to those of keys, in calls with all heads
--   score_function, open_score_function   functions from logits to scores, of any key and of a key that all queries
--                 see, or false
--   score_start   the function that gives the offset of the score's tables in step->shared
--   to_dlogits    " + OFFSET" of the gradients of logits in their array, which begins with zeros; else empty
--   group_array   the array, "dlogits" or "weights", after which the function is named that counts these gradients for
--                 a group
--   to_zero_distance   " + OFFSET" of the distance of a token to itself in a sample of distances; else empty
--   head_lengths  the declaration of T, and of S if there are two lengths, from a head
--   step_lengths, shape_lengths   the length, or the two lengths, of a step and of a shape
--   table_lengths, tables_shape   the lengths of sequences for which the tables in step->shared are computed, and the
--                 shape with these lengths; head_table_lengths: the lengths in the function that makes a head

local M = {}

function M.find(family)
  local cross, spans = family.cross, family.terms.spans
  local S, K = cross and "S" or "T", family.PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
  local bounded, ranged, partial, terms, name = family.bounded, family.ranged, family.partial, family.terms, family.name
  local tables_shape = family.slices and "get_tables_shape(step)" or "&step->shape"
  local table_lengths = family.slices and "get_tables_shape(%s)->length" or "%s->shape.length"
  local function write_lengths(array)
    local text = ("%s[%d]"):format(array, family.queries.stream)
    return cross and ("%s, %s[%d]"):format(text, array, family.keys.stream) or text
  end
  return {
    S = S,
    K = K,
    T_S = cross and "T, S" or "T",
    length_parameters = cross and "int T, int S" or "int T",
    from_key = spans and "begin" or "0",
    to_key = spans and "end" or S,
    keys_seen = spans and "end - begin" or S,
    from_weights = spans and "weights + begin * LANES" or "weights",
    from_values = spans and ("value + begin * %s"):format(K) or "value",
    from_query = bounded and "head->first_query" or "0",
    to_query = bounded and "head->end_query" or "T",
    first_group = bounded and "first_group" or "0",
    has_cached_keys = ranged and not cross,
    row_of_first = ranged and "first - head->from" or "first",
    row_count = ranged and "head->to - head->from" or "head->T",
    used_from = partial and "first_query" or "0",
    used_to = partial and "end_query" or "T",
    forward_from = partial and "first_query" or ranged and "from" or "0",
    forward_to = partial and "end_query" or ranged and "from + count" or "T",
    query_pointer = cross and "query" or "query_key_value",
    key_pointer = cross and "key_value" or "query_key_value + WIDTH",
    score_function = (terms.scaled or terms.hides) and not terms.breaks_stick and name .. "_score",
    open_score_function = terms.scaled and name .. "_open_score",
    score_start = name .. (terms.computes_tables and "_score_start" or "_start"),
    to_dlogits = terms.by_offset and (" + %sKEYS * LANES"):format(family.PREFIX) or "",
    group_array = terms.by_offset and "dlogits" or "weights",
    to_zero_distance = family.positions.distance.independent and (" + %sMAX_POSITION"):format(family.PREFIX) or "",
    span = spans and "begin, end" or S,
    span_parameters = spans and "int begin, int end" or "int " .. S,
    head_lengths = cross and "T = head->T, S = head->S" or "T = head->T",
    step_lengths = write_lengths("step->shape.length"),
    shape_lengths = write_lengths("shape->length"),
    table_lengths = write_lengths(table_lengths:format("step")),
    tables_shape = tables_shape,
    head_table_lengths = family.slices and write_lengths(table_lengths:format("w->step")) or cross and "head.T, head.S"
      or "head.T",
  }
end

return M
