/* kernels/ref, whole networks: gradients compared with central differences, and all results with stored vectors of
 * an independent implementation (tests/reference). */
#include "lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lh_differences.h"
#include "lh_network.h"
#include "reference/vectors.h"

/* Tolerances, relative + absolute. */
static const double DIRECTION_TOLERANCE = 2e-7; /* central differences along a direction, of steps 1e-6 and 5e-7 */
static const double STORED_F64 = 1e-11;         /* equal sums in another order, through two layers */
static const double STORED_F32 = 1.2e-7;        /* gradients are stored rounded to float32: 2^-24 relative */

/* A random direction of some tensors: numbers from -1 to 1. */
typedef struct direction {
    lh_ref_tensor *tensors;
    int count;
    double **move;
} direction;

static int get_size(const lh_ref_tensor *tensor) { return tensor->rows * tensor->columns; }

static direction new_direction(lh_ref_tensor *tensors, int count) {
    direction d = {tensors, count, malloc((size_t)count * sizeof *d.move)};
    assert_non_null(d.move);
    for (int i = 0; i < count; i++) {
        d.move[i] = malloc((size_t)get_size(&tensors[i]) * sizeof **d.move);
        assert_non_null(d.move[i]);
        lh_test_fill_values((uint64_t)i + 500, get_size(&tensors[i]), d.move[i]);
    }
    return d;
}

static void free_direction(direction *d) {
    for (int i = 0; i < d->count; i++) free(d->move[i]);
    free(d->move);
}

static void move_along(const direction *d, double step) {
    for (int i = 0; i < d->count; i++)
        for (int e = 0; e < get_size(&d->tensors[i]); e++) d->tensors[i].value[e] += step * d->move[i][e];
}

static double compute_objective(lh_ref_model *model, const lh_ref_batch *batch) {
    lh_ref_batch forward = *batch;
    forward.backward = false;
    return forward.loss_scale * lh_ref_run(model, &forward, NULL);
}

/* The slope of the objective along a direction, by a central difference with this step. */
static double measure_difference(lh_ref_model *model, const lh_ref_batch *batch, const direction *d, double step) {
    move_along(d, step);
    double upper = compute_objective(model, batch);
    move_along(d, -2 * step);
    double lower = compute_objective(model, batch);
    move_along(d, step);
    return (upper - lower) / (2 * step);
}

/* Compares the slope of the objective along a random direction, computed from gradients, with the slope computed from
 * differences. A ReLU whose input changed its sign within the step would make them differ; the fixed values have no
 * such input. The error of a difference is proportional to the square of its step, and a network without norms may be
 * steep. Richardson's mean of two steps has an error proportional to the fourth power. */
static void check_direction(lh_ref_model *model, const lh_ref_batch *batch, lh_ref_tensor *tensors, int count) {
    const double step = 1e-6;
    direction d = new_direction(tensors, count);
    double analytic = 0;
    for (int i = 0; i < count; i++)
        analytic += lh_test_compute_weighted_sum(get_size(&tensors[i]), d.move[i], tensors[i].gradient);
    double full_step = measure_difference(model, batch, &d, step),
           half_step = measure_difference(model, batch, &d, step / 2);
    double numeric = (4 * half_step - full_step) / 3;
    if (fabs(numeric - analytic) > DIRECTION_TOLERANCE * (1 + fabs(numeric)))
        fail_msg("%s, %s and %d more: %.9g by gradients, %.9g by differences", model->network->id, tensors->name,
                 count - 1, analytic, numeric);
    free_direction(&d);
}

enum { NETWORK_TOKENS = 5, NETWORK_TARGETS = 4, NETWORK_LABELS = 2, NETWORK_DRAWS = 64 /* at least one per layer */ };

/* A batch with dropout, positions for each layer, odd T, and fewer labels than tokens. The positions of layer l
 * ascend from 0 by 1, with a gap of two numbers after token l modulo T. */
static lh_ref_batch make_batch(void) {
    static const uint16_t token[] = {0, 3, 2, 3, 3, 1, 1, 0, 3, 4}, target[] = {2, 0, 4, 1, 1, 3, 3, 0};
    static const uint16_t label[] = {0, 2, 1, 1};
    static int32_t positions[NETWORK_DRAWS][NETWORK_TOKENS];
    for (int l = 0; l < NETWORK_DRAWS; l++)
        for (int t = 0; t < NETWORK_TOKENS; t++) positions[l][t] = t > l % NETWORK_TOKENS ? t + 2 : t;
    return (lh_ref_batch){.sequences = 2,
                          .tokens = NETWORK_TOKENS,
                          .labels = NETWORK_LABELS,
                          .token = token,
                          .target_tokens = NETWORK_TARGETS,
                          .target = target,
                          .label = label,
                          .positions = positions[0],
                          .position_rows = NETWORK_DRAWS,
                          .dropping = LH_REF_IN_TRAINING,
                          .key = lh_key_of_seed(5),
                          .step = 3,
                          .first_example = 11,
                          .loss_scale = 0.25,
                          .backward = true};
}

/* Counts the different tokens that all embeddings of a network accept. An embedding accepts the rows of its table,
 * and blank tokens, which have no row. */
static int count_accepted_tokens(const lh_ref_network *network) {
    const lh_ref_scope *scope = network->scopes;
    int min_accepted = UINT16_MAX;
    for (int i = 0; i < scope->operation_count; i++) {
        const lh_ref_operation *op = &scope->operations[i];
        if (op->kind != LH_REF_EMBED && op->kind != LH_REF_RECUR) continue;
        int accepted = network->tensors[scope->first_tensor + op->tensor[LH_REF_TABLE]].rows + op->blanks;
        if (accepted < min_accepted) min_accepted = accepted;
    }
    return min_accepted;
}

/* Copies tokens modulo `accepted`, the number of different tokens that a network accepts. */
static void copy_accepted_tokens(int count, int accepted, const uint16_t *from, uint16_t *to) {
    for (int i = 0; i < count; i++) to[i] = (uint16_t)(from[i] % accepted);
}

/* Checks gradients along a direction of all tensors at once and, if by_tensor is set, of each tensor alone. */
static void check_network_gradients(const lh_ref_network *network, bool by_tensor) {
    lh_ref_model *model = lh_ref_model_new(network);
    lh_ref_batch batch = make_batch();
    uint16_t token[2 * NETWORK_TOKENS], target[2 * NETWORK_TARGETS];
    copy_accepted_tokens(2 * NETWORK_TOKENS, count_accepted_tokens(network), batch.token, token);
    copy_accepted_tokens(2 * NETWORK_TARGETS, count_accepted_tokens(network), batch.target, target);
    batch.token = token;
    batch.target = target;
    for (int i = 0; i < model->tensor_count; i++) {
        lh_ref_tensor *tensor = &model->tensors[i];
        lh_test_fill_values((uint64_t)i + 100, get_size(tensor), tensor->value);
        for (int e = 0; e < get_size(tensor); e++) tensor->value[e] *= 0.5;
    }
    lh_ref_run(model, &batch, NULL);
    check_direction(model, &batch, model->tensors, model->tensor_count);
    for (int i = 0; by_tensor && i < model->tensor_count; i++) check_direction(model, &batch, &model->tensors[i], 1);
    lh_ref_model_free(model);
}

static void test_gradients_of_encodings_match_differences(void **state) {
    static const char *const specs[] = {
        "parity_none",          "parity_dropout_sincos",    "parity_dropout_relative",  "parity_learned",
        "parity_rope",          "parity_rope_yarn",         "parity_dropout_rand_rope", "parity_relative",
        "parity_shaw",          "parity_float64_geometric", "parity_geometric_raw",     "parity_geometric_plain",
        "parity_float64_labels"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) check_network_gradients(lh_network_get(specs[i]), true);
}

static const char *const RECURRENT[] = {"rnn", "lstm", "stack_rnn", "tape_rnn"}; /* names of stored vectors */

static void test_gradients_of_recurrent_networks_match_differences(void **state) {
    for (size_t i = 0; i < sizeof RECURRENT / sizeof *RECURRENT; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "parity_float64_%s", RECURRENT[i]);
        check_network_gradients(lh_network_get(spec), true); /* also by tensor */
    }
}

/* Random networks any_1, any_2, ... cover features that the specs above lack: two streams, values from outside, loops,
 * several blocks, every operation. random_1, ... are networks of specs. */
static void test_gradients_of_random_networks_match_differences(void **state) {
    static const char *const prefixes[] = {"any_", "random_"};
    for (int p = 0; p < 2; p++) {
        int checked_count = 0;
        for (int i = 0; i < lh_network_count; i++) {
            if (strncmp(lh_networks[i].id, prefixes[p], strlen(prefixes[p])) != 0) continue;
            check_network_gradients(&lh_networks[i], false);
            checked_count++;
        }
        assert_true(checked_count > 0);
    }
}

/* Compares with stored gradients. The absolute tolerance is for elements that are nearly 0 because the terms of their
 * sums cancel. */
static void check_stored_gradients(const lh_st_file *file, const lh_ref_model *model, double tolerance) {
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *tensor = &model->tensors[i];
        char name[64];
        int count = 0;
        snprintf(name, sizeof name, "gradient.%s", tensor->name);
        double *expected = lh_vectors_read_doubles(file, name, &count);
        assert_non_null(expected);
        assert_int_equal(count, tensor->rows * tensor->columns);
        lh_assert_close(tensor->gradient, expected, (size_t)count, tolerance, 1e-12);
        free(expected);
    }
}

/* Compares the stored distances with those that vectors.c computes case by case. The stored distances were computed in
 * another way, by an index shift and a clamp. */
static void check_stored_distances(const lh_vectors_facts *facts, const lh_vectors_case *stored) {
    int tokens = stored->batch.tokens;
    if (!stored->distances) return;
    int32_t *distances = malloc(sizeof *distances * (size_t)tokens * (size_t)tokens);
    assert_non_null(distances);
    lh_vectors_compute_distances(facts, tokens, stored->positions, stored->sampled_distances, distances);
    for (int pair = 0; pair < tokens * tokens; pair++) assert_int_equal(distances[pair], stored->distances[pair]);
    free(distances);
}

/* Compares a network with its stored vectors. tolerance: of gradients. */
static void check_stored(const char *name, double tolerance) {
    lh_st_file *file = lh_vectors_open(name);
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    lh_ref_model *model = lh_vectors_make_model(file, lh_vectors_find_network(name));
    for (int i = 0; i < LH_VECTORS_LENGTHS; i++) {
        lh_vectors_case stored = lh_vectors_read_case(file, facts.length[i]);
        int count = stored.batch.sequences * stored.batch.labels * model->network->classes;
        double *logits = malloc((size_t)count * sizeof *logits);
        assert_non_null(logits);
        check_stored_distances(&facts, &stored);
        lh_ref_model_clear(model);
        double loss = stored.batch.loss_scale * lh_ref_run(model, &stored.batch, logits);
        lh_assert_close(logits, stored.logits, (size_t)count, STORED_F64, STORED_F64);
        lh_assert_close(&loss, &stored.loss, 1, STORED_F64, 0);
        if (facts.length[i] == facts.gradient_length) check_stored_gradients(file, model, tolerance);
        free(logits);
        lh_vectors_case_free(&stored);
    }
    lh_ref_model_free(model);
    lh_st_free(file);
}

static void test_networks_match_stored_vectors(void **state) {
    for (int i = 0; i < LH_VECTORS_FILES; i++) {
        print_message("           %s\n", lh_vectors_name[i]);
        check_stored(lh_vectors_name[i], STORED_F32);
    }
}

static void test_recurrent_networks_match_stored_vectors_in_float64(void **state) {
    for (size_t i = 0; i < sizeof RECURRENT / sizeof *RECURRENT; i++) check_stored(RECURRENT[i], STORED_F64);
}

static void test_logits_without_positions_are_equal_at_all_tokens(void **state) {
    lh_st_file *file = lh_vectors_open("none");
    lh_vectors_case stored = lh_vectors_read_case(file, lh_vectors_read_facts(file).gradient_length);
    int classes = lh_vectors_find_network("none")->classes;
    for (int t = 1; t < stored.batch.labels; t++)
        lh_assert_close(stored.logits + t * classes, stored.logits, (size_t)classes, STORED_F64, STORED_F64);
    lh_vectors_case_free(&stored);
    lh_st_free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_of_encodings_match_differences),
        cmocka_unit_test(test_gradients_of_recurrent_networks_match_differences),
        cmocka_unit_test(test_gradients_of_random_networks_match_differences),
        cmocka_unit_test(test_networks_match_stored_vectors),
        cmocka_unit_test(test_recurrent_networks_match_stored_vectors_in_float64),
        cmocka_unit_test(test_logits_without_positions_are_equal_at_all_tokens),
    };
    return cmocka_run_group_tests_name("ref_network", tests, NULL, NULL);
}
