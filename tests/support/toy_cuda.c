/* See toy_cuda.h. */
#include "toy_cuda.h"

#include <string.h>

#include "longhand/positions.h"

enum { POSITION_ROWS = 64 };

static size_t draw_count(const lh_shape *shape) { return (size_t)shape->labels; }

static void draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
                 const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    const int32_t *given_positions = positions[shape->length[1] > 0];
    if (given_positions != NULL) memcpy(out, given_positions, (size_t)shape->labels * sizeof *out);
    else lh_draw_positions(from, 0, 0, POSITION_ROWS, shape->labels, true, out, scratch);
}

static size_t shared_bytes(const lh_shape *max_shape) { return (size_t)max_shape->labels * sizeof(int); }

#define SIZES(real) \
    static size_t tables_bytes_##real(const int max_lengths[LH_MAX_STREAMS]) { \
        return (size_t)(1 + max_lengths[0] + max_lengths[1]) * sizeof(real); \
    } \
    static void make_tables_##real(void *tables, const int max_lengths[LH_MAX_STREAMS]) { \
        real *t = tables; \
        t[0] = (real)max_lengths[0]; \
        for (int i = 0; i < max_lengths[0] + max_lengths[1]; i++) \
            t[1 + i] = i < max_lengths[0] ? (real)0.5 : (real)0.25; \
    } \
    static size_t partial_bytes_##real(const lh_shape *max_shape) { return TOY_STORAGE * sizeof(real); } \
    static size_t workspace_bytes_##real(const lh_shape *shape, lh_mode mode) { \
        return (size_t)shape->sequences * TOY_WIDTH * sizeof(real); \
    }

SIZES(float)
SIZES(double)

static int evaluation_group(const lh_shape *shape) { return 3; }

static const unsigned char code[] = "compute_75";

static const lh_cuda_image images[] = {{"compute_75", code, code + sizeof code - 1}, {NULL, NULL, NULL}};

const lh_cuda_program toy_cuda = {
    .source_digest = "00000000deadbeef",
    .precision = "float32",
    .real_bytes = 4,
    .train_kernel = "toy_train_kernel",
    .evaluate_kernel = "toy_evaluate_kernel",
    .least_architecture = 75,
    .threads = 32,
    .block_memory = 1024,
    .chip = {"chip", 4},
    .replicas = {"replicas", 2},
    .beta1 = 0.9,
    .beta2 = 0.999,
    .images = images,
    .toolkit = "13.0",
    .tables_bytes = tables_bytes_float,
    .make_tables = make_tables_float,
    .draw_count = draw_count,
    .draw_scratch = POSITION_ROWS,
    .draw = draw,
    .shared_bytes = shared_bytes,
    .partial_bytes = partial_bytes_float,
    .workspace_bytes = workspace_bytes_float,
    .evaluation_group = evaluation_group,
};

const lh_cuda_program toy_double_cuda = {
    .source_digest = "00000000deadbeef",
    .precision = "float64",
    .real_bytes = 8,
    .train_kernel = "toy_double_train_kernel",
    .evaluate_kernel = "toy_double_evaluate_kernel",
    .least_architecture = 75,
    .threads = 32,
    .block_memory = 1024,
    .chip = {"chip", 4},
    .replicas = {"replicas", 2},
    .beta1 = 0.9,
    .beta2 = 0.999,
    .images = images,
    .toolkit = "13.0",
    .tables_bytes = tables_bytes_double,
    .make_tables = make_tables_double,
    .draw_count = draw_count,
    .draw_scratch = POSITION_ROWS,
    .draw = draw,
    .shared_bytes = shared_bytes,
    .partial_bytes = partial_bytes_double,
    .workspace_bytes = workspace_bytes_double,
    .evaluation_group = evaluation_group,
};
