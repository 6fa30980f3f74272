/* The library of scores: written by tests/expressions/library.lua. */
#include "expressions/library.h"

#include "expressions/expressions.h"

_Static_assert(TOKENS == ${tokens} && HEADS == ${heads} && LAYERS == ${layers}, "sizes differ from library.lua");
% for _, e in ipairs(entries) do

#define CASE ${e.number}
#include "expressions/names.h"
% include("formula.tpl", { score = e.score, positions = e.positions })

static void run(const double *values, const int32_t (*drawn)[TOKENS], const double *logits, const double *weights,
        double *scores, double *slopes, double *gradients) {
    parameters p, g;
    memset(&p, 0, sizeof p);
    memset(&g, 0, sizeof g);
% for _, m in ipairs(e.members) do
    memcpy(p.${m.path}, values + ${m.at}, ${m.count} * sizeof(real));
% end
    evaluate(&p, drawn, logits, weights, scores, slopes, &g);
% for _, m in ipairs(e.members) do
    memcpy(gradients + ${m.at}, g.${m.path}, ${m.count} * sizeof(real));
% end
% if not e.members[1] then
    (void)values;
    (void)gradients;
% end
}
#include "expressions/unnames.h"
#undef CASE
% for _, p in ipairs(e.parameters) do
% if p.start.list then
static const double start_${p.name}_${e.number}[] = {${p.start.list}};
% end
% end
static const library_parameter learned_${e.number}[] = {
% for _, p in ipairs(e.parameters) do
% if p.start.list then
    {"${p.name}", ${p.layers}, ${p.count}, start_${p.name}_${e.number}, ${p.start.number}, ${p.start.spread}},
% else
    {"${p.name}", ${p.layers}, ${p.count}, NULL, ${p.start.number}, ${p.start.spread}},
% end
% end
    {NULL, 0, 0, NULL, 0, 0},
};
% end

const library_entry library_entries[] = {
% for _, e in ipairs(entries) do
    {"${e.name}", ${e.drawn}, learned_${e.number}, run_${e.number}},
% end
    {NULL, false, NULL, NULL},
};
