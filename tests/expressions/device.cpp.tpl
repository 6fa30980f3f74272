/* Random formulas as device code, part ${part}: written by tests/expressions/generate.lua. */
enum { LAYERS = ${layers}, HEADS = ${heads}, TOKENS = ${tokens}, MAX_POSITION = ${max_position} };
#include "expressions/device.h"
extern "C" {
#include "expressions/cases.h"
}

enum { ORDERS = 3 };

/* [LAYERS][HEADS][keys][queries] */
static const real given_logits[] = {${logits}};
static const real given_weights[] = {${weights}};
% for _, c in ipairs(cases) do

namespace formula_${c.number} {
% local kernel = "formula_kernel_" .. c.number
% include("expression.tpl", { case = c, score = c.score, positions = c.positions_plan, terms = c.terms, kernel = kernel,
%     formula = "device_formula.tpl" })
}
% end

const expression_case expression_part_${part}[] = {
% for _, c in ipairs(cases) do
    {formula_${c.number}::run, "${c.text}"},
% end
    {NULL, NULL},
};
