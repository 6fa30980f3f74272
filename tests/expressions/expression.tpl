% include(formula)

static bool run(char *message, size_t size) {
    static const real want_score[] = {${case.scores}};
    static const real want_slope[] = {${case.slopes}};
% if case.sampled_text then
    static const int32_t sampled[LAYERS][TOKENS] = ${case.sampled_text};
% end
    enum { COUNT = LAYERS * HEADS * TOKENS * TOKENS };
    static real scores[COUNT], slopes[COUNT];
    parameters p, g;
    memset(&p, 0, sizeof p);
    memset(&g, 0, sizeof g);
% for _, list in ipairs(case.lists) do
    {
        static const real values[] = {${list.values}};
        memcpy(p.${list.member}, values, sizeof values);
    }
% end
    evaluate(&p, ${case.sampled_text and "sampled" or "NULL"}, given_logits, given_weights, scores, slopes, &g);
    bool good = are_all_close(scores, want_score, COUNT, 1e-9, "score", message, size);
    good = are_all_close(slopes, want_slope, COUNT, 2e-7, "slope", message, size) && good;
% for _, list in ipairs(case.lists) do
    {
        static const real gradient[] = {${list.gradients}};
        good = are_all_close(g.${list.member}, gradient, ${list.count}, 2e-6, "${list.member}", message, size) && good;
    }
% end
    return good;
}
