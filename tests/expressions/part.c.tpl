/* Random formulas, part ${part}: written by tests/expressions/generate.lua. */
#include "expressions/expressions.h"

enum { LAYERS = ${layers}, HEADS = ${heads}, TOKENS = ${tokens} };

/* [LAYERS][HEADS][keys][queries] */
static const real given_logits[] = {${logits}};
static const real given_weights[] = {${weights}};
% for _, c in ipairs(cases) do

#define CASE ${c.number}
#include "expressions/names.h"
% include("expression.tpl", { case = c, score = c.score, positions = c.positions_plan, terms = c.terms, formula = "formula.tpl" })
#include "expressions/unnames.h"
#undef CASE
% end

const expression_case expression_part_${part}[] = {
% for _, c in ipairs(cases) do
    {run_${c.number}, "${c.text}"},
% end
    {NULL, NULL},
};
