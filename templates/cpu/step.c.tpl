% local real = precision == "float64" and f64 or f32
% local skips = flops.masked[1] or cpu.part or cpu.vocabulary
% include("parts/banner.tpl", { template = "cpu/step.c.tpl", about = about.step })
#include "config.h"
#include "tuned.h"

#include "kernels/cpu/${optimizer.header}.h"
#include "kernels/cpu/columns.h"
#include "kernels/cpu/crossentropy.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/${header}.h" % for _, header in ipairs(cpu_headers)
#include "longhand/positions.h" % if any_draws
% if embedding_scales[1] or dropouts[1] then

% end
static const real ${scale.name} = ${real(scale.value)}; /* ${scale.text} */ % for _, scale in ipairs(embedding_scales)
% for _, d in ipairs(dropouts) do
static const real ${d.name}_KEEP_SCALE = ${real(d.keep_scale)}; /* 1 / (1 - p), p = ${d.rate_text} */
enum { ${d.name}_DROP_BELOW = ${d.threshold} }; /* elements with 16 random bits below this number are dropped */
% end

% if cpu.vocabulary then
% local symbols = linear and (task.blanks > 0 and "BLANKS + INPUTS" or "INPUTS") or "TOKENS"
enum { VOCABULARY = ${symbols} }; /* number of symbols; before the first attention, one row is computed for each symbol instead of each token */

% end
% include("cpu/positions.tpl")

% include("cpu/reserve.tpl")

% paragraph("attention/cpu/family.tpl", family) % for _, family in ipairs(attentions)
% paragraph("cpu/shard_sums.tpl") % if any_sums
% include("cpu/workspace.tpl")

% paragraph("cpu/part_functions.tpl") % if cpu.part
% paragraph("cpu/vocabulary.tpl") % if cpu.vocabulary
#include "attention_${family.name}.inc" % for _, family in ipairs(attentions)
#include "layers.inc"
#include "loss.inc"

% include("cpu/begin_step.tpl")

% if any_sums then
% for _, family in ipairs(attentions) do
% paragraph("attention/cpu/end_sums.tpl", family) % if family.sums
% end
% include("cpu/shard.tpl")

% end
static size_t shared_bytes(const lh_shape *longest) {
    return ${last_step_tables}_end(longest); % if last_step_tables
    return sizeof(shared); % else
}

/* Returns how many sequences have about `most` tokens together; at least 1. */
static int count_sequences(int most, const int length[LH_MAX_STREAMS]) {
    int tokens = length[0] + length[1], sequences = (most + tokens / 2) / tokens; % if streams[2]
    int sequences = (most + length[0] / 2) / length[0]; % else
    return sequences > 0 ? sequences : 1;
}

/* The number of sequences in a block, and in one call of forward_block. */
static int block_sequences(const int length[LH_MAX_STREAMS]) { return count_sequences(BLOCK_TOKENS, length); }
static int forward_sequences(const int length[LH_MAX_STREAMS]) { return count_sequences(EVALUATION_TOKENS, length); }

/* The approximate greatest number of tokens in a block. */
static int most_tokens(lh_mode mode) {
    const int block = BLOCK_TOKENS, evaluation = EVALUATION_TOKENS;
    return mode == LH_MODE_EVALUATE && evaluation > block ? evaluation : block;
}

% if streams[2] then
/* Returns the bytes of a workspace for as many sequences of these lengths as form a block. */
static size_t count_bytes(const lh_shape *longest, int source, int target, lh_mode mode) {
    lh_shape shape = {0, {source, target}, longest->labels};
    shape.sequences = count_sequences(most_tokens(mode), shape.length);
    if (shape.sequences > longest->sequences) shape.sequences = longest->sequences;
    workspace w;
    return lay_out(&w, NULL, &shape, shape.length[${cpu.decoding.stream}], mode); % if cpu.decoding
    return lay_out(&w, NULL, &shape, mode); % else
}

/* Among blocks with equal numbers of sequences, the block with the most tokens needs the most memory. A sequence longer
 * than most_tokens forms a block by itself. */
static size_t workspace_bytes(const lh_shape *longest, lh_mode mode) {
    size_t most = count_bytes(longest, longest->length[0], longest->length[1], mode);
    for (int tokens = 2; tokens <= 2 * most_tokens(mode); tokens++) {
        const int now[] = {tokens, 0}, next[] = {tokens + 1, 0};
        if (count_sequences(most_tokens(mode), now) == count_sequences(most_tokens(mode), next)) continue;
        for (int source = 1; source <= longest->length[0] && source < tokens; source++) {
            int target = tokens - source < longest->length[1] ? tokens - source : longest->length[1];
            size_t bytes = count_bytes(longest, source, target, mode);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}
% else
static size_t workspace_bytes(const lh_shape *longest, lh_mode mode) {
    size_t most = 0;
    for (int length = 1; length <= longest->length[0]; length++) {
        lh_shape shape = {0, {length, 0}, longest->labels};
        shape.sequences = count_sequences(most_tokens(mode), shape.length);
        if (shape.sequences > longest->sequences) shape.sequences = longest->sequences;
        workspace w;
        w.passes = PASSES; % if cpu.passes
        size_t bytes = lay_out(&w, NULL, &shape, length, mode); % if cpu.decoding
        size_t bytes = lay_out(&w, NULL, &shape, mode); % else
        if (bytes > most) most = bytes;
    }
    return most;
}
% end

static void train_block(const lh_cpu_step *step, const lh_cpu_block *block, void *memory, void *gradient,
        lh_sums *sums) {
    const parameters *p = step->parameters; % if cpu.pass.reads_parameters
    parameters *g = gradient;
    const bool train = step->mode == LH_MODE_TRAIN; % if cpu.pass.depends_on_mode
    workspace w;
    start_block(&w, step, block, memory, LH_MODE_TRAIN);
    % include(op.template, op) % for _, op in ipairs(cpu.pass.train)
    % include(op.template, op) % for _, op in ipairs(cpu.pass.backward)
}

static void forward_block(const lh_cpu_step *step, const lh_cpu_block *block, void *memory, lh_sums *sums) {
    const parameters *p = step->parameters; % if cpu.pass.reads_parameters
    const bool train = step->mode == LH_MODE_TRAIN; % if cpu.pass.depends_on_mode
    workspace w;
    start_block(&w, step, block, memory, LH_MODE_EVALUATE);
    % include(op.template, op) % for _, op in ipairs(cpu.pass.evaluate)
}

#include "trace.inc"
#include "decode.inc" % if cpu.decoding

% paragraph("cpu/skipped.tpl") % if skips
static void fold(void *total, void *gradient, size_t count) { fold_gradient(total, gradient, count); }

% if task.counted then
static void scale(void *gradient, double factor, size_t count) {
    real *g = gradient;
    for (size_t i = 0; i < count; i += LANES) store(g + i, load(g + i) * (real)factor);
}

% end
static double squared_norm(const void *gradient, size_t count) { return sum_of_squares(gradient, count); }

% include("cpu/update.tpl")

#define CHOICE(name, value, from) {name, value, from},
static const lh_choice choices[] = {LH_CHOICES(CHOICE)};

extern const lh_cpu_program LH_LEVEL_SYMBOL(${symbol});
const lh_cpu_program LH_LEVEL_SYMBOL(${symbol}) = {
        .level = LH_LEVEL_NAME,
        .real_bytes = REAL_BYTES,
        .choices = choices,
        .block_sequences = block_sequences,
        .forward_sequences = forward_sequences,
        % include("parts/fields.tpl", { fields = {
        %   { "tables_bytes", tables and "tables_bytes" },
        %   { "make_tables", tables and "make_tables" },
        %   { "shared_bytes", "shared_bytes" },
        %   { "workspace_bytes", "workspace_bytes" },
        %   { "begin_step", "begin_step" },
        %   { "begin_length", by_length and "begin_length" },
        %   { "slices", slices and "true" },
        %   { "panels_bytes", by_length and "sizeof(step_panels)" },
        %   { "begin_shard", any_sums and "begin_shard" },
        %   { "train_block", "train_block" },
        %   { "end_shard", any_sums and "end_shard" },
        %   { "forward_block", "forward_block" },
        %   { "trace_block", "trace_block" },
        %   { "decode_bytes", cpu.decoding and "decode_bytes" },
        %   { "decode_begin", cpu.decoding and cpu.decoding.before_tokens[1] and "decode_begin" },
        %   { "decode_step", cpu.decoding and "decode_step" },
        %   { "score_block", cpu.decoding and "score_block" },
        %   { "decode_move", cpu.decoding and "decode_move" },
        %   { "fold", "fold" },
        %   { "scale", task.counted and "scale" },
        %   { "squared_norm", "squared_norm" },
        %   { "update", "update" },
        %   { "skipped_flops", skips and "skipped_flops" },
        % } })
};
