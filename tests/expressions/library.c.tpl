/* The library of scores: written by tests/expressions/library.lua. */
#include "expressions/library.h"

#include "expressions/expressions.h"

_Static_assert(TOKENS == ${tokens} && HEADS == ${heads} && LAYERS == ${layers}, "sizes differ from library.lua");
% for _, e in ipairs(entries) do

#define CASE ${e.number}
#include "expressions/names.h"
% include("formula.tpl", { score = e.score, positions = e.positions, terms = e.terms })

% include("library_entry.tpl", { entry = e })
#include "expressions/unnames.h"
#undef CASE
% end

const library_entry library_entries[] = {
% for _, e in ipairs(entries) do
    {"${e.name}", ${e.samples_distances}, learned_${e.number}, run_${e.number}},
% end
    {NULL, false, NULL, NULL},
};
