/* See toy_spec.h. */
#include "toy_spec.h"

#include <stddef.h>

lh_task_sample lh_task_bucket_sort;

static int keep_length(int n) { return n; }

static int double_length(int n) { return 2 * n; }

static void assemble(const lh_example *example, uint16_t *const tokens[LH_MAX_STREAMS]) {
    for (int i = 0; i < example->input_length; i++) tokens[0][i] = example->input[i];
    for (int i = 0; i < example->output_length; i++) tokens[0][example->input_length + i] = TOY_EMPTY;
}

static double flops(const lh_shape *shape, lh_mode mode) {
    double forward = 2.0 * TOY_WIDTH * TOY_CLASSES * shape->labels * shape->sequences;
    return mode == LH_MODE_TRAIN ? 3.0 * forward : forward;
}

static const char *const symbols[TOY_SYMBOLS] = {"0", "1", "2", "3", "4"};

static const lh_task task = {
    .kind = "bucket_sort",
    .sample = lh_task_bucket_sort,
    .input_length = keep_length,
    .output_length = keep_length,
    .input_symbols = TOY_SYMBOLS,
    .output_symbols = TOY_SYMBOLS,
    .input_symbol = symbols,
    .output_symbol = symbols,
    .chance = 0.2,
    .baseline = 0.2369,
    .baseline_name = "most frequent token of the sequence, everywhere",
};

static const lh_format format = {
    .stream = {{"source", double_length}},
    .streams = 1,
    .labels = keep_length,
    .assemble = assemble,
};

/* Each row: name, rank, shape, offset, stride, init, value (the parameter of init), learned. Query, key and value share
 * rows of 12 elements. Two rows of output.weight are in the first chunk, two rows and the bias in the second. */
static const lh_tensor tensors[TOY_TENSORS] = {
    [TOY_TOKEN] = {"embed.token.weight", 2, {7, 4}, 0, 4, LH_INIT_TRUNCATED_NORMAL, 0.5, true},
    [TOY_POSITION] = {"embed.position.weight", 2, {64, 4}, 32, 4, LH_INIT_NORMAL, 1.0, false},
    [TOY_QUERY] = {"layers.0.attention.query.weight", 2, {4, 4}, 288, 12, LH_INIT_TRUNCATED_NORMAL, 0.5, true},
    [TOY_KEY] = {"layers.0.attention.key.weight", 2, {4, 4}, 292, 12, LH_INIT_TRUNCATED_NORMAL, 0.5, true},
    [TOY_VALUE] = {"layers.0.attention.value.weight", 2, {4, 4}, 296, 12, LH_INIT_TRUNCATED_NORMAL, 0.5, true},
    [TOY_SCALE] = {"layers.0.norm1.scale", 1, {4, 0}, 352, 4, LH_INIT_CONSTANT, 1.0, true},
    [TOY_OUTPUT] = {"output.weight", 2, {4, 5}, 4080, 8, LH_INIT_TRUNCATED_NORMAL, 0.5, true},
    [TOY_BIAS] = {"output.bias", 1, {5, 0}, 4112, 5, LH_INIT_CONSTANT, 0.0, true},
};

static const int64_t kept_steps[] = {4};

const lh_spec lh_toy_spec = {
    .abi = LH_ABI,
    .id = "toy",
    .plan_digest = "0123456789abcdef",
    .model_digest = "00112233445566aa",
    .source_digest = "fedcba9876543210",
    .resolved = "{\"id\":\"toy\"}",
    .precision = "float32",
    .tensors = tensors,
    .tensor_count = TOY_TENSORS,
    .parameter_count = 28 + 3 * 16 + 4 + 20 + 5,
    .parameter_storage = TOY_STORAGE,
    .task = &task,
    .format = &format,
    .classes = TOY_CLASSES,
    .limit = {TOY_LONGEST, "the toy's table of 64 rows"},
    .nominal_flops = flops,
    .executed_flops = flops,
    .train = {.batch = 8,
              .shards = 4,
              .lengths = {.first = 1, .last = 6, .step = 1},
              .steps = 20,
              .learning_rate = 0.01,
              .log_every = 5,
              .checkpoint_every = 10,
              .keep_steps = kept_steps,
              .keep_steps_count = 1},
    .eval = {.axis = "length",
             .lengths = {.first = 7, .last = 9, .step = 1},
             .examples = 10,
             .draws = 1,
             .during_lengths = {.first = 7, .last = 9, .step = 2},
             .during_examples = 5},
    .optimizer = {.kind = "adam", .states = 2, .state_name = {"first_moment", "second_moment"}, .clip_norm = 1.0},
};

lh_spec lh_toy_make_spec(const lh_cpu_program *const *cpu) {
    lh_spec spec = lh_toy_spec;
    spec.cpu = cpu;
    return spec;
}

/* --- two streams ------------------------------------------------------------------------------------------------ */

static int target_length(int n) { return n + 3; }

static void pair_shape(int input, int output, lh_shape *shape) {
    shape->length[0] = input;
    shape->length[1] = output + 3;
    shape->labels = output;
}

static void assemble_pair(const lh_example *example, uint16_t *const tokens[LH_MAX_STREAMS]) {
    int outputs = example->output_length;
    for (int i = 0; i < example->input_length; i++) tokens[0][i] = example->input[i];
    tokens[1][0] = TOY_START;
    for (int i = 0; i < outputs; i++) tokens[1][1 + i] = example->target[i];
    tokens[1][outputs + 1] = tokens[1][outputs + 2] = TOY_EMPTY;
}

static bool locate_pair(const lh_example *example, uint16_t *place) {
    for (int i = 0; i < example->output_length; i++) place[i] = (uint16_t)i;
    return true;
}

static const lh_format pair_format = {
    .stream = {{"source", keep_length}, {"target", target_length}},
    .streams = 2,
    .label_stream = 1,
    .teacher_forced = true,
    .labels = keep_length,
    .assemble = assemble_pair,
    .locate = locate_pair,
};

const lh_format lh_toy_pair_data_format = {
    .stream = {{"source", NULL}, {"target", NULL}},
    .streams = 2,
    .label_stream = 1,
    .teacher_forced = true,
    .shape = pair_shape,
    .assemble = assemble_pair,
    .locate = locate_pair,
};

static const lh_trace_site pair_sites[TOY_PAIR_SITES] = {
    [TOY_PAIR_SOURCE] = {.name = "source", .channels = TOY_WIDTH},
    [TOY_PAIR_TARGET] = {.name = "target", .channels = TOY_WIDTH, .query = 1, .key = 1},
    [TOY_PAIR_CROSS] = {.name = "cross", .heads = TOY_PAIR_HEADS, .query = 1},
};

lh_spec lh_toy_make_pair(const lh_cpu_program *const *cpu) {
    lh_spec spec = lh_toy_make_spec(cpu);
    spec.id = "toy_pair";
    spec.format = &pair_format;
    spec.sites = pair_sites;
    spec.site_count = TOY_PAIR_SITES;
    return spec;
}
