% local directional = normaliser.directional
% local turned = rotation.kind == "rope" and ", queries and keys turned" or ""
/* What one layer keeps for its backward pass; rows are tokens. */
typedef struct layer_state {
    real *input; /* [tokens][WIDTH] */
    real *query_key_value; /* [tokens][3 WIDTH]${turned} */
% if directional then
    real *direction; /* [tokens][DIRECTION_WIDTH] */
% end
    self_kept self;
    real *attended; /* [tokens][WIDTH] heads side by side */
    real *norm1_xhat, *norm1_rstd; /* [tokens][WIDTH], [tokens] */
    real *norm1; /* [tokens][WIDTH] input of the feed-forward network */
    real *hidden; /* [tokens][FEEDFORWARD] */
    real *norm2_xhat, *norm2_rstd;
% if dropout.kind == "bernoulli" then
    int8_t *attention_keep, *feedforward_keep; /* [tokens][WIDTH] 0 or -1 */
% end
} layer_state;

typedef struct workspace {
    const lh_cpu_step *step;
    const lh_cpu_block *block;
    int length, sequences, tokens, rows; /* rows: tokens rounded up to whole tiles */
    layer_state layer[LAYERS];
    real *output; /* [rows][WIDTH] of the last layer */
    real *branch; /* [rows][WIDTH] what a residual connection adds */
% if additive.dropout.kind == "bernoulli" then
    int8_t *embedding_keep;
% end
    real *gradient, *dbranch, *dattended; /* [rows][WIDTH] */
    real *dhidden; /* [rows][FEEDFORWARD] */
    real *dquery_key_value; /* [rows][3 WIDTH] */
% if directional then
    real *ddirection; /* [rows][DIRECTION_WIDTH] */
% end
    self_scratch self;
% if positions.kind == "sequence" then
    int32_t *position, *position_scratch; /* [tokens] of every sequence, drawn by embed; [MAX_POSITION] */
% end
% if sums then
    shard_sums sums;
% end
} workspace;

static void lay_out_layer(layer_state *s, const workspace *w, char *memory, size_t *used, lh_mode mode) {
    size_t row = (size_t)w->rows * sizeof(real);
    if (mode == LH_MODE_TRAIN) s->input = take(memory, used, row * WIDTH);
    s->query_key_value = take(memory, used, row * 3 * WIDTH);
% if directional then
    s->direction = take(memory, used, row * DIRECTION_WIDTH);
% end
    lay_out_self_kept(&s->self, memory, used, w->sequences, w->length, mode == LH_MODE_TRAIN);
    s->attended = take(memory, used, row * WIDTH);
    s->norm1_xhat = take(memory, used, row * WIDTH);
    s->norm1_rstd = take(memory, used, row);
    s->norm1 = take(memory, used, row * WIDTH);
    s->hidden = take(memory, used, row * FEEDFORWARD);
    s->norm2_xhat = take(memory, used, row * WIDTH);
    s->norm2_rstd = take(memory, used, row);
% if dropout.kind == "bernoulli" and eval_dropout then
    s->attention_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
    s->feedforward_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
% elseif dropout.kind == "bernoulli" then
    if (mode == LH_MODE_TRAIN) {
        s->attention_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
        s->feedforward_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
    }
% end
}

/* Places everything a block needs into memory and returns the bytes used. */
static size_t lay_out(workspace *w, char *memory, const lh_shape *shape, lh_mode mode) {
    size_t used = 0;
    w->length = shape->length[0];
    w->sequences = shape->sequences;
    w->tokens = w->sequences * w->length;
    w->rows = round_up(w->tokens, TILE_ROWS);
    size_t row = (size_t)w->rows * sizeof(real);
% if sums then
    if (mode == LH_MODE_TRAIN) used = lay_out_sums(&w->sums, memory, shape);
% end
    for (int l = 0; l < (mode == LH_MODE_TRAIN ? LAYERS : 1); l++)
        lay_out_layer(&w->layer[l], w, memory, &used, mode);
    w->output = take(memory, &used, row * WIDTH);
    w->branch = take(memory, &used, row * WIDTH);
    lay_out_self_scratch(&w->self, memory, &used, w->length, mode == LH_MODE_TRAIN);
% if positions.kind == "sequence" then
    w->position = take(memory, &used, (size_t)w->tokens * sizeof(int32_t));
    w->position_scratch = take(memory, &used, MAX_POSITION * sizeof(int32_t));
% end
% if eval_dropout and additive.dropout.kind == "bernoulli" then
    w->embedding_keep = take(memory, &used, (size_t)w->rows * WIDTH + KEEP_PAD);
% end
    if (mode != LH_MODE_TRAIN) return used;
% if additive.dropout.kind == "bernoulli" and not eval_dropout then
    w->embedding_keep = take(memory, &used, (size_t)w->rows * WIDTH + KEEP_PAD);
% end
    w->gradient = take(memory, &used, row * WIDTH);
    w->dbranch = take(memory, &used, row * WIDTH);
    w->dattended = take(memory, &used, row * WIDTH);
    w->dhidden = take(memory, &used, row * FEEDFORWARD);
    w->dquery_key_value = take(memory, &used, row * 3 * WIDTH);
% if directional then
    w->ddirection = take(memory, &used, row * DIRECTION_WIDTH);
% end
    return used;
}

/* A workspace in memory for one block of a step. */
static void start_block(workspace *w, const lh_cpu_step *step, const lh_cpu_block *block, void *memory, lh_mode mode) {
    lh_shape shape = step->shape;
    shape.sequences = block->sequences;
    lay_out(w, memory, &shape, mode);
    w->step = step;
    w->block = block;
}
