/* See toy_cuda.h. */
#include "toy_cuda.h"

#include <string.h>

#include "longhand/positions.h"

enum { POSITION_ROWS = 64 };

static int labels_of(int T) { return T / 2; }

static void draw(const lh_draw *from, int T, const int32_t *positions, const int32_t *distances, int *scratch,
                 int *out) {
    int count = labels_of(T);
    (void)distances;
    if (positions != NULL) memcpy(out, positions, (size_t)count * sizeof *out);
    else lh_draw_positions(from, 0, 0, POSITION_ROWS, count, true, out, scratch);
}

static size_t shared_bytes(int T) { return (size_t)labels_of(T) * sizeof(int); }

#define SIZES(real) \
    static size_t tables_bytes_##real(int max_length) { return (size_t)max_length * sizeof(real); } \
    static void make_tables_##real(void *tables, int max_length) { \
        for (int i = 0; i < max_length; i++) ((real *)tables)[i] = (real)0.5; \
    } \
    static size_t partial_bytes_##real(int T) { return (void)T, TOY_STORAGE * sizeof(real); } \
    static size_t workspace_bytes_##real(const lh_shape *part, lh_mode mode) { \
        (void)mode; \
        return (size_t)part->sequences * TOY_WIDTH * sizeof(real); \
    }

SIZES(float)
SIZES(double)

static int evaluation_group(int T) {
    (void)T;
    return 3;
}

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
    .draw_count = labels_of,
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
    .draw_count = labels_of,
    .draw_scratch = POSITION_ROWS,
    .draw = draw,
    .shared_bytes = shared_bytes,
    .partial_bytes = partial_bytes_double,
    .workspace_bytes = workspace_bytes_double,
    .evaluation_group = evaluation_group,
};
