% include("parts/banner.tpl", { template = "common/config.h.tpl", about = about.config })
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
    LAYERS = ${layers},
    WIDTH = ${width},
    HEADS = ${heads},
    HEAD_WIDTH = ${head_width},
    FEEDFORWARD = ${feedforward},
    TOKENS = ${tokens}, /* rows of the embedding: input symbols, one that is never used, the empty output */
    CLASSES = ${classes},
    CLASS_COLUMNS = ${class_columns}, /* classes, rounded up to a whole vector */
% if additive.kind == "learned" then
    POSITION_ROWS = ${additive.rows},
% end
% if positions.kind == "randomized" then
    MAX_POSITION = ${positions.max_position}, /* positions are drawn from 0 .. MAX_POSITION - 1 */
    DRAWS = ${positions.draws}, /* independent draws of one pass */
% end
    BLOCK_TOKENS = ${block_tokens} /* about as many go through all layers while they are hot in cache */
};

/* Parameters, and in the same places their gradients and moments. Weights are [in][out]. */
typedef struct layer_parameters {
    real query_key_value[WIDTH * 3 * WIDTH]; /* [WIDTH][query WIDTH | key WIDTH | value WIDTH] */
    real attention_output[WIDTH * WIDTH];
    real norm1_scale[WIDTH], norm1_offset[WIDTH];
    real up[WIDTH * FEEDFORWARD], up_bias[FEEDFORWARD];
    real down[FEEDFORWARD * WIDTH], down_bias[WIDTH];
    real norm2_scale[WIDTH], norm2_offset[WIDTH];
} layer_parameters;

typedef struct parameters {
    real token[TOKENS * WIDTH];
% if additive.kind == "learned" then
    real position_table[POSITION_ROWS * WIDTH];
% end
    layer_parameters layer[LAYERS];
    real output[WIDTH * CLASS_COLUMNS], output_bias[CLASS_COLUMNS];
} parameters;

_Static_assert(sizeof(parameters) == ${parameter_elements} * sizeof(real), "layout differs from the tensor table");

#endif
