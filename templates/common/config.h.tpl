% include("parts/banner.tpl", { template = "common/config.h.tpl", lines = comments.config })
#ifndef LH_CONFIG_H
#define LH_CONFIG_H

#include "longhand/spec.h"

#if LH_ABI != ${abi}
#error "these sources were written for another version of the runtime: generate them again"
#endif

% if precision == "float64" then
#define REAL_BYTES 8
typedef double real;
% else
#define REAL_BYTES 4
typedef float real;
% end

enum {
    % include("parts/dimensions.tpl")
% local passes_vary = cpu.passes_by_length or cpu.gradient_passes
    PASSES = ${cpu.passes}, /* ${passes_vary and "largest " or ""}number of passes through the layers in training */ % if cpu.passes
    GRADIENT_PASSES = ${cpu.gradient_passes}, /* largest number of passes with gradient */ % if cpu.gradient_passes
    CELL_WIDTH = ${cell_width}, /* width of a memory cell */ % if cell_width
    CELLS = ${capacity.cells}, /* number of memory cells of a sequence */ % if capacity and capacity.cells
    BLOCK_SEQUENCES = ${shard_sequences} /* number of sequences of a shard; they go through all steps together */ % if is_step_major
    BLOCK_TOKENS = ${block_tokens} /* approximate number of tokens in a block, so small that its values fit into the cache */ % else
};

% include("parts/parameters.tpl")

_Static_assert(sizeof(parameters) == ${parameter_elements} * sizeof(real), "layout differs from the tensor table");

#endif
