/* See gradcheck.h.
 *
 * A check takes the slope of the loss along a direction from the gradient, and compares it with differences of losses.
 * The loss has kinks: where a ReLU's input crosses zero, and where a value in a score crosses a bound, as in max(x, 1).
 * A difference across a kink is the slope of neither side. So if the two-sided difference disagrees with the gradient,
 * the two one-sided differences are computed:
 *   - A one-sided difference agrees with the gradient: a kink lies on the other side, and the check passes.
 *   - All three differences agree with each other, but not with the gradient: there is no kink, the check fails.
 *   - Any other result, such as kinks on both sides: the check is repeated at the next point along the direction, with
 *     the gradient there and a shorter step. An error of the gradient persists at this point, a kink does not. */
#include "bench/gradcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

enum {
    SEQUENCES = 3,
    SHARDS = 2,           /* shards of a step on the CPU, one of which has two sequences */
    LARGEST_ELEMENTS = 3, /* elements with the largest gradient that are checked individually */
    RANDOM_ELEMENTS = 3,  /* random elements that are checked individually */
    POINTS = 6            /* points along a direction, each with half the step of the previous one */
};
/* Step of a difference at the first point, along a direction of length 1. A difference has a rounding error of about
 * 4e-16 / FIRST_STEP = 4e-11, and a truncation error of FIRST_STEP^2 = 1e-10 times the third derivative; at the last
 * point the rounding error is about 1e-9. */
static const double FIRST_STEP = 1e-5;
static const double SPACING = 1e-3; /* distance of points, far larger than the step of a difference */
/* Slopes agree if they differ by at most TOLERANCE * (p + FLOOR); p: largest |gradient[i] * direction[i]| over all
 * elements i of a tensor. */
static const double TOLERANCE = 1e-5, FLOOR = 1e-4;
/* Width of the random change of each parameter. Initial values of exactly 0 or 1 would hide errors. */
static const double NOISE = 0.1;

typedef struct check {
    const lh_spec *spec;
    lh_engine *engine;
    lh_state state;
    double *parameters;     /* parameters of the engine's state */
    double *base;           /* parameters at the first point, where every check begins */
    double *gradient;       /* gradient at the first point */
    double loss;            /* loss at the first point */
    double *point_gradient; /* gradient at the current point */
    double *direction;      /* direction for the checked tensor, element by element, of length 1 */
    lh_rng rng;
} check;

/* Slopes along the direction at one point. */
typedef struct slopes {
    double analytic;            /* by the gradient */
    double centre, left, right; /* differences: two-sided, before the point, after it */
    double scale;               /* p + FLOOR (see TOLERANCE), by which errors are divided */
} slopes;

/* Draws a number from (-0.5, 0.5). */
static double draw_uniform(check *c) { return (lh_rng_word(&c->rng) + 0.5) / 4294967296.0 - 0.5; } /* 2^32 */

/* The index in the parameter vector of element e of a tensor. */
static int64_t find_element(const lh_tensor *tensor, int64_t e) {
    return tensor->offset + e / lh_count_tensor_columns(tensor) * tensor->stride + e % lh_count_tensor_columns(tensor);
}

/* Computes the loss of step 0 at c->parameters. The batch, draws and dropout of step 0 are always the same. */
static lh_status compute_loss(check *c, double *loss, lh_error *error) {
    const lh_engine_ops *ops = c->engine->ops;
    lh_step_metrics metrics;
    int step_count;
    lh_status status = ops->write_state(c->engine, &c->state, 0, error);
    if (status == LH_OK) status = ops->step(c->engine, 1, &metrics, &step_count, error);
    if (status == LH_OK) *loss = lh_compute_mean_loss(&metrics.sums);
    return status;
}

/* Sets the tensor's parameters to the point at `distance` from the first point along the direction. */
static void move_parameters(check *c, const lh_tensor *tensor, double distance) {
    for (int64_t e = 0; e < lh_count_tensor_elements(tensor); e++) {
        int64_t i = find_element(tensor, e);
        c->parameters[i] = c->base[i] + distance * c->direction[e];
    }
}

static lh_status compute_loss_at(check *c, const lh_tensor *tensor, double distance, double *loss, lh_error *error) {
    move_parameters(c, tensor, distance);
    return compute_loss(c, loss, error);
}

/* Computes *loss, s->analytic and s->scale at the point at `distance`. */
static lh_status compute_analytic_slope(check *c, const lh_tensor *tensor, double distance, double *loss, slopes *s,
                                        lh_error *error) {
    const double *gradient = c->gradient;
    *loss = c->loss;
    if (distance != 0) {
        lh_status status = compute_loss_at(c, tensor, distance, loss, error);
        if (status == LH_OK) status = c->engine->ops->read_gradient(c->engine, c->point_gradient, error);
        if (status != LH_OK) return status;
        gradient = c->point_gradient;
    }
    s->analytic = s->scale = 0;
    for (int64_t e = 0; e < lh_count_tensor_elements(tensor); e++) {
        double product = c->direction[e] * gradient[find_element(tensor, e)];
        s->analytic += product;
        s->scale = fmax(s->scale, fabs(product));
    }
    s->scale += FLOOR;
    return LH_OK;
}

static double compute_error(const slopes *s, double slope) { return fabs(slope - s->analytic) / s->scale; }

static bool are_close(const slopes *s, double a, double b) { return fabs(a - b) <= TOLERANCE * s->scale; }

/* Computes all slopes at the point at `distance`; numeric slopes have errors of second order in `step`. If the
 * two-sided slope agrees with the gradient, it also takes the place of the one-sided slopes. */
static lh_status compute_slopes(check *c, const lh_tensor *tensor, double distance, double step, slopes *s,
                                lh_error *error) {
    double centre_loss = 0, left_loss = 0, right_loss = 0, far_left_loss = 0, far_right_loss = 0;
    lh_status status = compute_analytic_slope(c, tensor, distance, &centre_loss, s, error);
    if (status == LH_OK) status = compute_loss_at(c, tensor, distance - step, &left_loss, error);
    if (status == LH_OK) status = compute_loss_at(c, tensor, distance + step, &right_loss, error);
    s->left = s->right = s->centre = (right_loss - left_loss) / (2.0 * step);
    if (status != LH_OK || are_close(s, s->centre, s->analytic)) return status;
    status = compute_loss_at(c, tensor, distance - 2.0 * step, &far_left_loss, error);
    if (status == LH_OK) status = compute_loss_at(c, tensor, distance + 2.0 * step, &far_right_loss, error);
    s->left = (3.0 * centre_loss - 4.0 * left_loss + far_left_loss) / (2.0 * step);
    s->right = (4.0 * right_loss - 3.0 * centre_loss - far_right_loss) / (2.0 * step);
    return status;
}

/* Checks the slope along c->direction. The error of the check is the minimum over all points and differences. */
static lh_status check_direction(check *c, const lh_tensor *tensor, lh_gradcheck_result *result, lh_error *error) {
    double min_error = INFINITY, step = FIRST_STEP;
    bool is_smooth = false, has_kink = false;
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < POINTS && !is_smooth && !(min_error <= TOLERANCE); i++, step /= 2.0) {
        slopes s = {0};
        status = compute_slopes(c, tensor, i * SPACING, step, &s, error);
        is_smooth = are_close(&s, s.left, s.right) && are_close(&s, s.centre, s.left);
        has_kink = has_kink || !are_close(&s, s.left, s.right);
        min_error = fmin(
            min_error, fmin(compute_error(&s, s.centre), fmin(compute_error(&s, s.left), compute_error(&s, s.right))));
    }
    move_parameters(c, tensor, 0);
    result->worst_error = fmax(result->worst_error, min_error);
    result->passed = result->passed && min_error <= TOLERANCE;
    result->checks++;
    result->kinks += has_kink;
    return status;
}

/* Sets a direction of length 1 with equal magnitudes and random signs: an error in any single element shows. */
static void draw_signs(check *c, const lh_tensor *tensor) {
    double size = 1.0 / sqrt((double)lh_count_tensor_elements(tensor));
    for (int64_t e = 0; e < lh_count_tensor_elements(tensor); e++) c->direction[e] = draw_uniform(c) < 0 ? -size : size;
}

static lh_status check_element(check *c, const lh_tensor *tensor, int64_t e, lh_gradcheck_result *result,
                               lh_error *error) {
    memset(c->direction, 0, (size_t)lh_count_tensor_elements(tensor) * sizeof *c->direction);
    c->direction[e] = 1.0;
    return check_direction(c, tensor, result, error);
}

/* Finds the element whose gradient has the largest magnitude below *limit, and sets *limit to this magnitude. */
static int64_t find_largest_below(const check *c, const lh_tensor *tensor, double *limit) {
    int64_t best = 0;
    double largest_magnitude = -1.0;
    for (int64_t e = 0; e < lh_count_tensor_elements(tensor); e++) {
        double magnitude = fabs(c->gradient[find_element(tensor, e)]);
        if (magnitude > largest_magnitude && magnitude < *limit) {
            largest_magnitude = magnitude;
            best = e;
        }
    }
    *limit = largest_magnitude;
    return best;
}

static lh_status check_tensor(check *c, const lh_tensor *tensor, lh_gradcheck_result *result, lh_error *error) {
    uint32_t count = (uint32_t)lh_count_tensor_elements(tensor);
    double limit = INFINITY;
    if (result->checks == 0) result->passed = true;
    draw_signs(c, tensor);
    lh_status status = check_direction(c, tensor, result, error);
    for (int i = 0; status == LH_OK && i < LARGEST_ELEMENTS; i++)
        status = check_element(c, tensor, find_largest_below(c, tensor, &limit), result, error);
    for (int i = 0; status == LH_OK && i < RANDOM_ELEMENTS; i++)
        status = check_element(c, tensor, lh_rng_below(&c->rng, count), result, error);
    return status;
}

static lh_status open_vectors(check *c, lh_error *error) {
    double **const vectors[] = {&c->base, &c->gradient, &c->point_gradient, &c->direction};
    size_t bytes = (size_t)c->spec->parameter_storage * sizeof(double);
    lh_status status = lh_state_open(&c->state, c->engine, false, error);
    c->parameters = c->state.parameters;
    for (int i = 0; status == LH_OK && i < 4; i++) {
        *vectors[i] = lh_engine_allocate(bytes, "the gradient check", error);
        if (*vectors[i] == NULL) status = LH_ERR_ENVIRONMENT;
    }
    return status;
}

/* Sets the base point: the engine's initial parameters with small random changes, and the gradient there. */
static lh_status set_base_point(check *c, lh_error *error) {
    const lh_spec *spec = c->spec;
    lh_status status = open_vectors(c, error);
    if (status == LH_OK) status = c->engine->ops->read_state(c->engine, &c->state, error);
    if (status != LH_OK) return status;
    for (int t = 0; t < spec->tensor_count; t++)
        for (int64_t e = 0; spec->tensors[t].learned && e < lh_count_tensor_elements(&spec->tensors[t]); e++)
            c->parameters[find_element(&spec->tensors[t], e)] += NOISE * draw_uniform(c);
    memcpy(c->base, c->parameters, (size_t)spec->parameter_storage * sizeof(double));
    status = compute_loss(c, &c->loss, error);
    return status == LH_OK ? c->engine->ops->read_gradient(c->engine, c->gradient, error) : status;
}

static lh_status check_engine(check *c, lh_gradcheck_result *results, lh_error *error) {
    lh_status status = set_base_point(c, error);
    for (int t = 0; status == LH_OK && t < c->spec->tensor_count; t++)
        if (c->spec->tensors[t].learned) status = check_tensor(c, &c->spec->tensors[t], &results[t], error);
    lh_state_close(&c->state);
    free(c->base);
    free(c->gradient);
    free(c->point_gradient);
    free(c->direction);
    return status;
}

/* The number of sequences in the checked step. The check computes the loss as a mean over all counted labels. Training
 * may weigh sequences equally instead, although they have different numbers of counted labels. The two losses are then
 * equal only for a step of one sequence, so the number is 1. */
static int count_sequences(const lh_spec *spec) {
    return spec->train.weighs_sequences && spec->task->loss == LH_LOSS_COUNTED ? 1 : SEQUENCES;
}

lh_status lh_gradcheck(const lh_target *target, int n, uint64_t seed, lh_gradcheck_result *results, lh_error *error) {
    lh_target small_target = *target;
    small_target.spec.train.batch = count_sequences(&target->spec);
    small_target.spec.train.shards = small_target.spec.train.batch > 1 ? SHARDS : 1;
    /* A progressive step begins with passes without gradient. Parameters affect the loss through these passes too, so
     * differences of losses would disagree with the gradient. The check therefore runs only passes with gradient; a
     * training step has at most passes / 2 of them. */
    if (target->spec.progressive) {
        small_target.spec.progressive = false;
        small_target.spec.passes = target->spec.passes / 2;
    }
    lh_engine_config config = {.spec = &small_target.spec,
                               .seed = seed,
                               .threads = 1,
                               .trains = true,
                               .keeps_gradient = true,
                               .fixed_length = n};
    check c = {.spec = &small_target.spec, .rng = lh_rng_at(lh_key_of_seed(seed), (uint32_t)n, 0, 0)};
    lh_status status = lh_target_open_engines(&small_target, &config, 1, false, &c.engine, error);
    if (status != LH_OK) return status;
    status = check_engine(&c, results, error);
    c.engine->ops->close(c.engine);
    return status;
}
