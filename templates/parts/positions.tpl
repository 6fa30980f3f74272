% if tables then
/* What a position contributes, made once for every position that can occur. */
% if rotation.kind == "rope" then
enum { ROTATION_PERIOD = ${rotation.period} }; /* channels after which a row of heads repeats its angles */
% end
typedef struct position_row {
% if sinusoids then
    real sinusoid[WIDTH]; /* sines, then cosines */
% end
% if rotation.kind == "rope" then
    real rotation[2 * ROTATION_PERIOD]; /* cosines, then signed sines */
% end
} position_row;

static int position_rows(int max_length) {
% if max_position then
    (void)max_length;
    return MAX_POSITION;
% else
    return max_length;
% end
}

static size_t tables_bytes(int max_length) { return (size_t)position_rows(max_length) * sizeof(position_row); }

% if sinusoids then
/* Ruoss et al. 2023: frequency 10000^(-2m / WIDTH), sines in the first half, cosines in the second. */
static void make_sinusoid(int position, real *row) {
    const double step = lh_log(10000.0) * 2 / WIDTH;
    for (int m = 0; m < WIDTH / 2; m++) {
        double sine, cosine;
        lh_sincos(position * lh_exp(-m * step), &sine, &cosine);
        row[m] = (real)sine;
        row[WIDTH / 2 + m] = (real)cosine;
    }
}

% end
% if rotation.kind == "rope" then
% include("parts/make_rotation.tpl")

% end
static void make_tables(void *tables, int max_length) {
    position_row *row = tables;
    for (int position = 0; position < position_rows(max_length); position++) {
% if sinusoids then
        make_sinusoid(position, row[position].sinusoid);
% end
% if rotation.kind == "rope" then
        make_rotation(position, row[position].rotation);
% end
    }
}

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
    int32_t distance[DISTANCE_DRAWS][MAX_POSITION]; /* the first T of each draw are in use; 0, then ascending */
    int32_t distance_scratch[DISTANCE_DRAWS][MAX_POSITION];
% end
% if relative.kind == "transformer_xl" and not relative.toeplitz then
    int32_t relative_row[${relative.sets}][2 * MAX_POSITION]; /* by distance + MAX_POSITION - 1; those that occur */
    int relative_count[${relative.sets}];
% end
} shared;
% if positions.distance.kind == "drawn" then

/* The signed distance of a pair, offset = key - query, from a draw: Ruoss et al. 2023. */
INLINE int drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? -distance[-offset] : distance[offset];
}
% elseif positions.distance.kind == "clamped" then

/* The distance of a pair, offset = key - query, from a draw, as Ruoss et al.'s released code reads its table: keys to
 * the right and the query itself are all alike. */
INLINE int drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? MAX_POSITION - distance[-offset] : MAX_POSITION - 1;
}
% end
