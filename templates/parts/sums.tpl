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
}
