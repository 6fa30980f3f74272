% local distance_text = scalar.members.has_distance_tables and " The pointer to a table indexed by (query - key) points to index 0, after " .. S .. " - 1 elements of negative indices." or ""
% local gradients = scalar.has_trained_tables and " Their gradients have the same layout." or ""
/* Tables that the score reads in the loop over pairs of queries and keys. They are made once per step, for all sequences of its batch.${gradients}${distance_text} */
% local set = { set = name .. "_score_tables", lay_out = "lay_out_" .. name .. "_scores", bytes = name .. "_score_bytes" }
% set.numbers, set.members, set.lengths, set.arguments = scalar.numbers, scalar.members, length_parameters, T_S
% include("parts/scalar_set.tpl", set)
