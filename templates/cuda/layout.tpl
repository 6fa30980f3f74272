/* Reserves the next `bytes` bytes of memory and raises *used, a multiple of 64. memory NULL: only counts. */
INLINE void *reserve(char *memory, size_t *used, size_t bytes) {
    size_t start = *used;
    *used += (bytes + 63) / 64 * 64;
    return memory ? memory + start : NULL;
}

INLINE real *reserve_reals(char *memory, size_t *used, size_t count) {
    return (real *)reserve(memory, used, count * sizeof(real));
}

% for i, block in ipairs(device.states) do
% if i == 1 then
/* Values that ${block.article} ${block.name} stores for the backward pass; rows are tokens, sequence after sequence. In evaluation
 * all ${block.name}s share one state.
 *
 * In device code, the type `reals` tells the compiler that an array is in global memory. Arrays that loops over pairs
 * read have the type `real *`: `reals` would cost these loops 10 to 20 registers, and save no loads. */
% else
/* Values that ${block.article} ${block.name} stores for the backward pass; in evaluation all ${block.plural} share one state. */
% end
typedef struct ${block.state} {
    ${line} % for _, line in ipairs(block.lines)
} ${block.state};

% end
% include("attention/cuda/family_work.tpl", family.on_device) % for _, family in ipairs(attentions)
% for _, m in ipairs(device.bits) do
INLINE size_t ${m.name}_bytes(${device.lengths} T) { return ${m.bytes}; } /* bytes of one sequence's mask */

% end
/* The workspace for a number of sequences, except the states of layers. */
typedef struct workspace {
    ${line} % for _, line in ipairs(device.lines.always)
    reals logits; /* [sequences][label_count][CLASS_COLUMNS] */
    reals losses; /* [sequences][label_count] */
    reals uncertainties; /* [sequences][label_count] of the answers in evaluation */ % if device.has_passes
    masks correct; /* [sequences][label_count] */
    masks keep; /* [sites][${device.max_rows.description}][WIDTH / 8] one bit per element */ % if device.masks[1]
    masks ${m.name}; /* [${m.repetitions_text}][sequences][bytes] ${m.comment} */ % for _, m in ipairs(device.bits)
    ${line} % for _, line in ipairs(device.lines.training)
% for _, block in ipairs(device.states) do
% if not block.is_group and block.loops > 1 and cuda.products == "generated" then
    reals ${block.name}_more; /* gradients of ${block.article} ${block.name}'s parameters in one repetition; every repetition but the last stores them here */
% end
    char *${block.plural};
% end
    reals more_sums; /* gradients of tables in one repetition of a layer; every repetition but the last stores them here */ % if device.adds_table_sums and cuda.products == "generated"
% for _, group in ipairs(cuda.products == "generated" and device.groups or {}) do
    reals ${m.name}_more; /* [${m.size}] gradient in one ${group.name}; every ${group.name} but the last stores it here */ % for _, m in ipairs(group.shared_gradients)
% end
} workspace;

% for _, block in ipairs(device.states) do
/* Lays out the state of one ${block.name} after the `used` bytes of memory; returns the bytes used. */
INLINE size_t lay_out_${block.name}(${block.state} *s, char *memory, size_t used, int sequences, ${device.lengths} T) {
    size_t ${block.row_declarations.all};
    s->${m.name} = reserve_reals(memory, &used, ${m.count}); % for _, m in ipairs(block.members)
    return used;
}

INLINE size_t ${block.name}_bytes(int sequences, ${device.lengths} T) {
    ${block.state} s;
    return lay_out_${block.name}(&s, NULL, 0, sequences, T);
}

% end
% if device.adds_table_sums then
% slot("layout", family.on_device) % for _, family in ipairs(attentions)
% include("cuda/table_sums.tpl")

% end
/* Lays out the workspace for `sequences` sequences in memory; returns the bytes used, with the states of layers. */
% define("INLINE size_t lay_out", "workspace *w", "char *memory", "int sequences", device.lengths .. " T", "int label_count", "const bool training")
    size_t used = 0, ${device.row_declarations.all}, labels = (size_t)sequences * (size_t)label_count;
    w->${m.name} = reserve_reals(memory, &used, ${m.count}); % for _, m in ipairs(device.always)
    w->logits = reserve_reals(memory, &used, labels * CLASS_COLUMNS);
    w->losses = reserve_reals(memory, &used, labels);
    w->uncertainties = reserve_reals(memory, &used, labels); % if device.has_passes
    w->correct = (unsigned char *)reserve(memory, &used, labels);
% if eval_dropout and device.masks[1] then
    w->keep = (unsigned char *)reserve(memory, &used, DROPOUT_SITES * ${device.max_rows.text} * (WIDTH / 8));
% end
% for _, m in ipairs(eval_dropout and device.bits or {}) do
    w->${m.name} = (unsigned char *)reserve(memory, &used, ${m.repetitions_text} * sequences * ${m.name}_bytes(T));
% end
    if (training) {
% if device.masks[1] and not eval_dropout then
        w->keep = (unsigned char *)reserve(memory, &used, DROPOUT_SITES * ${device.max_rows.text} * (WIDTH / 8));
% end
% for _, m in ipairs(eval_dropout and {} or device.bits) do
        w->${m.name} = (unsigned char *)reserve(memory, &used, ${m.repetitions_text} * sequences * ${m.name}_bytes(T));
% end
        w->${m.name} = reserve_reals(memory, &used, ${m.allocated_count}); % for _, m in ipairs(device.training)
% for _, block in ipairs(device.blocks) do
% if block.loops > 1 and cuda.products == "generated" then
        w->${block.name}_more = reserve_reals(memory, &used, sizeof(${block.parameters_type}) / sizeof(real));
% end
% end
        w->more_sums = reserve_reals(memory, &used, sum_bytes(T) / sizeof(real)); % if device.adds_table_sums and cuda.products == "generated"
% for _, group in ipairs(cuda.products == "generated" and device.groups or {}) do
        w->${m.name}_more = reserve_reals(memory, &used, ${m.size}); % for _, m in ipairs(group.shared_gradients)
% end
    }
% for _, block in ipairs(device.states) do
    w->${block.plural} = (char *)reserve(memory, &used, (training ? ${block.stored} : 1) * ${block.name}_bytes(sequences, T));
% end
    return used;
}
% for _, family in ipairs(device.adds_table_sums and {} or attentions) do
% slot("layout", family.on_device)
% end
% if device.decoding then

/* Values of a group of decoded sequences: cached values of attention in all layers, and the state of each sequence. */
typedef struct caches {
    real *${c.block}_${c.name}; /* [${c.repetitions_text}][sequences] with ${c.T} * ${c.width} numbers each */ % for _, c in ipairs(device.decoding.caches)
    unsigned short *next; /* [sequences] tokens that the next pass processes */
    int *place; /* [sequences] positions of these tokens */ % if cuda.is_digit
    int *begin; /* [sequences] index of the token that predicts the first requested answer */
    int *end; /* [sequences] number of labels up to the last requested answer; 0: the sequence has ended */
} caches;

/* Lays out the caches after the `used` bytes of an evaluation's workspace; returns the bytes used. */
INLINE size_t lay_out_caches(caches *c, char *memory, size_t used, int sequences, ${device.lengths} T) {
% for _, c in ipairs(device.decoding.caches) do
    c->${c.block}_${c.name} = reserve_reals(memory, &used, (size_t)${c.repetitions_text} * sequences * ${c.T} * ${c.width});
% end
    c->next = (unsigned short *)reserve(memory, &used, sequences * sizeof *c->next);
    c->place = (int *)reserve(memory, &used, sequences * sizeof *c->place); % if cuda.is_digit
    c->begin = (int *)reserve(memory, &used, sequences * sizeof *c->begin);
    c->end = (int *)reserve(memory, &used, sequences * sizeof *c->end);
    return used;
}
% end
% if cuda.products == "library" then

/* The gradients that a shard sums itself: gradients of all parameters except weights of products. */
% for _, struct in ipairs(structs) do
% if struct.shard_sums.lines[1] then
typedef struct ${struct.gradients_type} {
    ${line} % for _, line in ipairs(struct.shard_sums.lines)
% for _, group in ipairs(struct.block and {} or device.groups) do
    real ${m.name}_more[${m.size}]; /* gradient in one ${group.name}; every ${group.name} but the last stores it here */ % for _, m in ipairs(group.shared_gradients)
% end
} ${struct.gradients_type};

% end
% end
enum { GRADIENT_BYTES = (sizeof(gradients) + 63) / 64 * 64 /* bytes of a shard's gradients; the sums of tables follow */ };
% end
% if cuda.has_table_sums and not device.adds_table_sums then

% include("cuda/table_sums.tpl")
% end
% if cuda.has_shared_tables then

% include("cuda/shared_tables.tpl")
% end
% if cuda.by_team then

enum { OPERANDS_PAD = 128 /* number of reals after the last operand, since tiles at its edge read beyond it */ };

/* Operands that a shard stores, from which products compute gradients of weights. Rows lie in pairs (store_pair). */
typedef struct operands {
% for _, product in ipairs(device.operands.list) do
    reals ${product.name}_x, ${product.name}_dy; /* x: [${product.repetitions_text}][${product.rows}][${product.inner}]; dy: [${product.repetitions_text}][${product.rows}][${product.columns}] */
% end
} operands;

/* Lays out the operands in memory, with one layout for all shards; returns the number of bytes used. sequences: the number
 * of sequences of the largest shard. */
INLINE size_t lay_out_operands(operands *o, char *memory, int sequences, ${device.lengths} T) {
    size_t used = 0, ${device.operands.row_declarations.all};
% for _, product in ipairs(device.operands.list) do
    o->${product.name}_x = reserve_reals(memory, &used, ${product.repetitions_text} * ((${product.rows} + 1) / 2 * 2) * ${product.inner});
    o->${product.name}_dy = reserve_reals(memory, &used, ${product.repetitions_text} * ((${product.rows} + 1) / 2 * 2) * ${product.columns});
% end
    reserve_reals(memory, &used, OPERANDS_PAD);
    return used;
}
% end
