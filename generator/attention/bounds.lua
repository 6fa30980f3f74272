-- Names of the bounds of loops over queries and keys, in C.
--
-- Input: a planned attention family with its terms (terms.lua), and its fields has_query_bounds, is_decoded and
-- computes_labelled_tokens (plan/deriving/dimensions.lua) and slices (plan/deriving/encoding_facets.lua). `slices` is
-- true if shorter sequences read parts of the tables of the longest sequences. A group is LANES queries that are
-- computed together; its span is a run of consecutive keys that contains every key that its queries see. Output, C
-- texts unless another type is given:
--
--   S             the number of keys
--   K             the stride of keys: the number of elements from the row of one key to the row of the next key
--   T_S           the numbers of queries and keys as arguments; T alone if both numbers are equal
--   length_parameters   the parameters for the arguments T_S
--   from_key      the first key of a group's span
--   to_key        the key after the last key of the span
--   keys_seen     the number of keys of the span
--   from_weights  the weights of a group, from its first key on
--   from_values   the values of a group, from its first key on
--   from_query    the first query to compute
--   to_query      the query after the last query to compute
--   first_group   the first query of the group that contains from_query
--   span          the bounds of the span as arguments of the functions for a group
--   span_parameters   the parameters for the arguments of `span`
--   has_cached_keys   a boolean: whether keys of earlier calls may precede the keys of this call's queries
--   row_of_first  the row of the group's first query, `first`, in the buffers
--   row_count     the number of rows of queries in the buffers
--   used_from     the first query whose result is used
--   used_to       the query after the last query whose result is used
--   forward_from, forward_to   the values of used_from and used_to in a forward call
--   query_pointer   in functions that compute all heads, the pointer to the rows of queries
--   key_pointer   in functions that compute all heads, the pointer to the rows of keys
--   score_function   the function that computes a score from its logit, for any key; or false
--   open_score_function   such a function for keys that all queries of the group see; or false
--   score_start   the function that gives the offset of the score's tables in step->shared
--   to_dlogits    an offset, not a bound: the text that is added to the address of the array of gradients of logits if
--                 this array begins with zeros: " + " and the number of these zeros; else the empty text
--   group_dlogits_function   the function that counts the array elements for a group's gradients of logits
--   to_zero_distance   an offset, not a bound: the text that is added to the address of a sample of distances if the
--                 sample has distances to both sides: " + " and the index of the distance 0; else the empty text
--   head_lengths  the declarators that read T from a head, and S if there are two lengths
--   step_lengths  the length, or the two lengths, of a step
--   shape_lengths   the length, or the two lengths, of a shape
--   table_lengths   the lengths of sequences for which the tables in step->shared are computed
--   tables_shape  the shape with the lengths table_lengths
--   head_table_lengths   the lengths table_lengths for the text of the function make_<family>_head, which has no
--                 variable `step`

local M = {}

function M.find(family)
  local cross, terms, name = family.cross, family.terms, family.name
  local S, K = cross and "S" or "T", family.PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
  local has_spans, has_query_bounds = terms.has_spans, family.has_query_bounds
  local is_decoded, computes_labelled_tokens = family.is_decoded, family.computes_labelled_tokens
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
    from_key = has_spans and "begin" or "0",
    to_key = has_spans and "end" or S,
    keys_seen = has_spans and "end - begin" or S,
    from_weights = has_spans and "weights + begin * LANES" or "weights",
    from_values = has_spans and ("value + begin * %s"):format(K) or "value",
    from_query = has_query_bounds and "head->first_query" or "0",
    to_query = has_query_bounds and "head->end_query" or "T",
    first_group = has_query_bounds and "first_group" or "0",
    has_cached_keys = is_decoded and not cross,
    row_of_first = is_decoded and "first - head->from" or "first",
    row_count = is_decoded and "head->to - head->from" or "head->T",
    used_from = computes_labelled_tokens and "first_query" or "0",
    used_to = computes_labelled_tokens and "end_query" or "T",
    forward_from = computes_labelled_tokens and "first_query" or is_decoded and "from" or "0",
    forward_to = computes_labelled_tokens and "end_query" or is_decoded and "from + count" or "T",
    query_pointer = cross and "query" or "query_key_value",
    key_pointer = cross and "key_value" or "query_key_value + WIDTH",
    score_function = (terms.maps_logits or terms.hides_keys) and not terms.breaks_stick and name .. "_score",
    open_score_function = terms.maps_logits and name .. "_open_score",
    score_start = name .. (terms.computes_tables and "_score_start" or "_start"),
    to_dlogits = terms.by_offset and (" + %sKEYS * LANES"):format(family.PREFIX) or "",
    group_dlogits_function = name .. (terms.by_offset and "_group_dlogits" or "_group_weights"),
    to_zero_distance = family.positions.distance.independent and (" + %sMAX_POSITION"):format(family.PREFIX) or "",
    span = has_spans and "begin, end" or S,
    span_parameters = has_spans and "int begin, int end" or "int " .. S,
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
