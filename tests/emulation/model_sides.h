/* One batch of a generated model on both sides, the CPU half and the device code in the emulation, for test_model.c and
 * decoded_model.c. The linker sets lh_model to the spec, e.g. longhand_spec_emulated_relative. */
#ifndef LH_TESTS_MODEL_SIDES_H
#define LH_TESTS_MODEL_SIDES_H

#include <stdbool.h>

#include "data/batch.h"
#include "launch_model.h"
#include "longhand/cuda_interface.h"

extern const lh_spec lh_model;
static const lh_spec *const SPEC = &lh_model;

enum { SEED = 7, STEP = 3, SEQUENCES = 5, SHARDS = 3 };
enum { DRAW = 2, FIRST = 70 }; /* indices of an evaluation's draw and first example */

/* ---- comparison of vectors of SPEC's element type ---- */

double get_tolerance(void); /* tolerance of assert_near */
bool rounds_operands(void); /* whether products round their operands: tf32, bf16 */
size_t get_real_bytes(void);
double read_element(const void *vector, size_t i);
double find_largest(const void *vector, size_t count); /* the largest absolute value */

/* Returns the Euclidean length of actual - expected; expected NULL: of actual. */
double measure_difference(const void *actual, const void *expected, size_t count);

/* Checks the elements of actual against those of expected, with a tolerance relative to `scale`: the largest element,
 * or the length if products round their operands. measure_scale returns this scale of a vector. */
void assert_near(const char *label, const void *actual, const void *expected, size_t count, double scale);
double measure_scale(const void *vector, size_t count);

/* Returns a copy of parameters in which the elements of the first tensor have the other sign; for free(). */
void *negate_first_tensor(const void *parameters);

/* ---- a batch ---- */

typedef struct problem {
    int n; /* task length */
    lh_shape shape;
    lh_batch batch;
    lh_draw draw;
    lh_cuda_passes passes;
    double noise;              /* standard deviation of noise on embeddings in an evaluation; most models ignore it */
    void *parameters, *tables; /* initial parameters; position tables of the device */
    int *draws;                /* positions of tokens and random numbers of the device */
} problem;

problem open_problem(int n, lh_mode mode);
void close_problem(problem *p);

/* ---- the CPU half ---- */

typedef struct cpu_side {
    lh_cpu_step step;
    void *tables, *workspace, *shared, *panels;
} cpu_side;

const lh_cpu_program *get_plainest_program(void); /* the program of the lowest instruction-set level */

cpu_side open_cpu_side(const problem *p, lh_mode mode);
void close_cpu_side(cpu_side *c);

/* Runs the batch in blocks of the CPU's size: trains if gradient is not NULL, else evaluates and writes logits. */
void run_each_block(const problem *p, cpu_side *c, void *gradient, void *logits, lh_sums *sums);

/* Computes the gradient as the engine does: that of constant tensors is 0. */
void compute_cpu_gradient(const problem *p, void *gradient, lh_sums *sums);

/* Calls `visit` with each row of constant tensors: its first element, and the number of elements. */
void visit_constant_rows(void (*visit)(void *context, size_t first, size_t count), void *context);

/* ---- the device half ---- */

lh_cuda_step make_device_step(const problem *p);

/* Makes one training step with a team of blocks. */
lh_model_step train_on_device(const problem *p, int shards, int team, unsigned order);

/* If LONGHAND_BITS is set, prints a digest (FNV-1a) of `count` bytes: tests/bits compares those of two trees. */
void print_bits(const char *label, const void *bytes, size_t count);

#endif
