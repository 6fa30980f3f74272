% if normaliser.kind == "geometric" then
/* Of the logits of geometric attention, filled up to a whole vector. */
typedef struct geometric_numbers {
    real scale, offset${normaliser.directional and ", direction_scale" or ""}, fill[${normaliser.fill}];
} geometric_numbers;

% end
/* Parameters, and in the same places their gradients and moments. Weights are [in][out]. */
typedef struct layer_parameters {
    real query_key_value[WIDTH * 3 * WIDTH]; /* [WIDTH][query WIDTH | key WIDTH | value WIDTH] */
    real attention_output[WIDTH * WIDTH];
% if relative.kind == "transformer_xl" then
    real relative[WIDTH * WIDTH], content_bias[WIDTH], position_bias[WIDTH];
% elseif relative.kind == "shaw" then
    real relative_table[${relative.room}]; /* [2 CLIP + 1][HEAD_WIDTH], filled up to whole vectors */
% end
% if normaliser.kind == "geometric" then
    real content_bias[WIDTH];
% if normaliser.directional then
    real direction[WIDTH * DIRECTION_WIDTH], direction_bias[DIRECTION_WIDTH]; /* (right, left) of every head */
% end
    geometric_numbers geometric;
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
