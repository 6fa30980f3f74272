% local pair_logit, channels = "INLINE real " .. prefix .. "pair_logit", "[" .. attends.head_part .. "]"
% slot("row_of_pair")
/* The scaled logit of a pair${inline("about_logit", "")}. */
% define(pair_logit, "const " .. prefix .. "head *a", "const real query" .. channels, "const real key" .. channels, "int i", "int j")
    % slot("add_row")
    return ${prefix}dot_head(query, ${inline("key_and_row", "key")}) * ${PREFIX}LOGIT_SCALE${inline("add_biases", "")};
}
