% local lengths = cross and "int T, int S" or "int T"
% local T_S = cross and "T, S" or "T"
% if normaliser.kind == "geometric" then
/* Of the learned numbers of a layer's attention, lanes not yet summed. */
typedef struct ${name}_number_sums {
    vector content_bias[WIDTH], scale, offset;
% if normaliser.directional then
    vector direction_scale;
% end
} ${name}_number_sums;

% end
/* What the blocks of a shard add up of the ${name}-attentions for the end of the shard. */
typedef struct ${name}_sums {
% if relative.kind ~= "none" then
% if relative.turned then
    real *weights[${stack.count}]; /* [HEADS][HEAD_WIDTH][WIDTH] gradients of the weight, from a head's channel */
% else
    real *rows[${stack.count}]; /* [rows][RELATIVE_WIDTH] gradients of the rows of distances */
% end
% if relative.biases then
    real *biases[${stack.count}]; /* [HEADS][content, position][HEAD_WIDTH][LANES] of the biases, lanes not yet summed */
% end
% end
% if score.trains then
    ${name}_score_tables score[${PREFIX}SCORE_SETS];
% end
% if normaliser.kind == "geometric" then
    ${name}_number_sums *numbers[${stack.count}];
% end
} ${name}_sums;

static void lay_out_${name}_sums(${name}_sums *sums, char *memory, size_t *used, ${lengths}) {
% if relative.kind == "none" then
% elseif relative.turned then
    (void)T;
% if cross then
    (void)S;
% end
% elseif relative.toeplitz then
    size_t rows = (size_t)${name}_distance_count(${T_S});
% else
    size_t rows = ${relative.rows_text};
    (void)T;
% if cross then
    (void)S;
% end
% end
% if relative.kind ~= "none" then
    for (int l = 0; l < ${stack.count}; l++) {
% if relative.turned then
        sums->weights[l] = take(memory, used, WIDTH * WIDTH * sizeof(real));
% else
        sums->rows[l] = take(memory, used, rows * ${PREFIX}RELATIVE_WIDTH * sizeof(real));
% end
% if relative.biases then
        sums->biases[l] = take(memory, used, 2 * WIDTH * LANES * sizeof(real));
% end
    }
% end
% if score.trains then
    for (int set = 0; set < ${PREFIX}SCORE_SETS; set++)
        lay_out_${name}_scores(&sums->score[set], memory, used, ${T_S});
% end
% if normaliser.kind == "geometric" then
    for (int l = 0; l < ${stack.count}; l++) sums->numbers[l] = take(memory, used, sizeof(${name}_number_sums));
    (void)T;
% end
}
