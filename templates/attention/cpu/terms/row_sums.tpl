% -- Sums over the keys of a query, which formulas of scores read.
% local count = row_sums.count > 1 and " * " .. row_sums.count or ""
% local layout = row_sums.count > 1 and ("[keys][%d][LANES]"):format(row_sums.count) or "[keys][LANES]"
% section("members")
real *row_sums, *logits; /* workspaces of ${name}_scratch */
% section("head")
head.row_sums = w->${name}.row_sums;
head.logits = w->${name}.logits;
% section("forward")
/* A mask of the queries of a group that see key j. */
INLINE bits ${name}_sees(const ${name}_head *head, const ${name}_queries *group, int j) {
    return j > group->first ? ${inline("visible", false)} : ~(bits){0};
}

/* Writes the logits of a group with keys from..to - 1. Then writes for each key, from the last to the first, the term of
 * this key plus the terms of the later keys that the query sees. */
INLINE void sum_${name}_rows(const ${name}_head *head, const ${name}_queries *group, const real *restrict key, int from,
        int to, real *logits) {
    int j = from;
    % include("attention/cpu/write_logits.tpl")
    vector ${sum.name} = {0}; % for _, sum in ipairs(row_sums)
    for (j = to - 1; j >= from; j--) {
        vector logit = load(logits + j * LANES); % if row_sums.reads_logit
        bits sees = ${name}_sees(head, group, j);
% for _, sum in ipairs(row_sums) do
        ${sum.name} += ${name}_score_${sum.name}(head->scores, head->running, head->h, group->first, j, logit);
        store(head->row_sums + ${sum.place}, ${sum.name});
        ${sum.name} = keep_where(sees, ${sum.name});
% end
    }
}

sum_${name}_rows(head, &queries, key, ${from}, ${to}, ${logits}); % section("scan")
sum_${name}_rows(head, &queries, key, ${from}, ${to}, head->logits); % section("scan_back") % if scalar.needs_pair_gradient
bits seen = ${name}_sees(head, &queries, j); % section("pair_back") % if row_sums.has_gradients
% section("scratch")
real *row_sums; /* ${layout} sums over the keys of a group */
real *logits; /* [keys][LANES] of a group, in the backward pass */
% section("lay_out_scratch")
scratch->row_sums = reserve(memory, used, (size_t)T${count} * LANES * sizeof(real));
scratch->logits = reserve(memory, used, (size_t)T * LANES * sizeof(real)); % section("lay_out_training")
