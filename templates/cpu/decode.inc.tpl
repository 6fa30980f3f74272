% local decoding, has_two_streams = cpu.decoding, streams[2] ~= nil
% local stream = streams[decoding.stream + 1]
% local size_prefix = has_two_streams and "w->" .. stream.name .. "." or "w->" -- the text before members such as `length`
% local source_words = has_two_streams and (", and for the tokens of the %s"):format(streams[1].name) or ""
% local weight = cpu.class_table and "w->" .. panels_member .. "->output" or "p->output"
% local bias = cpu.class_table and "NULL" or "p->output_bias"
% include("parts/banner.tpl", { template = "cpu/decode.inc.tpl", lines = comments.decode })

/* Decoding calls the functions of evaluation, or others with the same order of sums, so a logit has the same bits as in
 * a pass over the whole sequence. In such a pass, sums over keys also have terms of later keys, but these terms are
 * exactly 0. */

% for _, block in ipairs(decoding.blocks) do
% if block.has_caches then
/* Values that one ${block.name} caches for the tokens that have been processed${source_words}. */
typedef struct ${block.name}_cache {
% for _, cache in ipairs(block.caches) do
    real *${cache.name}; /* [sequences][${cache.stream_prefix}length][${cache.width}] queries, keys and values */ % if cache.is_self_attention
    real *${cache.name}; /* [${cache.stream_prefix}rows][${cache.width}] keys and values */ % else
% if cache.has_tiles then
    real *${cache.name}_tiles; /* [sequences][tiled_elements(${cache.stream_prefix}length)] keys and values in tiles, for single queries */
% end
    real *${cache.name}_sums; /* [sequences][count_${cache.name}_running(${cache.stream_prefix}length)] running sums */ % if cache.has_sums
% end
} ${block.name}_cache;

% end
% end
typedef struct caches {
% for _, block in ipairs(decoding.blocks) do
    ${block.name}_cache ${block.name}[${block.repetitions_text}]; % if block.has_caches
% end
} caches;

/* Lays out the caches, and a workspace for at most LH_DECODE_TOKENS tokens of each sequence; returns the bytes used. */
static size_t lay_out_decoding(workspace *w, caches *c, char *memory, const lh_shape *shape) {
    const int length = shape->length[${decoding.stream}], most = length < LH_DECODE_TOKENS ? length : LH_DECODE_TOKENS;
    size_t used = lay_out(w, memory, shape, most, LH_MODE_EVALUATE);
% for _, block in ipairs(decoding.blocks) do
% if block.has_caches then
    for (int l = 0; l < ${block.repetitions_text}; l++) {
% for _, cache in ipairs(block.caches) do
% local rows = cache.is_self_attention and ("(w->sequences * w->%slength)"):format(cache.stream_prefix) or ("w->%srows"):format(cache.stream_prefix)
        c->${block.name}[l].${cache.name} =
                reserve(memory, &used, (size_t)${rows} * ${cache.width} * sizeof(real));
% if cache.has_tiles then
        c->${block.name}[l].${cache.name}_tiles = reserve(memory, &used,
                (size_t)w->sequences * tiled_elements(WIDTH, w->${cache.stream_prefix}length) * sizeof(real));
% end
% if cache.has_sums then
        c->${block.name}[l].${cache.name}_sums = reserve(memory, &used,
                (size_t)w->sequences * count_${cache.name}_running(w->${cache.stream_prefix}length) * sizeof(real));
% end
% end
    }
% end
% end
    return used;
}

static size_t decode_bytes(const lh_shape *longest) {
    workspace w;
    caches c;
    return lay_out_decoding(&w, &c, NULL, longest);
}

static void start_decoding(workspace *w, caches *c, const lh_cpu_step *step, const lh_cpu_block *block, void *memory) {
    lay_out_decoding(w, c, memory, &step->shape);
    w->passes = step->passes; % if cpu.passes
    w->step = step;
    w->block = block;
    w->parameters = step->parameters;
    w->shared = step->shared;
    w->panels = step->panels; % if has_tables_by_length
    w->sequences = block->sequences;
}

/* Writes the logits of the labels that belong to the current tokens to block->logits; x [tokens][WIDTH]. */
static void read_out(const workspace *w, const real *x) {
    const parameters *p = w->parameters; % if not cpu.class_table
    const int labels = w->step->shape.labels, first = ${size_prefix}length - labels;
    const int from = ${size_prefix}from, count = ${size_prefix}to - from;
    real *out = w->block->logits;
    for (int s = 0; s < w->sequences; s++)
        for (int t = from < first ? first : from; t < from + count; t++) {
            real logits[CLASS_COLUMNS];
            class_logits(WIDTH, CLASS_COLUMNS, x + (size_t)(s * count + t - from) * WIDTH,
                    ${weight}, ${bias}, logits);
            memcpy(out + (size_t)(s * labels + t - first) * CLASSES, logits, CLASSES * sizeof(real));
        }
}
% for _, block in ipairs(decoding.blocks) do
% if block.before_tokens.list[1] then

/* Computes, before the first token is decoded, the values of one ${block.name} that depend on no decoded token. */
% include("cpu/decode_part.tpl", block.before_tokens)
% end

/* Applies one ${block.name} to the current tokens. input and output may be the same array. */
% include("cpu/decode_part.tpl", block.per_token)
% end
% if decoding.before_tokens[1] then

static void decode_begin(const lh_cpu_step *step, const lh_cpu_block *block, void *memory) {
    const parameters *p = step->parameters; % if decoding.before_tokens_reads_parameters
    workspace w;
    caches c;
    start_decoding(&w, &c, step, block, memory);
% for i, other in ipairs(streams) do
    set_part(&w.${other.name}, w.sequences, 0, w.${other.name}.length); % if i ~= decoding.stream + 1
% end
    % include(op.template, op) % for _, op in ipairs(decoding.before_tokens)
}
% end

static void decode_step(const lh_cpu_step *step, const lh_cpu_block *block, int from, int to, void *memory) {
    const parameters *p = step->parameters; % if decoding.per_token_reads_parameters
    workspace w;
    caches c;
    start_decoding(&w, &c, step, block, memory);
    set_part(&w.${stream.name}, w.sequences, from, to); % if has_two_streams
    set_part(&w, from, to); % else
    % include(op.template, op) % for _, op in ipairs(decoding.per_token)
}

/* Copies sequence `from` of x [sequences][size] to sequence `to`. */
static void copy_sequence(real *x, int to, int from, size_t size) {
    memcpy(x + (size_t)to * size, x + (size_t)from * size, size * sizeof(real));
}

static void decode_move(const lh_cpu_step *step, int to, int from, void *memory) {
    workspace w;
    caches c;
    lay_out_decoding(&w, &c, memory, &step->shape);
% if stream.sequence_reader then
    const int length = w.${decoding.stream_prefix}length;
    int32_t *position = w.${decoding.stream_prefix}position;
    memcpy(position + to * length, position + from * length, (size_t)length * sizeof(int32_t));
% end
% for _, block in ipairs(decoding.blocks) do
% if block.has_caches then
    for (int l = 0; l < ${block.repetitions_text}; l++) {
% for _, cache in ipairs(block.caches) do
        copy_sequence(c.${block.name}[l].${cache.name}, to, from, (size_t)w.${cache.stream_prefix}length * ${cache.width});
% if cache.has_tiles then
        copy_sequence(c.${block.name}[l].${cache.name}_tiles, to, from, tiled_elements(WIDTH, w.${cache.stream_prefix}length));
% end
        copy_sequence(c.${block.name}[l].${cache.name}_sums, to, from, count_${cache.name}_running(w.${cache.stream_prefix}length)); % if cache.has_sums
% end
    }
% end
% end
}
