% if normaliser.kind == "geometric" then
/* Of the learned numbers of a layer's attention, lanes not yet summed. */
typedef struct geometric_sums {
    vector content_bias[WIDTH], scale, offset;
% if normaliser.directional then
    vector direction_scale;
% end
} geometric_sums;

% end
/* What the blocks of a shard add up for end_shard; at the start of the workspace, by length alone. */
typedef struct shard_sums {
% if relative.kind ~= "none" then
    real *rows[LAYERS]; /* [rows][RELATIVE_WIDTH] gradients of the rows of distances */
% if relative.biases then
    real *biases[LAYERS]; /* [HEADS][content, position][HEAD_WIDTH][LANES] of the biases, lanes not yet summed */
% end
% end
% if score.trains then
    score_tables score[SCORE_SETS];
% end
% if normaliser.kind == "geometric" then
    geometric_sums *geometric[LAYERS];
% end
} shard_sums;

static void lay_out_sums(shard_sums *sums, char *memory, size_t *used, int T) {
% if relative.kind == "none" then
% elseif relative.toeplitz then
    size_t rows = (size_t)relative_count(T);
% elseif relative.biases then
    size_t rows = (size_t)relative_most(T);
% else
    size_t rows = 2 * CLIP + 1;
    (void)T;
% end
% if relative.kind ~= "none" then
    for (int l = 0; l < LAYERS; l++) {
        sums->rows[l] = take(memory, used, rows * RELATIVE_WIDTH * sizeof(real));
% if relative.biases then
        sums->biases[l] = take(memory, used, 2 * WIDTH * LANES * sizeof(real));
% end
    }
% end
% if score.trains then
    for (int set = 0; set < SCORE_SETS; set++) lay_out_score(&sums->score[set], memory, used, T);
% end
% if normaliser.kind == "geometric" then
    for (int l = 0; l < LAYERS; l++) sums->geometric[l] = take(memory, used, sizeof(geometric_sums));
    (void)T;
% end
}
