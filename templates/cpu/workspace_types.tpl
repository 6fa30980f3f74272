% for _, block in ipairs(cpu.states) do
/* Values that one ${block.name} stores for its backward pass, with one row for each token. */
typedef struct ${block.name}_state {
    ${line} % for _, line in ipairs(block.members)
} ${block.name}_state;

% end
% if streams[2] then
/* The size of a stream in a block of sequences. tokens: number of tokens in all sequences; rows: tokens rounded up to whole tiles. */
typedef struct stream_size {
    int length, tokens, rows;
    int from, to; /* computed tokens of each sequence: all, except in decoding */ % if cpu.decoding
    int32_t *position; /* [tokens] sampled positions of every sequence */ % if samples_positions
} stream_size;

% end
% if cpu.unused_rows then
/* A part of the tokens of each sequence. Its rows lie one sequence after another. */
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
    const step_panels *panels; % if has_tables_by_length
% if streams[2] then
    int sequences;
    stream_size ${stream.name}; % for _, stream in ipairs(streams)
% else
% if is_step_major then
    /* Rows lie step by step, each step with a row for every sequence. A product of one step reads and writes whole
     * tiles, up to TILE_ROWS - 1 rows beyond the step; `rows` includes such rows after the last token. */
    int length, sequences, tokens, rows;
% else
    int length, sequences, tokens, rows; /* rows: tokens rounded up to whole tiles */
% end
% if cpu.unused_rows then
    row_set all, read; /* all: all tokens; read: labelled tokens, since only their results are read after the last attention */
% elseif cpu.vocabulary then
    row_set all; /* all tokens */
% end
    row_set vocabulary; /* one row for each symbol */ % if cpu.vocabulary
    int from, to; /* computed tokens of each sequence: all, except in decoding */ % if cpu.decoding
% end
    int passes; /* number of passes through the layers */ % if cpu.passes
    /* The number of passes without gradient, which come first in a training step; they share the state of the first pass with gradient. */ % if cpu.gradient_passes
    int free_passes; % if cpu.gradient_passes
    ${block.name}_state ${block.name}[${block.max_repetitions_text}]; % for _, block in ipairs(cpu.states)
    ${line} % for _, line in ipairs(cpu.members)
    ${family.name}_scratch ${family.name}; % for _, family in ipairs(attentions)
    int32_t *position; /* sampled positions, [tokens] of all sequences */ % if samples_positions and not streams[2]
    int32_t *position_scratch; /* scratch memory of sampling, [MAX_POSITION] */ % if samples_positions
    shard_sums sums; % if any_sums
} workspace;
