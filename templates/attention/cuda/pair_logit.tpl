% slot("row_of_pair")
/* The scaled logit of a pair${inline("about_logit", "")}. */
INLINE real ${prefix}pair_logit(const ${prefix}head *a, const real query[${attends.head_part}],
        const real key[${attends.head_part}], int i, int j) {
    % slot("add_row")
    return ${prefix}dot_head(query, ${inline("key_and_row", "key")}) * ${PREFIX}LOGIT_SCALE${inline("add_biases", "")};
}
