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
% elseif draws_distances then
    MAX_POSITION = ${max_position},
% end
% if draws_distances then
    DISTANCE_DRAWS = ${positions.distance.draws}, /* of distances, from 1 .. MAX_POSITION - 1 */
% end
% if score.kind ~= "none" then
    SCORE_SETS = ${score.sets}, /* of tables that the score reads${score.sets_words} */
% end
% if relative.kind == "shaw" then
    CLIP = ${relative.clip}, /* farther keys share the vector of this distance */
% end
    BLOCK_TOKENS = ${block_tokens} /* about as many go through all layers while they are hot in cache */
};

/* Parameters, and in the same places their gradients and moments. Weights are [in][out]. */
typedef struct layer_parameters {
    real query_key_value[WIDTH * 3 * WIDTH]; /* [WIDTH][query WIDTH | key WIDTH | value WIDTH] */
    real attention_output[WIDTH * WIDTH];
% if relative.kind == "transformer_xl" then
    real relative[WIDTH * WIDTH], content_bias[WIDTH], position_bias[WIDTH];
% elseif relative.kind == "shaw" then
    real relative_table[${relative.room}]; /* [2 CLIP + 1][HEAD_WIDTH], filled up to whole vectors */
% end
    real norm1_scale[WIDTH], norm1_offset[WIDTH];
    real up[WIDTH * FEEDFORWARD], up_bias[FEEDFORWARD];
    real down[FEEDFORWARD * WIDTH], down_bias[WIDTH];
    real norm2_scale[WIDTH], norm2_offset[WIDTH];
% for _, q in ipairs(score.learned) do
% if q.per_layer then
    real ${q.member}[${q.room}]; /* [${q.shape_text}], filled up to whole vectors */
% end
% end
} layer_parameters;

typedef struct parameters {
    real token[TOKENS * WIDTH];
% if additive.kind == "learned" then
    real position_table[POSITION_ROWS * WIDTH];
% end
    layer_parameters layer[LAYERS];
    real output[WIDTH * CLASS_COLUMNS], output_bias[CLASS_COLUMNS];
% for _, q in ipairs(score.learned) do
% if not q.per_layer then
    real ${q.member}[${q.room}]; /* [${q.shape_text}], filled up to whole vectors */
% end
% end
} parameters;

_Static_assert(sizeof(parameters) == ${parameter_elements} * sizeof(real), "layout differs from the tensor table");

#endif
