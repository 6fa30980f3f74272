/* See gradcheck.h. */
#include "bench/gradcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "data/initialise.h"
#include "train/engine.h"

enum {
    SEQUENCES = 3,
    LARGEST = 3, /* elements with the largest gradient that are checked alone */
    RANDOM = 3   /* and others at random */
};
/* A central difference is off by rounding, about 1e-16 / H = 1e-11, and by H^2 times the third derivative, 1e-9. */
static const double H = 3e-5;
static const double TOLERANCE = 1e-5; /* relative */
static const double FLOOR = 1e-4;     /* added to the size that errors are relative to */
static const double NOISE = 0.1;      /* of the parameters: away from zeros and ones, where mistakes hide */
enum { TRIES = 4 };                   /* steps a quarter as long each, to get off the kink of a ReLU */

typedef struct check {
    const lh_spec *spec;
    const lh_cpu_program *program;
    lh_cpu_step step;
    lh_cpu_block block;
    lh_batch batch;
    double *parameters, *gradient, *waste, *direction;
    void *tables, *shared, *workspace;
    lh_rng rng;
} check;

static double uniform(check *c) { return (lh_rng_word(&c->rng) + 0.5) / 4294967296.0 - 0.5; }

static int64_t rows_of(const lh_tensor *tensor) { return tensor->rank == 1 ? 1 : tensor->shape[0]; }

static int64_t columns_of(const lh_tensor *tensor) { return tensor->rank == 1 ? tensor->shape[0] : tensor->shape[1]; }

/* Index in the vector of element e of a tensor. */
static int64_t element(const lh_tensor *tensor, int64_t e) {
    return tensor->offset + e / columns_of(tensor) * tensor->stride + e % columns_of(tensor);
}

/* The objective, and its gradient added to gradient. */
static double objective(check *c, double *gradient) {
    lh_sums sums = {0};
    c->program->begin_step(&c->step, 0, 1);
    if (c->program->begin_shard != NULL) c->program->begin_shard(&c->step, c->workspace);
    c->program->train_block(&c->step, &c->block, c->workspace, gradient, &sums);
    if (c->program->end_shard != NULL) c->program->end_shard(&c->step, c->workspace, gradient);
    return sums.loss * c->block.loss_scale;
}

/* Numeric derivative along c->direction, which is zero outside the tensor. */
static double slope(check *c, const lh_tensor *tensor, double h) {
    int64_t count = rows_of(tensor) * columns_of(tensor);
    double side[2];
    for (int i = 0; i < 2; i++) {
        for (int64_t e = 0; e < count; e++)
            c->parameters[element(tensor, e)] += (i == 0 ? h : -2.0 * h) * c->direction[e];
        side[i] = objective(c, c->waste);
    }
    for (int64_t e = 0; e < count; e++) c->parameters[element(tensor, e)] += h * c->direction[e];
    return (side[0] - side[1]) / (2.0 * h);
}

static void check_direction(check *c, const lh_tensor *tensor, lh_gradcheck_result *result) {
    int64_t count = rows_of(tensor) * columns_of(tensor);
    double analytic = 0, least = INFINITY, h = H;
    for (int64_t e = 0; e < count; e++) analytic += c->direction[e] * c->gradient[element(tensor, e)];
    for (int i = 0; i < TRIES && !(least <= TOLERANCE); i++, h /= 4.0) {
        double numeric = slope(c, tensor, h);
        double error = fabs(numeric - analytic) / (fmax(fabs(numeric), fabs(analytic)) + FLOOR);
        if (!isfinite(error)) error = INFINITY;
        least = fmin(least, error);
    }
    result->worst = fmax(result->worst, least);
    result->passed = result->passed && least <= TOLERANCE;
    result->checks++;
}

/* Half the gradient's direction, half noise, of length 1. */
static void mixed_direction(check *c, const lh_tensor *tensor) {
    int64_t count = rows_of(tensor) * columns_of(tensor);
    double squares = 0, length = 0;
    for (int64_t e = 0; e < count; e++) squares += c->gradient[element(tensor, e)] * c->gradient[element(tensor, e)];
    double scale = squares > 0 ? 1.0 / sqrt(squares) : 0.0, noise = sqrt(12.0 / (double)count);
    for (int64_t e = 0; e < count; e++) {
        c->direction[e] = scale * c->gradient[element(tensor, e)] + noise * uniform(c);
        length += c->direction[e] * c->direction[e];
    }
    for (int64_t e = 0; e < count; e++) c->direction[e] /= sqrt(length);
}

static void check_element(check *c, const lh_tensor *tensor, int64_t e, lh_gradcheck_result *result) {
    memset(c->direction, 0, (size_t)(rows_of(tensor) * columns_of(tensor)) * sizeof *c->direction);
    c->direction[e] = 1.0;
    check_direction(c, tensor, result);
}

/* The element with the largest gradient below `limit` in size. */
static int64_t largest_below(const check *c, const lh_tensor *tensor, double *limit) {
    int64_t best = 0;
    double size = -1.0;
    for (int64_t e = 0; e < rows_of(tensor) * columns_of(tensor); e++) {
        double g = fabs(c->gradient[element(tensor, e)]);
        if (g > size && g < *limit) {
            size = g;
            best = e;
        }
    }
    *limit = size;
    return best;
}

static void check_tensor(check *c, const lh_tensor *tensor, lh_gradcheck_result *result) {
    int64_t count = rows_of(tensor) * columns_of(tensor);
    double limit = INFINITY;
    if (result->checks == 0) result->passed = true;
    mixed_direction(c, tensor);
    check_direction(c, tensor, result);
    for (int i = 0; i < LARGEST; i++) check_element(c, tensor, largest_below(c, tensor, &limit), result);
    for (int i = 0; i < RANDOM; i++) check_element(c, tensor, lh_rng_below(&c->rng, (uint32_t)count), result);
}

static lh_status open_memory(check *c, const lh_shape *shape, lh_error *error) {
    size_t vector = (size_t)c->spec->parameter_storage * sizeof(double);
    int longest = shape->length[0] > shape->length[1] ? shape->length[0] : shape->length[1];
    const lh_cpu_program *p = c->program;
    size_t bytes[] = {vector,
                      vector,
                      vector,
                      vector,
                      p->tables_bytes != NULL ? p->tables_bytes(longest) : 0,
                      p->shared_bytes(shape, LH_MODE_TRAIN),
                      p->workspace_bytes(shape, LH_MODE_TRAIN)};
    void *memory[7] = {NULL};
    for (int i = 0; i < 7; i++) memory[i] = lh_engine_memory(bytes[i], "the gradient check", error);
    c->parameters = memory[0];
    c->gradient = memory[1];
    c->waste = memory[2];
    c->direction = memory[3];
    c->tables = memory[4];
    c->shared = memory[5];
    c->workspace = memory[6];
    for (int i = 0; i < 7; i++)
        if (memory[i] == NULL) return LH_ERR_ENVIRONMENT;
    return LH_OK;
}

static void close_memory(check *c) {
    free(c->parameters);
    free(c->gradient);
    free(c->waste);
    free(c->direction);
    free(c->tables);
    free(c->shared);
    free(c->workspace);
    lh_batch_close(&c->batch);
}

static lh_status prepare(check *c, int n, const lh_shape *shape, uint64_t seed, lh_error *error) {
    const lh_spec *spec = c->spec;
    lh_key key = lh_key_of_seed(seed);
    lh_source source = {key, 0, LH_DOMAIN_DATA, 0, NULL};
    if (c->program->tables_bytes != NULL)
        c->program->make_tables(c->tables, shape->length[0] > shape->length[1] ? shape->length[0] : shape->length[1]);
    lh_initialise(spec, seed, 8, c->parameters);
    for (int t = 0; t < spec->tensor_count; t++)
        for (int64_t e = 0; spec->tensors[t].learned && e < rows_of(&spec->tensors[t]) * columns_of(&spec->tensors[t]);
             e++)
            c->parameters[element(&spec->tensors[t], e)] += NOISE * uniform(c);
    c->step = (lh_cpu_step){.mode = LH_MODE_TRAIN,
                            .shape = *shape,
                            .key = key,
                            .draw = {key, 0, LH_SHARED, LH_DOMAIN_POSITIONS},
                            .parameters = c->parameters,
                            .tables = c->tables,
                            .shared = c->shared};
    c->block = (lh_cpu_block){.sequences = shape->sequences,
                              .labels = c->batch.labels,
                              .mask = c->batch.mask,
                              .loss_scale = 1.0 / ((double)shape->sequences * shape->labels)};
    for (int s = 0; s < spec->format->streams; s++) c->block.tokens[s] = c->batch.tokens[s];
    return lh_batch_fill(&c->batch, spec, &source, n, 0, shape->sequences, error);
}

lh_status lh_gradcheck(const lh_spec *spec, const lh_cpu_program *program, int n, uint64_t seed,
                       lh_gradcheck_result *results, lh_error *error) {
    check c = {.spec = spec, .program = program, .rng = lh_rng_at(lh_key_of_seed(seed), (uint32_t)n, 0, 0)};
    lh_shape shape = lh_shape_at(spec, n, SEQUENCES);
    int block = program->block_sequences(shape.length);
    shape.sequences = block < SEQUENCES ? block : SEQUENCES;
    lh_status status = open_memory(&c, &shape, error);
    if (status == LH_OK) status = lh_batch_open(&c.batch, spec, n, shape.sequences, error);
    if (status == LH_OK) status = prepare(&c, n, &shape, seed, error);
    if (status == LH_OK) {
        objective(&c, c.gradient);
        for (int t = 0; t < spec->tensor_count; t++)
            if (spec->tensors[t].learned) check_tensor(&c, &spec->tensors[t], &results[t]);
    }
    close_memory(&c);
    return status;
}
