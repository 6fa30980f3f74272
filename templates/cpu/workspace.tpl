% local sampled_streams = {}
% for _, stream in ipairs(streams) do
% sampled_streams[#sampled_streams + 1] = stream.sequence_reader and stream or nil
% end
% paragraph("cpu/workspace_types.tpl", { samples_positions = sampled_streams[1] ~= nil })
% if cpu.vocabulary then
/* Returns the bytes of one channel of all tokens, or of all symbols if there are more symbols than tokens. */
static size_t count_row_bytes(const workspace *w) {
    return (size_t)(w->rows > w->vocabulary.rows ? w->rows : w->vocabulary.rows) * sizeof(real);
}

% end
% for _, block in ipairs(cpu.states) do
% define("static void lay_out_" .. block.name, block.name .. "_state *s", "const workspace *w", "char *memory", "size_t *used", block.requests.depends_on_mode and "lh_mode mode")
    % -- row: the bytes of one channel of all tokens
    size_t row = count_row_bytes(w); % if cpu.vocabulary
    size_t row = (size_t)w->rows * sizeof(real); % elseif not streams[2]
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(block.requests.always)
% if block.requests.training[1] then
    if (mode != LH_MODE_TRAIN) return;
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(block.requests.training)
% end
}

% end
% local decoded = cpu.decoding and streams[cpu.decoding.stream + 1]
% local decoded_words = decoded and streams[2] and " of the " .. decoded.name or ""
% if streams[2] then
/* Returns the size of a stream of `sequences` sequences. */
static stream_size make_stream_size(int sequences, int length) {
    const int tokens = sequences * length;
    return (stream_size){.length = length, .tokens = tokens, .rows = round_up(tokens, TILE_ROWS), .to = length}; % if decoded
    return (stream_size){.length = length, .tokens = tokens, .rows = round_up(tokens, TILE_ROWS)}; % else
}

% end
% if decoded then
% local name = streams[2] and "s" or "w"
/* Restricts computed rows to the tokens from `from` to `to` - 1 of each sequence. */
% define("static void set_part", streams[2] and "stream_size *s" or "workspace *w", streams[2] ~= nil and "int sequences", "int from", "int to")
    ${name}->from = from;
    ${name}->to = to;
    ${name}->tokens = ${streams[2] and "sequences" or "w->sequences"} * (to - from);
    ${name}->rows = round_up(${name}->tokens, TILE_ROWS);
    w->all = (row_set){to - from, w->tokens, w->rows}; % if cpu.unused_rows
    w->all = (row_set){w->tokens, w->rows}; % elseif cpu.vocabulary
}

/* The index of row m's token among the tokens of all sequences. */
INLINE int find_token(const ${streams[2] and "stream_size *s" or "workspace *w"}, int m) {
    const int count = ${name}->to - ${name}->from;
    return m / count * ${name}->length + ${name}->from + m % count;
}

/* Lays out the workspace of a block of sequences in memory and returns the number of bytes used. most: the largest number
 * of tokens of each sequence${decoded_words} that are processed at a time. */
static size_t lay_out(workspace *w, char *memory, const lh_shape *shape, int most, lh_mode mode) {
% else
/* Lays out the workspace of a block of sequences in memory and returns the number of bytes used. */
static size_t lay_out(workspace *w, char *memory, const lh_shape *shape, lh_mode mode) {
% end
    size_t used = 0;
% if streams[2] then
    w->sequences = shape->sequences;
    w->${stream.name} = make_stream_size(w->sequences, shape->length[${stream.index}]); % for _, stream in ipairs(streams)
    set_part(&w->${decoded.name}, w->sequences, 0, most); % if decoded
% else
    w->length = shape->length[0];
    w->sequences = shape->sequences;
% if decoded then
    set_part(w, 0, most);
% else
    w->tokens = w->sequences * w->length;
    w->rows = round_up(w->tokens + TILE_ROWS - 1, TILE_ROWS); % if is_step_major
    w->rows = round_up(w->tokens, TILE_ROWS); % else
    w->all = (row_set){w->length, w->tokens, w->rows}; % if cpu.unused_rows
    w->all = (row_set){w->tokens, w->rows}; % elseif cpu.vocabulary
% end
% if cpu.unused_rows then
    const int labels = shape->labels, labelled = w->sequences * labels;
    w->read = (row_set){labels, labelled, round_up(labelled, TILE_ROWS)};
% end
% if cpu.vocabulary then
    w->vocabulary = (row_set){.tokens = VOCABULARY, .rows = round_up(VOCABULARY, TILE_ROWS)};
    size_t row = count_row_bytes(w);
% else
    size_t row = (size_t)w->rows * sizeof(real);
    size_t step_row = (size_t)round_up(w->sequences, TILE_ROWS) * sizeof(real); % if is_step_major
% end
% end
    if (mode == LH_MODE_TRAIN) used = ${invoke("lay_out_sums", "&w->sums", "memory", "shape")}; % if any_sums
    const int free_passes = mode == LH_MODE_TRAIN ? w->free_passes : 0; % if cpu.gradient_passes
% for _, block in ipairs(cpu.states) do
% -- repetitions without gradient come first, and share the state of the first repetition with gradient
% local first_stored = block.free_repetitions_text or "0"
    for (int l = ${first_stored}; l < (mode == LH_MODE_TRAIN ? ${block.repetitions_text} : 1); l++)
        % call("lay_out_" .. block.name, ("&w->%s[l]"):format(block.name), "w", "memory", "&used", block.requests.depends_on_mode and "mode")
    for (int l = 0; l < ${first_stored}; l++) w->${block.name}[l] = w->${block.name}[${first_stored}]; % if block.free_repetitions_text
% end
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(cpu.requests.always)
% for _, family in ipairs(attentions) do
% local lengths = "w->" .. family.queries.stream_prefix .. "length" .. (family.cross and ", w->" .. family.keys.stream_prefix .. "length" or "")
    lay_out_${family.name}_scratch(&w->${family.name}, memory, &used, ${lengths}, mode == LH_MODE_TRAIN);
% end
% for _, stream in ipairs(sampled_streams) do
% local prefix_of_stream = streams[2] and stream.name .. "." or ""
    w->${prefix_of_stream}position = reserve(memory, &used, (size_t)(w->sequences * w->${prefix_of_stream}length) * sizeof(int32_t));
% end
    w->position_scratch = reserve(memory, &used, ${sequence_scratch.name} * sizeof(int32_t)); % if sampled_streams[1]
    if (mode != LH_MODE_TRAIN) return used;
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(cpu.requests.training)
% for _, block in ipairs(cpu.states) do
    w->${block.name}[0].input = w->${block.own_input}; /* the first repetition's input has its own buffer */ % if block.own_input
% end
    return used;
}

/* Initialises a workspace in memory for one block of a step. */
static void start_block(workspace *w, const lh_cpu_step *step, const lh_cpu_block *block, void *memory, lh_mode mode) {
    lh_shape shape = step->shape;
    shape.sequences = block->sequences;
    w->passes = step->passes; % if cpu.passes
    w->free_passes = step->free_passes; % if cpu.gradient_passes
    % call("lay_out", "w", "memory", "&shape", decoded and ("shape.length[%d]"):format(decoded.index), "mode")
    w->step = step;
    w->block = block;
    w->parameters = step->parameters;
    w->shared = step->shared;
    w->panels = step->panels; % if has_tables_by_length
}
