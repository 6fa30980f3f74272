/* See gradcheck.h. */
#include "bench/gradcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine.h"

enum {
    SEQUENCES = 3,
    SHARDS = 2,  /* of the CPU's step, one of them with two sequences */
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
    lh_engine *engine;
    lh_state state;
    double *parameters; /* of the state */
    double *gradient, *direction;
    lh_rng rng;
} check;

static double uniform(check *c) { return (lh_rng_word(&c->rng) + 0.5) / 4294967296.0 - 0.5; }

static int64_t rows_of(const lh_tensor *tensor) { return tensor->rank == 1 ? 1 : tensor->shape[0]; }

static int64_t columns_of(const lh_tensor *tensor) { return tensor->rank == 1 ? tensor->shape[0] : tensor->shape[1]; }

/* Index in the vector of element e of a tensor. */
static int64_t element(const lh_tensor *tensor, int64_t e) {
    return tensor->offset + e / columns_of(tensor) * tensor->stride + e % columns_of(tensor);
}

/* The loss at the parameters: that of step 0, whose batch, draws and dropout are always the same. */
static lh_status find_loss(check *c, double *loss, lh_error *error) {
    const lh_engine_ops *ops = c->engine->ops;
    lh_step_metrics metrics;
    int done;
    lh_status status = ops->write_state(c->engine, &c->state, 0, error);
    if (status == LH_OK) status = ops->step(c->engine, 1, &metrics, &done, error);
    if (status == LH_OK) *loss = metrics.sums.loss / (double)metrics.sums.positions;
    return status;
}

static void move(check *c, const lh_tensor *tensor, double by) {
    for (int64_t e = 0; e < rows_of(tensor) * columns_of(tensor); e++)
        c->parameters[element(tensor, e)] += by * c->direction[e];
}

/* Numeric derivative along c->direction, which is zero outside the tensor. */
static lh_status find_slope(check *c, const lh_tensor *tensor, double h, double *slope, lh_error *error) {
    double above = 0, below = 0;
    move(c, tensor, h);
    lh_status status = find_loss(c, &above, error);
    move(c, tensor, -2.0 * h);
    if (status == LH_OK) status = find_loss(c, &below, error);
    move(c, tensor, h);
    *slope = (above - below) / (2.0 * h);
    return status;
}

static lh_status check_direction(check *c, const lh_tensor *tensor, lh_gradcheck_result *result, lh_error *error) {
    int64_t count = rows_of(tensor) * columns_of(tensor);
    double analytic = 0, least = INFINITY, h = H, numeric;
    for (int64_t e = 0; e < count; e++) analytic += c->direction[e] * c->gradient[element(tensor, e)];
    for (int i = 0; i < TRIES && !(least <= TOLERANCE); i++, h /= 4.0) {
        lh_status status = find_slope(c, tensor, h, &numeric, error);
        if (status != LH_OK) return status;
        least = fmin(least, fabs(numeric - analytic) / (fmax(fabs(numeric), fabs(analytic)) + FLOOR));
    }
    result->worst = fmax(result->worst, least);
    result->passed = result->passed && least <= TOLERANCE;
    result->checks++;
    return LH_OK;
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

static lh_status check_element(check *c, const lh_tensor *tensor, int64_t e, lh_gradcheck_result *result,
                               lh_error *error) {
    memset(c->direction, 0, (size_t)(rows_of(tensor) * columns_of(tensor)) * sizeof *c->direction);
    c->direction[e] = 1.0;
    return check_direction(c, tensor, result, error);
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

static lh_status check_tensor(check *c, const lh_tensor *tensor, lh_gradcheck_result *result, lh_error *error) {
    uint32_t count = (uint32_t)(rows_of(tensor) * columns_of(tensor));
    double limit = INFINITY;
    if (result->checks == 0) result->passed = true;
    mixed_direction(c, tensor);
    lh_status status = check_direction(c, tensor, result, error);
    for (int i = 0; status == LH_OK && i < LARGEST; i++)
        status = check_element(c, tensor, largest_below(c, tensor, &limit), result, error);
    for (int i = 0; status == LH_OK && i < RANDOM; i++)
        status = check_element(c, tensor, lh_rng_below(&c->rng, count), result, error);
    return status;
}

/* The engine's initial parameters, moved a little, and the gradient there. */
static lh_status prepare(check *c, lh_error *error) {
    const lh_spec *spec = c->spec;
    size_t bytes = (size_t)spec->parameter_storage * sizeof(double);
    double loss;
    lh_status status = lh_state_open(&c->state, c->engine, false, error);
    if (status != LH_OK) return status;
    c->parameters = c->state.parameters;
    c->gradient = lh_engine_memory(bytes, "the gradient check", error);
    c->direction = lh_engine_memory(bytes, "the gradient check", error);
    if (c->gradient == NULL || c->direction == NULL) return LH_ERR_ENVIRONMENT;
    status = c->engine->ops->read_state(c->engine, &c->state, error);
    for (int t = 0; t < spec->tensor_count; t++)
        for (int64_t e = 0; spec->tensors[t].learned && e < rows_of(&spec->tensors[t]) * columns_of(&spec->tensors[t]);
             e++)
            c->parameters[element(&spec->tensors[t], e)] += NOISE * uniform(c);
    if (status == LH_OK) status = find_loss(c, &loss, error);
    return status == LH_OK ? c->engine->ops->read_gradient(c->engine, c->gradient, error) : status;
}

static lh_status check_engine(check *c, lh_gradcheck_result *results, lh_error *error) {
    lh_status status = prepare(c, error);
    for (int t = 0; status == LH_OK && t < c->spec->tensor_count; t++)
        if (c->spec->tensors[t].learned) status = check_tensor(c, &c->spec->tensors[t], &results[t], error);
    lh_state_close(&c->state);
    free(c->gradient);
    free(c->direction);
    return status;
}

lh_status lh_gradcheck(const lh_target *target, int n, uint64_t seed, lh_gradcheck_result *results, lh_error *error) {
    lh_target few = *target;
    few.spec.train.batch = SEQUENCES;
    few.spec.train.shards = SHARDS;
    lh_engine_config config = {
        .spec = &few.spec, .seed = seed, .threads = 1, .trains = true, .keeps_gradient = true, .fixed_length = n};
    check c = {.spec = &few.spec, .rng = lh_rng_at(lh_key_of_seed(seed), (uint32_t)n, 0, 0)};
    lh_status status = lh_target_engines(&few, &config, 1, false, &c.engine, error);
    if (status != LH_OK) return status;
    status = check_engine(&c, results, error);
    c.engine->ops->close(c.engine);
    return status;
}
