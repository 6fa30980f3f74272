/* See toy_program.h. */
#include "toy_program.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "longhand/math.h"
#include "longhand/positions.h"

enum { POSITION_ROWS = 64 };

#if defined(__aarch64__)
#define LEVEL "aarch64"
#else
#define LEVEL "x86-64"
#endif

/* These programs have one level, so LONGHAND_ISA does not apply to them. */
__attribute__((constructor)) static void run_at_any_level(void) { unsetenv("LONGHAND_ISA"); }

static int block_sequences(const int length[LH_MAX_STREAMS]) {
    return length[1] > 0 && length[0] + length[1] > 8 ? 1 : 2;
}

static size_t shared_bytes(const lh_shape *max_shape) {
    return (size_t)(max_shape->labels + POSITION_ROWS) * sizeof(int32_t);
}

/* Returns the caller's rows of the shape's last stream, which replace random rows; NULL: there are none. */
static const int32_t *get_given_rows(const lh_cpu_step *step) { return step->positions[step->shape.length[1] > 0]; }

/* Each part writes its share of the rows, so that a missing barrier is detected. */
static void begin_fixed(const lh_cpu_step *step, int part_index, int parts) {
    int32_t *rows = step->shared;
    int labels = step->shape.labels;
    for (int j = labels * part_index / parts; j < labels * (part_index + 1) / parts; j++)
        rows[j] = get_given_rows(step) != NULL ? get_given_rows(step)[j] : j;
}

static void begin_sampled(const lh_cpu_step *step, int part_index, int parts) {
    int32_t *rows = step->shared;
    int labels = step->shape.labels;
    if (get_given_rows(step) != NULL) begin_fixed(step, part_index, parts);
    else if (part_index == 0) lh_draw_positions(&step->draw, 0, 0, POSITION_ROWS, labels, true, rows, rows + labels);
}

static int get_row(const lh_cpu_step *step, int label) { return ((const int32_t *)step->shared)[label]; }

/* Counts input tokens: of one stream, the tokens before the labels' tokens; of two, the first stream's. */
static int count_inputs(const lh_shape *shape) {
    return shape->length[1] > 0 ? shape->length[0] : shape->length[0] - shape->labels;
}

/* Returns the index of a label's token in the last stream. */
static int find_token_index(const lh_cpu_step *step, const lh_cpu_block *block, int s, int label) {
    const int *length = step->shape.length, labels = step->shape.labels;
    if (block->place != NULL) return block->place[s * labels + label];
    return length[length[1] > 0] - labels + label;
}

/* Returns the token of a label in the second stream; -1: there is no such stream. */
static int find_token(const lh_cpu_step *step, const lh_cpu_block *block, int s, int label) {
    int T = step->shape.length[1];
    if (T == 0) return -1;
    assert(find_token_index(step, block, s, label) < T);
    return block->tokens[1][s * T + find_token_index(step, block, s, label)];
}

#define REAL float
#define NAME(name) name##_float
#include "toy_program.inc"
#undef REAL
#undef NAME

#define REAL double
#define NAME(name) name##_double
#include "toy_program.inc"
#undef REAL
#undef NAME

const lh_cpu_program toy_float = {
    .level = LEVEL,
    .real_bytes = 4,
    .block_sequences = block_sequences,
    .tables_bytes = tables_bytes_float,
    .make_tables = make_tables_float,
    .shared_bytes = shared_bytes,
    .workspace_bytes = workspace_bytes_float,
    .begin_step = begin_fixed,
    .train_block = train_block_float,
    .end_shard = end_shard_float,
    .forward_block = forward_block_float,
    .trace_block = trace_block_float,
    .decode_bytes = decode_bytes_float,
    .decode_begin = decode_begin_float,
    .decode_step = decode_step_float,
    .score_block = score_block_float,
    .decode_move = decode_move_float,
    .fold = fold_float,
    .squared_norm = squared_norm_float,
    .update = update_float,
};

const lh_cpu_program toy_drawn = {
    .level = LEVEL,
    .real_bytes = 4,
    .block_sequences = block_sequences,
    .tables_bytes = tables_bytes_float,
    .make_tables = make_tables_float,
    .shared_bytes = shared_bytes,
    .workspace_bytes = workspace_bytes_float,
    .begin_step = begin_sampled,
    .train_block = train_block_float,
    .end_shard = end_shard_float,
    .forward_block = forward_block_float,
    .trace_block = trace_block_float,
    .decode_bytes = decode_bytes_float,
    .decode_begin = decode_begin_float,
    .decode_step = decode_step_float,
    .score_block = score_block_float,
    .decode_move = decode_move_float,
    .fold = fold_float,
    .squared_norm = squared_norm_float,
    .update = update_float,
};

const lh_cpu_program toy_double = {
    .level = LEVEL,
    .real_bytes = 8,
    .block_sequences = block_sequences,
    .tables_bytes = tables_bytes_double,
    .make_tables = make_tables_double,
    .shared_bytes = shared_bytes,
    .workspace_bytes = workspace_bytes_double,
    .begin_step = begin_fixed,
    .train_block = train_block_double,
    .end_shard = end_shard_double,
    .forward_block = forward_block_double,
    .trace_block = trace_block_double,
    .decode_bytes = decode_bytes_double,
    .decode_begin = decode_begin_double,
    .decode_step = decode_step_double,
    .score_block = score_block_double,
    .decode_move = decode_move_double,
    .fold = fold_double,
    .squared_norm = squared_norm_double,
    .update = update_double,
};

const lh_cpu_program *const toy_float_list[] = {&toy_float, NULL};
const lh_cpu_program *const toy_double_list[] = {&toy_double, NULL};
const lh_cpu_program *const toy_drawn_list[] = {&toy_drawn, NULL};
