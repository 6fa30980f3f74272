enum { ${PREFIX}KEYS = ${attends.keys_at_once} }; /* number of keys whose logits are computed at the same time */

% include("attention/cuda/head_vectors.tpl")
% slot("domain") % if not attends.in_fragments

% slot("row_of_pair")
% local is_scaled = attends.in_fragments and attends.rounded == "true" -- queries are stored already scaled, for fragments
% local factor = ""
% if not is_scaled then
% factor = " * " .. PREFIX .. "LOGIT_SCALE"
% elseif attends.to_log2 ~= "" then
% factor = " / LOG2E"
% end
/* The scaled logit of a pair${inline("logit_text", "")}. */
INLINE real ${prefix}pair_logit(const ${prefix}head *a, const real query[${attends.head_part}],
        const real key[${attends.head_part}], int i, int j) {
    % slot("add_row")
    return ${prefix}dot_head(query, ${inline("key_and_row", "key")})${factor}${inline("add_biases", "")};
}
% slot("before_forward")

% -- key_names: C names for the text in slots (make_slot_names of cuda_half.lua)
% local key_names = { a = "a->", head = "a", h = "a->h", j = "j + u", key_count = "a->" .. attends.keys }
% local logit = inline("visited_logit", invoke(prefix .. "pair_logit", "a", "query", "key", "i", "j + u"), key_names)
/* The softmax of a query over the keys so far. Exponentials are relative to the largest score. */
typedef struct ${prefix}softmax {
    real largest, sum, out[${attends.head_part}];
} ${prefix}softmax;

/* Adds `count` keys to the softmax m, from key j on. Computes their scores at the same time, but adds them in order. */
INLINE void ${prefix}add_keys(const int count, const ${prefix}head *a, const real query[${attends.head_part}], int i, int j,
        real *sums, ${prefix}softmax *m) {
    real score[${PREFIX}KEYS], highest = m->largest;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real key[${attends.head_part}];
        ${prefix}load_head(key, a->key + (j + u) * ${attends.key_stride});
        score[u] = ${inline("score", logit, key_names)};
        highest = score[u] > highest ? score[u] : highest;
    }
% include("attention/cuda/add_weights.tpl", { key = "j + u" })
}
