% if tables then
% include("parts/position_tables.tpl")

% end
/* The weights of a layer as panels (kernels/cpu/matmul.h), and transposed for the backward pass. */
typedef struct layer_panels {
    real query_key_value[3 * WIDTH * WIDTH], query_key_value_transposed[3 * WIDTH * WIDTH];
    real attention_output[WIDTH * WIDTH], attention_output_transposed[WIDTH * WIDTH];
    real up[FEEDFORWARD * WIDTH], up_transposed[FEEDFORWARD * WIDTH];
    real down[WIDTH * FEEDFORWARD], down_transposed[WIDTH * FEEDFORWARD];
% for _, family in ipairs(attentions) do
% if family.relative.kind == "transformer_xl" then
    real ${family.prefix}relative[WIDTH * WIDTH];
% end
% if family.normaliser.directional then
    real direction[WIDTH * DIRECTION_WIDTH], direction_transposed[WIDTH * DIRECTION_WIDTH];
% end
% end
} layer_panels;

/* What the blocks of a step share. */
typedef struct shared {
    layer_panels layer[LAYERS];
    real output_rows[CLASS_COLUMNS * WIDTH];
% for _, family in ipairs(attentions) do
    % include("cpu/shared_draws.tpl", family)
% end
} shared;
