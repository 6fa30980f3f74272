% local geometric, directional = normaliser.kind == "geometric", normaliser.directional
/* Hands out the next `bytes`, on cache-line boundaries; memory NULL only counts. */
INLINE void *take(char *memory, size_t *used, size_t bytes) {
    size_t start = *used;
    *used += (bytes + 63) / 64 * 64;
    return memory ? memory + start : (void *)0;
}

INLINE real *take_reals(char *memory, size_t *used, size_t count) {
    return (real *)take(memory, used, count * sizeof(real));
}

% local pairs = cuda.pairs and "(size_t)pair_sequences(sequences, T) * (size_t)T" or "rows"
% for _, block in ipairs(device.blocks) do
/* What a ${block.name} of a shard keeps for the backward pass; rows are tokens, sequence after sequence. In evaluation they
 * all share one.
 *
 * reals: where they lie is known to the compiler. What the loops over pairs read is not of that type: these loops would
 * need 10 to 20 registers more, with as many loads of memory. */
typedef struct ${block.state} {
% for _, line in ipairs(block.lines) do
    ${line}
% end
} ${block.state};

% end
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
% for _, m in ipairs(device.bits) do
INLINE size_t ${m.name}_bytes(int T) { return ${m.bytes}; } /* of a sequence */

% end
/* The rest of a block's room. */
typedef struct workspace {
% for _, line in ipairs(device.lines.always) do
    ${line}
% end
    reals logits; /* [sequences][label_count][CLASS_COLUMNS] */
    reals losses; /* [sequences][label_count] */
    masks correct; /* [sequences][label_count] */
% if device.masks[1] then
    masks keep; /* [sites][rows][WIDTH / 8] a bit for each element */
% end
% for _, m in ipairs(device.bits) do
    masks ${m.name}; /* [${m.uses}][sequences][bytes] ${m.about} */
% end
% for _, line in ipairs(device.lines.training) do
    ${line}
% end
% for _, block in ipairs(device.blocks) do
% if block.loops > 1 and cuda.products == "generated" then
    reals ${block.name}_more; /* gradients of a ${block.name}'s parameters in one more use */
% end
    char *${block.name}s;
% end
} workspace;

% for _, block in ipairs(device.blocks) do
/* Places what one ${block.name} of a shard keeps into memory. */
INLINE void lay_out_${block.name}(${block.state} *s, char *memory, size_t *used, int sequences, int T) {
    size_t rows = (size_t)sequences * (size_t)T;
% for _, m in ipairs(block.members) do
% local count = m.each and "rows * " .. m.each or "rows"
    s->${m.name} = take_reals(memory, used, ${count});
% end
}

INLINE size_t ${block.name}_bytes(int sequences, int T) {
    ${block.state} s;
    size_t bytes = 0;
    lay_out_${block.name}(&s, (char *)0, &bytes, sequences, T);
    return bytes;
}

% end
/* Places a block's room for a shard into memory and returns the bytes used, layers included. */
INLINE size_t lay_out(workspace *w, char *memory, int sequences, int T, int label_count, const bool training) {
    size_t used = 0, rows = (size_t)sequences * (size_t)T, labels = (size_t)sequences * (size_t)label_count;
% for _, m in ipairs(device.always) do
% local count = m.each and "rows * " .. m.each or "rows"
    w->${m.name} = take_reals(memory, &used, ${count});
% end
    w->logits = take_reals(memory, &used, labels * CLASS_COLUMNS);
    w->losses = take_reals(memory, &used, labels);
    w->correct = (unsigned char *)take(memory, &used, labels);
% if eval_dropout and device.masks[1] then
    w->keep = (unsigned char *)take(memory, &used, DROPOUT_SITES * rows * (WIDTH / 8));
% end
% for _, m in ipairs(eval_dropout and device.bits or {}) do
    w->${m.name} = (unsigned char *)take(memory, &used, ${m.uses} * sequences * ${m.name}_bytes(T));
% end
    if (training) {
% if device.masks[1] and not eval_dropout then
        w->keep = (unsigned char *)take(memory, &used, DROPOUT_SITES * rows * (WIDTH / 8));
% end
% for _, m in ipairs(eval_dropout and {} or device.bits) do
        w->${m.name} = (unsigned char *)take(memory, &used, ${m.uses} * sequences * ${m.name}_bytes(T));
% end
% for _, m in ipairs(device.training) do
% local of = m.limited and pairs or "rows"
% local count = m.each and of .. " * " .. m.each or of
        w->${m.name} = take_reals(memory, &used, ${count});
% end
% for _, block in ipairs(device.blocks) do
% if block.loops > 1 and cuda.products == "generated" then
        w->${block.name}_more = take_reals(memory, &used, sizeof(${block.parameters_type}) / sizeof(real));
% end
% end
    }
% for _, block in ipairs(device.blocks) do
    w->${block.name}s = memory ? memory + used : (char *)0;
    used += (training ? ${block.uses} : 1) * ${block.name}_bytes(sequences, T);
% end
    return used;
}
% if score.kind ~= "none" then

% include("cuda/score_layout.tpl")
% end
% if cuda.products == "library" then

/* What a shard adds up for the parameters itself; the weights of products get their gradients from products over the
 * whole batch. */
% for _, struct in ipairs(structs) do
% if struct.small.lines[1] then
typedef struct ${struct.gradients_type} {
% for _, line in ipairs(struct.small.lines) do
    ${line}
% end
} ${struct.gradients_type};

% end
% end
enum { GRADIENT_BYTES = (sizeof(gradients) + 63) / 64 * 64 /* of a shard, before the sums of tables */ };
% end
% if cuda.sums then

/* Gradients of a step's tables, which the shards add up before they are taken on to the parameters. */
typedef struct table_sums {
% if cuda.shares_places then
    reals places; /* [T][WIDTH] of the vectors that are added to the tokens */
% end
% if relative.kind ~= "none" then
    reals rows; /* [${stack.count}][${relative.biases and "distances][WIDTH" or "HEADS][distances][HEAD_WIDTH"}] of the vectors of distances */
% end
% if relative.biases then
    reals row_sums; /* [${stack.count}][HEADS][distances] of the logits at a distance */
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
    sums->rows = take_reals(memory, used, ${stack.count} * (size_t)distance_count(T) * ${relative.biases and "WIDTH" or "HEADS * HEAD_WIDTH"});
% end
% if relative.biases then
    sums->row_sums = take_reals(memory, used, ${stack.count} * (size_t)distance_count(T) * HEADS);
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
    reals rows; /* [${stack.count}]${relative.biases and "[HEADS]" or ""}[distances][HEAD_WIDTH] vectors of distances */
% end
% if relative.biases then
    real *row_bias; /* [${stack.count}][HEADS][distances] of a row with the position bias, times LOGIT_SCALE */
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
    t->rows = take_reals(memory, &used, ${stack.count} * (size_t)distance_count(T) * ${relative.biases and "WIDTH" or "HEAD_WIDTH"});
% end
% if relative.biases then
    t->row_bias = take_reals(memory, &used, ${stack.count} * (size_t)distance_count(T) * HEADS);
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
