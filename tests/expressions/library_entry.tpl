static void run(const double *values, const int32_t (*sampled)[TOKENS], const double *logits, const double *weights,
        double *scores, double *slopes, double *gradients) {
    parameters p, g;
    memset(&p, 0, sizeof p);
    memset(&g, 0, sizeof g);
% for _, m in ipairs(entry.members) do
    memcpy(p.${m.path}, values + ${m.at}, ${m.count} * sizeof(real));
% end
    evaluate(&p, sampled, logits, weights, scores, slopes, &g);
% for _, m in ipairs(entry.members) do
    memcpy(gradients + ${m.at}, g.${m.path}, ${m.count} * sizeof(real));
% end
% if not entry.members[1] then
    (void)values;
    (void)gradients;
% end
}

% for _, p in ipairs(entry.parameters) do
% if p.start.list then
static const double start_${p.name}_${entry.number}[] = {${p.start.list}};
% end
% end
static const library_parameter learned[] = {
% for _, p in ipairs(entry.parameters) do
% if p.start.list then
    {"${p.name}", ${p.layers}, ${p.count}, start_${p.name}_${entry.number}, ${p.start.number}, ${p.start.spread}},
% else
    {"${p.name}", ${p.layers}, ${p.count}, NULL, ${p.start.number}, ${p.start.spread}},
% end
% end
    {NULL, 0, 0, NULL, 0, 0},
};
