% local names = { lengths = "int T, int S", arguments = "T, S" }
% local distance_text = scalar.cuda.tables.has_distance_tables and (" A table indexed by (query - key) has %s - 1 elements before its pointer, for negative indices."):format(S) or ""
/* Tables that the score reads in loops over pairs of queries and keys. They are made once per step, for all sequences of its batch.${distance_text}${scalar.has_trained_tables and scalar.cuda.gradient_set.shared and " The tables of gradients have the same layout." or ""} */
% names.numbers, names.members, names.set = scalar.cuda.numbers, scalar.cuda.tables, prefix .. "score_tables"
% names.lay_out, names.bytes = prefix .. "lay_out_score", prefix .. "score_bytes"
% include("parts/scalar_set.tpl", names)
% if scalar.has_trained_tables and not scalar.cuda.gradient_set.shared then

/* The gradients of a set of tables, separately for each head. The loops over pairs add to them. */
% names.numbers, names.members, names.set = scalar.cuda.gradient_numbers, scalar.cuda.gradients, prefix .. "score_gradients"
% names.lay_out, names.bytes = prefix .. "lay_out_score_gradients", prefix .. "score_gradient_bytes"
% include("parts/scalar_set.tpl", names)
% end
% if scalar.cuda.work[1] then

/* The workspace of end_score. */
% names.numbers, names.members, names.set = {}, scalar.cuda.work, prefix .. "score_work"
% names.lay_out, names.bytes = prefix .. "lay_out_score_work", prefix .. "score_work_bytes"
% include("parts/scalar_set.tpl", names)
% end
