% local drops = dropouts[1] ~= nil
% local turned = rotation.kind == "rope" and ", queries and keys turned" or ""
% local geometric, directional = normaliser.kind == "geometric", normaliser.directional
% local pair_sequences = cuda.pairs and "pair_sequences(sequences, T)" or "sequences"
/* Hands out the next `bytes`, on cache-line boundaries; memory NULL only counts. */
INLINE void *take(char *memory, size_t *used, size_t bytes) {
    size_t start = *used;
    *used += (bytes + 63) / 64 * 64;
    return memory ? memory + start : (void *)0;
}

INLINE real *take_reals(char *memory, size_t *used, size_t count) {
    return (real *)take(memory, used, count * sizeof(real));
}

/* A layer's activations of a shard, kept for the backward pass; rows are tokens, sequence after sequence. In evaluation
 * the layers share one.
 *
 * reals: where they lie is known to the compiler. What the loops over pairs read is not of that type: these loops would
 * need 10 to 20 registers more, with as many loads of memory. */
typedef struct layer_state {
    real *query_key_value; /* [rows][3 WIDTH]${turned} */
% if relative.biases then
    real *key_bias; /* [sequences][HEADS][T] of a key with the content bias, times LOGIT_SCALE */
% end
% if directional then
    reals direction; /* [rows][DIRECTION_WIDTH] before the bias */
% end
% if normaliser.normalised then
    reals inverse_total; /* [sequences][HEADS][T] of a query's weights */
% elseif not geometric then
    real *largest, *inverse_sum; /* [sequences][HEADS][T] of a query's softmax */
% end
    real *attended; /* [rows][WIDTH] heads side by side */
    reals xhat1, rstd1; /* [rows][WIDTH], [rows] */
    reals norm1; /* [rows][WIDTH] input of the feed-forward network */
    reals hidden; /* [rows][FEEDFORWARD] */
    reals xhat2, rstd2;
    reals output; /* [rows][WIDTH] input of the next layer */
} layer_state;

% if cuda.pairs then
/* Sequences whose pairs' gradients are kept at a time, so that all threads have one to work on. */
INLINE int pair_sequences(int sequences, int T) {
    const int enough = (4 * ${cuda.threads} + HEADS * T - 1) / (HEADS * T);
    return enough < sequences ? enough : sequences;
}

% end
% if geometric then
enum { QUERY_SUMS = ${directional and 3 or 2} };

% end
/* The rest of a block's room. */
typedef struct workspace {
    reals input; /* [rows][WIDTH] of the first layer */
    reals branch; /* [rows][WIDTH] what a residual connection adds */
    reals logits; /* [sequences][label_count][CLASS_COLUMNS] */
    reals losses; /* [sequences][label_count] */
    masks correct; /* [sequences][label_count] */
% if drops then
    masks keep; /* [sites][rows][WIDTH / 8] a bit for each element */
% end
    reals gradient, dbranch; /* [rows][WIDTH] */
    real *dattended; /* [rows][WIDTH] */
    reals dhidden; /* [rows][FEEDFORWARD] */
    real *dquery_key_value; /* [rows][3 WIDTH] */
% if directional then
    reals ddirection; /* [rows][DIRECTION_WIDTH] */
% end
% if geometric then
    /* [sequences${cuda.pairs and " at a time" or ""}][HEADS][key - query, or that + T][queries] */
    reals weights; /* ${normaliser.normalised and "before they are divided by their sum" or "of values"} */
    reals pairs; /* 1 - P, then gradients of logits */
    reals query_sums; /* [numbers as in geometric_numbers][sequences][HEADS][T] what a query adds to their gradients */
% else
    real *delta; /* [sequences][HEADS][T] output times its gradient */
% if cuda.pairs then
    real *pairs; /* [sequences at a time][HEADS][queries][keys] gradients of logits */
% end
% end
% if cuda.pair_scores then
    reals pair_scores; /* likewise, of scores */
% end
% if relative.biases then
    reals key_sums; /* [rows][HEADS] of a key's gradients of logits */
% end
% if score.kind ~= "none" and score.cuda.gathers.uniform then
    reals head_sums; /* [tables][sequences][HEADS][T] of a query's gradients of scores */
% end
    char *layers;
} workspace;

/* Places what layer l of a shard keeps into memory. */
INLINE void lay_out_layer(layer_state *s, char *memory, size_t *used, int sequences, int T) {
    size_t rows = (size_t)sequences * (size_t)T;
    s->query_key_value = take_reals(memory, used, rows * 3 * WIDTH);
% if relative.biases then
    s->key_bias = take_reals(memory, used, rows * HEADS);
% end
% if directional then
    s->direction = take_reals(memory, used, rows * DIRECTION_WIDTH);
% end
% if normaliser.normalised then
    s->inverse_total = take_reals(memory, used, rows * HEADS);
% elseif not geometric then
    s->largest = take_reals(memory, used, rows * HEADS);
    s->inverse_sum = take_reals(memory, used, rows * HEADS);
% end
    s->attended = take_reals(memory, used, rows * WIDTH);
    s->xhat1 = take_reals(memory, used, rows * WIDTH);
    s->rstd1 = take_reals(memory, used, rows);
    s->norm1 = take_reals(memory, used, rows * WIDTH);
    s->hidden = take_reals(memory, used, rows * FEEDFORWARD);
    s->xhat2 = take_reals(memory, used, rows * WIDTH);
    s->rstd2 = take_reals(memory, used, rows);
    s->output = take_reals(memory, used, rows * WIDTH);
}

INLINE size_t layer_bytes(int sequences, int T) {
    layer_state s;
    size_t bytes = 0;
    lay_out_layer(&s, (char *)0, &bytes, sequences, T);
    return bytes;
}

/* Places a block's room for a shard into memory and returns the bytes used, layers included. */
INLINE size_t lay_out(workspace *w, char *memory, int sequences, int T, int label_count, const bool training) {
    size_t used = 0, rows = (size_t)sequences * (size_t)T, labels = (size_t)sequences * (size_t)label_count;
    w->input = take_reals(memory, &used, rows * WIDTH);
    w->branch = take_reals(memory, &used, rows * WIDTH);
    w->logits = take_reals(memory, &used, labels * CLASS_COLUMNS);
    w->losses = take_reals(memory, &used, labels);
    w->correct = (unsigned char *)take(memory, &used, labels);
% if eval_dropout then
    w->keep = (unsigned char *)take(memory, &used, DROPOUT_SITES * rows * (WIDTH / 8));
% end
    if (training) {
% if drops and not eval_dropout then
        w->keep = (unsigned char *)take(memory, &used, DROPOUT_SITES * rows * (WIDTH / 8));
% end
        w->gradient = take_reals(memory, &used, rows * WIDTH);
        w->dbranch = take_reals(memory, &used, rows * WIDTH);
        w->dattended = take_reals(memory, &used, rows * WIDTH);
        w->dhidden = take_reals(memory, &used, rows * FEEDFORWARD);
        w->dquery_key_value = take_reals(memory, &used, rows * 3 * WIDTH);
% if directional then
        w->ddirection = take_reals(memory, &used, rows * DIRECTION_WIDTH);
% end
% if geometric then
        w->weights = take_reals(memory, &used, (size_t)${pair_sequences} * HEADS * (size_t)T * (size_t)T);
        w->pairs = take_reals(memory, &used, (size_t)${pair_sequences} * HEADS * (size_t)T * (size_t)T);
        w->query_sums = take_reals(memory, &used, QUERY_SUMS * rows * HEADS);
% else
        w->delta = take_reals(memory, &used, rows * HEADS);
% end
% if cuda.pairs and not geometric then
        w->pairs = take_reals(memory, &used, (size_t)pair_sequences(sequences, T) * HEADS * (size_t)T * (size_t)T);
% end
% if cuda.pair_scores then
        w->pair_scores = take_reals(memory, &used, (size_t)pair_sequences(sequences, T) * HEADS * (size_t)T * (size_t)T);
% end
% if relative.biases then
        w->key_sums = take_reals(memory, &used, rows * HEADS);
% end
% if score.kind ~= "none" and score.cuda.gathers.uniform then
        w->head_sums = take_reals(memory, &used, ${score.cuda.uniform_count} * rows * HEADS);
% end
    }
    w->layers = memory ? memory + used : (char *)0;
    return used + (training ? LAYERS : 1) * layer_bytes(sequences, T);
}
% if score.kind ~= "none" then

% include("cuda/score_layout.tpl")
% end
% if cuda.products == "library" then

/* What a shard adds up for the parameters itself; the weights of products get their gradients from products over the
 * whole batch. */
typedef struct layer_gradients {
% if geometric then
    real content_bias[WIDTH];
% if directional then
    real direction_bias[DIRECTION_WIDTH];
% end
    geometric_numbers geometric;
% end
% if relative.biases then
    real content_bias[WIDTH];
% end
    real norm1_scale[WIDTH], norm1_offset[WIDTH], up_bias[FEEDFORWARD], down_bias[WIDTH];
    real norm2_scale[WIDTH], norm2_offset[WIDTH];
} layer_gradients;

typedef struct gradients {
    real token[TOKENS * WIDTH];
% if additive.kind == "learned" and not cuda.shares_places then
    real position_table[POSITION_ROWS * WIDTH];
% end
    layer_gradients layer[LAYERS];
    real output[WIDTH * CLASS_COLUMNS], output_bias[CLASS_COLUMNS];
} gradients;

enum { GRADIENT_BYTES = (sizeof(gradients) + 63) / 64 * 64 /* of a shard, before the sums of tables */ };
% end
% if cuda.sums then

/* Gradients of a step's tables, which the shards add up before they are taken on to the parameters. */
typedef struct table_sums {
% if cuda.shares_places then
    reals places; /* [T][WIDTH] of the vectors that are added to the tokens */
% end
% if relative.kind ~= "none" then
    reals rows; /* [LAYERS][${relative.biases and "distances][WIDTH" or "HEADS][distances][HEAD_WIDTH"}] of the vectors of distances */
% end
% if relative.biases then
    reals row_sums; /* [LAYERS][HEADS][distances] of the logits at a distance */
% end
% if score.trains then
    char *score; /* SCORE_SETS sets of score_gradients */
% end
} table_sums;

INLINE void lay_out_sums(table_sums *sums, char *memory, size_t *used, int T) {
% if cuda.shares_places then
    sums->places = take_reals(memory, used, (size_t)T * WIDTH);
% end
% if relative.kind ~= "none" then
    sums->rows = take_reals(memory, used, LAYERS * (size_t)distance_count(T) * ${relative.biases and "WIDTH" or "HEADS * HEAD_WIDTH"});
% end
% if relative.biases then
    sums->row_sums = take_reals(memory, used, LAYERS * (size_t)distance_count(T) * HEADS);
% end
% if score.trains then
    sums->score = memory ? memory + *used : (char *)0;
    *used += SCORE_SETS * score_gradient_bytes(T);
% end
}

INLINE size_t sum_bytes(int T) {
    table_sums sums;
    size_t bytes = 0;
    lay_out_sums(&sums, (char *)0, &bytes, T);
    return bytes;
}
% end
% if cuda.shared then

/* What the blocks of a step or evaluation share: tables made at its start, and gradients of tables. */
typedef struct shared_tables {
% if relative.kind == "transformer_xl" then
    reals codes; /* [RELATIVE_SETS][distances][WIDTH] sinusoids of signed distances */
% end
% if relative.kind ~= "none" then
    reals rows; /* [LAYERS]${relative.biases and "[HEADS]" or ""}[distances][HEAD_WIDTH] vectors of distances */
% end
% if relative.biases then
    real *row_bias; /* [LAYERS][HEADS][distances] of a row with the position bias, times LOGIT_SCALE */
% end
% if score.kind ~= "none" then
    char *score; /* SCORE_SETS sets of score_tables */
% if score.trains then
    reals scratch; /* of end_score */
% end
% end
% if cuda.sums then
    char *sums; /* table_sums, folded */
% end
} shared_tables;

INLINE size_t lay_out_shared(shared_tables *t, char *memory, int T) {
    size_t used = 0;
% if relative.kind == "transformer_xl" then
    t->codes = take_reals(memory, &used, RELATIVE_SETS * (size_t)distance_count(T) * WIDTH);
% end
% if relative.kind ~= "none" then
    t->rows = take_reals(memory, &used, LAYERS * (size_t)distance_count(T) * ${relative.biases and "WIDTH" or "HEAD_WIDTH"});
% end
% if relative.biases then
    t->row_bias = take_reals(memory, &used, LAYERS * (size_t)distance_count(T) * HEADS);
% end
% if score.kind ~= "none" then
    t->score = memory ? memory + used : (char *)0;
    used += SCORE_SETS * score_bytes(T);
% if score.trains then
    t->scratch = take_reals(memory, &used, ${cuda.end_by_layer and "SCORE_SETS * " or ""}score_scratch(T));
% end
% end
% if cuda.sums then
    t->sums = memory ? memory + used : (char *)0;
    used += sum_bytes(T);
% end
    return used;
}
% end
