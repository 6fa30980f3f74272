% if tables then
% include("parts/position_tables.tpl")

% end
/* The weights of a layer as panels (kernels/cpu/matmul.h), and transposed for the backward pass. */
typedef struct layer_panels {
    real query_key_value[3 * WIDTH * WIDTH], query_key_value_transposed[3 * WIDTH * WIDTH];
    real attention_output[WIDTH * WIDTH], attention_output_transposed[WIDTH * WIDTH];
    real up[FEEDFORWARD * WIDTH], up_transposed[FEEDFORWARD * WIDTH];
    real down[WIDTH * FEEDFORWARD], down_transposed[WIDTH * FEEDFORWARD];
% if relative.kind == "transformer_xl" then
    real relative[WIDTH * WIDTH];
% end
% if normaliser.directional then
    real direction[WIDTH * DIRECTION_WIDTH], direction_transposed[WIDTH * DIRECTION_WIDTH];
% end
} layer_panels;

/* What the blocks of a step share. */
typedef struct shared {
    layer_panels layer[LAYERS];
    real output_rows[CLASS_COLUMNS * WIDTH];
% if positions.kind == "randomized" then
    int32_t position[DRAWS][MAX_POSITION]; /* the first T of each draw are in use */
    int32_t scratch[DRAWS][MAX_POSITION];
% end
% if draws_distances then
% if positions.distance.independent then
    int32_t distance[DISTANCE_DRAWS][2 * MAX_POSITION]; /* signed, by key - query + MAX_POSITION */
% else
    int32_t distance[DISTANCE_DRAWS][MAX_POSITION]; /* the first T of each draw are in use; 0, then ascending */
% end
    int32_t distance_scratch[DISTANCE_DRAWS][MAX_POSITION];
% end
% if relative.kind == "transformer_xl" and not relative.toeplitz then
    int32_t relative_row[${relative.sets}][2 * MAX_POSITION]; /* by distance + MAX_POSITION - 1; those that occur */
    int relative_count[${relative.sets}];
% end
} shared;
% if draws_distances then

% include("parts/drawn_distance.tpl")
% end
