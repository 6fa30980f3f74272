% local drawn = {}
% for _, stream in ipairs(streams) do
% drawn[#drawn + 1] = stream.by_sequence and stream or nil
% end
% for _, block in ipairs(cpu.blocks) do
/* Values that one ${block.name} keeps for its backward pass; rows are tokens. */
typedef struct ${block.name}_state {
    ${line} % for _, line in ipairs(block.members)
} ${block.name}_state;

% end
% if streams[2] then
/* The size of a stream in a block of sequences; rows: tokens rounded up to whole tiles. */
typedef struct stream_size {
    int length, tokens, rows;
    int from, to; /* computed tokens of each sequence: all, except in decoding */ % if cpu.decoding
    int32_t *position; /* [tokens] positions of every sequence, sampled with the stream's embedding */ % if drawn[1]
} stream_size;

% end
% if cpu.part then
/* A part of the tokens of each sequence, whose rows lie one sequence after another. */
typedef struct row_set {
    int count; /* tokens of each sequence */
    int tokens, rows; /* tokens of all sequences; rows: tokens rounded up to whole tiles */
} row_set;

% elseif cpu.vocabulary then
/* A number of rows: one for each token, or one for each symbol. */
typedef struct row_set {
    int tokens, rows; /* rows: tokens rounded up to whole tiles */
} row_set;

% end
/* The workspace of a block of sequences. */
typedef struct workspace {
    const lh_cpu_step *step;
    const lh_cpu_block *block;
    const parameters *parameters;
    const shared *shared;
% if streams[2] then
    int sequences;
    stream_size ${stream.name}; % for _, stream in ipairs(streams)
% else
    int length, sequences, tokens, rows; /* rows: tokens rounded up to whole tiles */
% if cpu.part then
    row_set all, read; /* all: all tokens; read: labelled tokens, whose results are used after the last attention */
% elseif cpu.vocabulary then
    row_set all; /* all tokens */
% end
    row_set vocabulary; /* symbols */ % if cpu.vocabulary
    int from, to; /* computed tokens of each sequence: all, except in decoding */ % if cpu.decoding
% end
    ${block.name}_state ${block.name}[${block.uses}]; % for _, block in ipairs(cpu.blocks)
    ${line} % for _, line in ipairs(cpu.members)
    ${family.name}_scratch ${family.name}; % for _, family in ipairs(attentions)
% if drawn[1] and streams[2] then
    int32_t *position_scratch;
% elseif drawn[1] then
    int32_t *position, *position_scratch; /* sampled positions, [tokens] of all sequences; scratch memory of sampling, [MAX_POSITION] */
% end
    shard_sums sums; % if any_sums
} workspace;

% if cpu.vocabulary then
/* Bytes of one channel of all tokens, or of all symbols if these are more. */
static size_t row_of(const workspace *w) {
    return (size_t)(w->rows > w->vocabulary.rows ? w->rows : w->vocabulary.rows) * sizeof(real);
}

% end
% for _, block in ipairs(cpu.blocks) do
% define("static void lay_out_" .. block.name, block.name .. "_state *s", "const workspace *w", "char *memory", "size_t *used", block.requests.by_mode and "lh_mode mode")
    size_t row = row_of(w); % if cpu.vocabulary
    size_t row = (size_t)w->rows * sizeof(real); % elseif not streams[2]
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(block.requests.always)
% if block.requests.training[1] then
    if (mode != LH_MODE_TRAIN) return;
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(block.requests.training)
% end
}

% end
% local decoded = cpu.decoding and streams[cpu.decoding.stream + 1]
% local of_decoded = decoded and streams[2] and " of the " .. decoded.name or ""
% if streams[2] then
static stream_size size_of(int sequences, int length) {
% if decoded and drawn[1] then
    return (stream_size){length, sequences * length, round_up(sequences * length, TILE_ROWS), 0, length, NULL};
% elseif decoded then
    return (stream_size){length, sequences * length, round_up(sequences * length, TILE_ROWS), 0, length};
% elseif drawn[1] then
    return (stream_size){length, sequences * length, round_up(sequences * length, TILE_ROWS), NULL};
% else
    return (stream_size){length, sequences * length, round_up(sequences * length, TILE_ROWS)};
% end
}

% end
% if decoded then
% local name = streams[2] and "s" or "w"
/* Assigns the rows to tokens [from, to) of each sequence. */
% define("static void set_part", streams[2] and "stream_size *s" or "workspace *w", streams[2] ~= nil and "int sequences", "int from", "int to")
    ${name}->from = from;
    ${name}->to = to;
    ${name}->tokens = ${streams[2] and "sequences" or "w->sequences"} * (to - from);
    ${name}->rows = round_up(${name}->tokens, TILE_ROWS);
    w->all = (row_set){to - from, w->tokens, w->rows}; % if cpu.part
    w->all = (row_set){w->tokens, w->rows}; % elseif cpu.vocabulary
}

/* The index of row m's token among the tokens of all sequences. */
INLINE int token_at(const ${streams[2] and "stream_size *s" or "workspace *w"}, int m) {
    const int count = ${name}->to - ${name}->from;
    return m / count * ${name}->length + ${name}->from + m % count;
}

/* Lays out a block's workspace in memory and returns the bytes used. most: greatest number of tokens of each
 * sequence${of_decoded} that are processed at a time. */
static size_t lay_out(workspace *w, char *memory, const lh_shape *shape, int most, lh_mode mode) {
% else
/* Lays out a block's workspace in memory and returns the bytes used. */
static size_t lay_out(workspace *w, char *memory, const lh_shape *shape, lh_mode mode) {
% end
    size_t used = 0;
% if streams[2] then
    w->sequences = shape->sequences;
    w->${stream.name} = size_of(w->sequences, shape->length[${stream.index}]); % for _, stream in ipairs(streams)
    set_part(&w->${decoded.name}, w->sequences, 0, most); % if decoded
% else
    w->length = shape->length[0];
    w->sequences = shape->sequences;
% if decoded then
    set_part(w, 0, most);
% else
    w->tokens = w->sequences * w->length;
    w->rows = round_up(w->tokens, TILE_ROWS);
    w->all = (row_set){w->length, w->tokens, w->rows}; % if cpu.part
    w->all = (row_set){w->tokens, w->rows}; % elseif cpu.vocabulary
% end
% if cpu.part then
    const int labels = shape->labels, labelled = w->sequences * labels;
    w->read = (row_set){labels, labelled, round_up(labelled, TILE_ROWS)};
% end
% if cpu.vocabulary then
    w->vocabulary = (row_set){.tokens = VOCABULARY, .rows = round_up(VOCABULARY, TILE_ROWS)};
    size_t row = row_of(w);
% else
    size_t row = (size_t)w->rows * sizeof(real);
% end
% end
    if (mode == LH_MODE_TRAIN) used = ${invoke("lay_out_sums", "&w->sums", "memory", "shape")}; % if any_sums
% for _, block in ipairs(cpu.blocks) do
    for (int l = 0; l < (mode == LH_MODE_TRAIN ? ${block.uses} : 1); l++)
        % call("lay_out_" .. block.name, ("&w->%s[l]"):format(block.name), "w", "memory", "&used", block.requests.by_mode and "mode")
% end
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(cpu.requests.always)
% for _, family in ipairs(attentions) do
% local lengths = "w->" .. family.queries.at .. "length" .. (family.cross and ", w->" .. family.keys.at .. "length" or "")
    lay_out_${family.name}_scratch(&w->${family.name}, memory, &used, ${lengths}, mode == LH_MODE_TRAIN);
% end
% for _, stream in ipairs(drawn) do
% local at = streams[2] and stream.name .. "." or ""
% if stream == decoded then
    w->${at}position = take(memory, &used, (size_t)(w->sequences * w->${at}length) * sizeof(int32_t));
% else
    w->${at}position = take(memory, &used, (size_t)w->${at}tokens * sizeof(int32_t));
% end
% end
    w->position_scratch = take(memory, &used, ${sequence_scratch.name} * sizeof(int32_t)); % if drawn[1]
    if (mode != LH_MODE_TRAIN) return used;
    % include("cpu/buffer.tpl", request) % for _, request in ipairs(cpu.requests.training)
% for _, block in ipairs(cpu.blocks) do
    w->${block.name}[0].input = w->${block.own_input}; % if block.own_input
% end
    return used;
}

/* Initialises a workspace in memory for one block of a step. */
static void start_block(workspace *w, const lh_cpu_step *step, const lh_cpu_block *block, void *memory, lh_mode mode) {
    lh_shape shape = step->shape;
    shape.sequences = block->sequences;
    lay_out(w, memory, &shape, shape.length[${decoded.index}], mode); % if decoded
    lay_out(w, memory, &shape, mode); % else
    w->step = step;
    w->block = block;
    w->parameters = step->parameters;
    w->shared = step->shared;
}
