/* The library of scores as device code: written by tests/expressions/library.lua. */
extern "C" {
#include "expressions/library.h"
}

enum { MAX_POSITION = ${max_position} };
#include "expressions/device.h"

static_assert(TOKENS == ${tokens} && HEADS == ${heads} && LAYERS == ${layers}, "sizes differ from library.lua");

enum { ORDERS = 1 };
% for _, e in ipairs(entries) do

namespace entry_${e.number} {
% local kernel = "library_kernel_" .. e.number
% include("device_formula.tpl", { score = e.score, positions = e.positions, terms = e.terms, kernel = kernel })

% include("library_entry.tpl", { entry = e })
}
% end

const library_entry library_entries[] = {
% for _, e in ipairs(entries) do
    {"${e.name}", ${e.samples_distances}, entry_${e.number}::learned, entry_${e.number}::run},
% end
    {NULL, false, NULL, NULL},
};
