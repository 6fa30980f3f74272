% local format_real = precision == "float64" and f64 or f32
% local skips_operations = flops.masked[1] or cpu.unused_rows or cpu.vocabulary
% include("parts/banner.tpl", { template = "cpu/step.c.tpl", lines = comments.step })
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
static const real ${scale.name} = ${format_real(scale.value)}; /* ${scale.text} */ % for _, scale in ipairs(embedding_scales)
% for _, d in ipairs(dropouts) do
static const real ${d.name}_KEEP_SCALE = ${format_real(d.keep_scale)}; /* 1 / (1 - p), p = ${d.rate_text} */
enum { ${d.name}_DROP_BELOW = ${d.threshold} }; /* elements with 16 random bits below this number are dropped */
% end

% if cpu.vocabulary then
% local symbol_count = "TOKENS"
% if embeds_linearly then symbol_count = task.blank_count > 0 and "BLANKS + INPUTS" or "INPUTS" end
enum { VOCABULARY = ${symbol_count} }; /* number of symbols; before the first attention, a row is computed for each symbol instead of each token */

% end
% include("cpu/shared.tpl")

% include("cpu/reserve.tpl")

% paragraph("attention/cpu/family.tpl", family) % for _, family in ipairs(attentions)
% paragraph("cpu/shard_sums.tpl") % if any_sums
% include("cpu/workspace.tpl")

% paragraph("cpu/part_functions.tpl") % if cpu.unused_rows
% paragraph("cpu/vocabulary.tpl") % if cpu.vocabulary
#include "attention_${family.name}.inc" % for _, family in ipairs(attentions)
#include "layers.inc"
#include "loss.inc"

% include("cpu/begin_step.tpl")

% if any_sums then
% for _, family in ipairs(attentions) do
% paragraph("attention/cpu/end_sums.tpl", family) % if family.has_sums
% end
% include("cpu/shard.tpl")

% end
static size_t shared_bytes(const lh_shape *longest) {
    return ${last_family_with_tables}_end(longest); % if last_family_with_tables
    return sizeof(shared); % else
}

% if is_step_major then
/* The number of sequences in a block: all sequences of a shard, whatever their length. */
static int block_sequences(const int length[LH_MAX_STREAMS]) {
    (void)length;
    return BLOCK_SEQUENCES;
}

static size_t workspace_bytes(const lh_shape *longest, lh_mode mode) {
    const int sequences = longest->sequences < BLOCK_SEQUENCES ? longest->sequences : BLOCK_SEQUENCES;
    const lh_shape shape = {sequences, {longest->length[0], 0}, longest->labels};
    workspace w;
    return lay_out(&w, NULL, &shape, mode);
}

% else
% paragraph("cpu/block_size.tpl")
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

% paragraph("cpu/skipped.tpl") % if skips_operations
static void fold(void *total, void *gradient, size_t count) { fold_gradient(total, gradient, count); }

% if task.excludes_masked_labels then
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
        % include("parts/fields.tpl", { fields = {
        %   { "forward_sequences", not is_step_major and "forward_sequences" },
        %   { "tables_bytes", tables and "tables_bytes" },
        %   { "make_tables", tables and "make_tables" },
        %   { "shared_bytes", "shared_bytes" },
        %   { "workspace_bytes", "workspace_bytes" },
        %   { "begin_step", "begin_step" },
        %   { "begin_length", has_tables_by_length and "begin_length" },
        %   { "slices", slices and "true" },
        %   { "panels_bytes", has_tables_by_length and "sizeof(step_panels)" },
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
        %   { "scale", task.excludes_masked_labels and "scale" },
        %   { "squared_norm", "squared_norm" },
        %   { "update", "update" },
        %   { "skipped_flops", skips_operations and "skipped_flops" },
        % } })
};
