/* Compares the device code of a generated model, in the emulation, with the same model's CPU half: gradients with
 * dropout, the update, evaluation. The linker sets lh_model to the spec, e.g. longhand_spec_emulated_relative. */
#include "support/lh_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "decoded_model.h"
#include "emulation.h"
#include "kernels/ref/ref.h"
#include "model_sides.h"
#include "engine/engine.h"
#include "training/defaults.h"

/* Compares the sums of a step, its gradient tensor by tensor, and the whole gradient. A tensor's tolerance is relative
 * to its largest element, or to a hundredth of the gradient's (a tenth if products round their operands), if this is
 * more. */
static void check_step(const problem *p, int shards) {
    size_t count = (size_t)SPEC->parameter_storage;
    void *gradient = lh_model_reserve(count * get_real_bytes());
    lh_sums sums = {0};
    compute_cpu_gradient(p, gradient, &sums);
    lh_model_step d = train_on_device(p, shards, 1, LH_EMULATION_ASCENDING);
    assert_int_equal(d.result.state, LH_CUDA_DONE);
    assert_int_equal(d.result.sums.counted, sums.counted);
    if (!rounds_operands()) {
        assert_int_equal(d.result.sums.correct, sums.correct);
        assert_int_equal(d.result.sums.exact_ones, sums.exact);
    }
    if (!(fabs(d.result.sums.loss - sums.loss) <= get_tolerance() * fabs(sums.loss)))
        fail_msg("length %d: loss %.17g, expected %.17g", p->n, d.result.sums.loss, sums.loss);
    double max_gradient = find_largest(gradient, count);
    for (int i = 0; i < SPEC->tensor_count; i++) {
        const lh_tensor *t = &SPEC->tensors[i];
        int64_t rows = t->rank == 2 ? t->shape[0] : 1, columns = t->shape[t->rank - 1];
        double max_layer_gradient = 0;
        for (int64_t r = 0; r < rows; r++)
            max_layer_gradient =
                fmax(max_layer_gradient,
                     find_largest((char *)gradient + (size_t)(t->offset + r * t->stride) * get_real_bytes(),
                                  (size_t)columns));
        for (int64_t r = 0; r < rows; r++) {
            size_t from = (size_t)(t->offset + r * t->stride) * get_real_bytes();
            assert_near(t->name, (char *)d.gradient + from, (char *)gradient + from, (size_t)columns,
                        fmax(max_layer_gradient, max_gradient / (rounds_operands() ? 10 : 100)));
        }
    }
    assert_near("the whole gradient", d.gradient, gradient, count, max_gradient);
    lh_model_step_free(&d);
    free(gradient);
}

static void check_gradient(int n, int shards) {
    problem p = open_problem(n, LH_MODE_TRAIN);
    check_step(&p, shards);
    close_problem(&p);
}

static void test_gradient_of_every_length_is_that_of_the_cpu(void **state) {
    static const int lengths[] = {1, 2, 5, 9};
    for (int i = 0; i < 4; i++) check_gradient(lengths[i], SHARDS);
}

/* The shard has more tokens than a block has threads, so loops over groups of its sequences have several rounds. */
static void test_gradient_of_long_sequences_in_one_shard_is_that_of_the_cpu(void **state) {
    const lh_lengths lengths = {NULL, 0, 52, 52, 1}; /* a single length, 52 */
    if (SPEC->cuda->launches != NULL) return;        /* a wide model has one sequence in a shard */
    if (lh_check_training_lengths(SPEC, &lengths, NULL) == LH_OK) check_gradient(52, 1);
}

/* A short batch, like the last one of an epoch: some shards have no sequence. */
static void test_gradient_with_empty_shards_is_that_of_the_cpu(void **state) { check_gradient(5, 2 * SEQUENCES); }

/* If no barrier is missing, every team and order of threads gives the same bits. */
static void test_step_in_any_order_of_threads_and_team_size_has_the_same_bits(void **state) {
    problem p = open_problem(9, LH_MODE_TRAIN);
    lh_model_step first = train_on_device(&p, SHARDS, 1, LH_EMULATION_ASCENDING);
    print_bits("gradient", first.gradient, first.bytes);
    print_bits("parameters", first.parameters, first.bytes);
    for (unsigned order = LH_EMULATION_DESCENDING; order < 4; order++) {
        lh_model_step d = train_on_device(&p, SHARDS, order % 3 + 1, order);
        assert_memory_equal(d.gradient, first.gradient, d.bytes);
        assert_memory_equal(d.parameters, first.parameters, d.bytes);
        assert_memory_equal(&d.result, &first.result, sizeof d.result);
        lh_model_step_free(&d);
    }
    lh_model_step_free(&first);
    close_problem(&p);
}

/* A step reads what the step before it in the same launch has updated. */
static void test_second_step_of_a_launch_is_that_of_a_launch_of_its_own(void **state) {
    if (SPEC->cuda->launches != NULL) return; /* a wide model has a launch for each phase */
    problem p = open_problem(9, LH_MODE_TRAIN);
    lh_cuda_step step = make_device_step(&p);
    const lh_model_cut cut = {SHARDS, 2, 0};
    lh_model_step together = lh_model_train(SPEC, p.parameters, p.tables, &step, cut, 2, NULL);
    lh_model_step first = lh_model_train(SPEC, p.parameters, p.tables, &step, cut, 1, NULL);
    lh_model_step second = lh_model_train(SPEC, first.parameters, p.tables, &step, cut, 1, NULL);
    assert_memory_not_equal(second.gradient, first.gradient, first.bytes);
    assert_memory_equal(together.gradient, second.gradient, first.bytes);
    lh_model_step_free(&together);
    lh_model_step_free(&first);
    lh_model_step_free(&second);
    close_problem(&p);
}

/* All masked labels are in the first shard. The gradient is that of the mean over the counted labels of all shards. */
static void test_gradient_with_all_masks_in_one_shard_is_that_of_the_cpu(void **state) {
    if (SPEC->task->loss != LH_LOSS_COUNTED) return;
    problem p = open_problem(9, LH_MODE_TRAIN);
    size_t labels = (size_t)p.shape.labels, first = (SEQUENCES + SHARDS - 1) / SHARDS;
    memset(p.batch.mask, 1, SEQUENCES * labels);
    memset(p.batch.mask, 0, first * labels);
    check_step(&p, SHARDS);
    close_problem(&p);
}

/* If no label is in the loss, neither parameters, which would decay, nor moments change, and the step is complete. */
static void test_step_without_counted_labels_changes_nothing(void **state) {
    if (SPEC->task->loss != LH_LOSS_COUNTED) return;
    problem p = open_problem(9, LH_MODE_TRAIN);
    size_t count = (size_t)SPEC->parameter_storage;
    memset(p.batch.mask, 0, SEQUENCES * (size_t)p.shape.labels);
    lh_model_step d = train_on_device(&p, SHARDS, 2, 3);
    double norm = measure_difference(p.parameters, NULL, count);
    assert_int_equal(d.result.state, LH_CUDA_DONE);
    assert_int_equal(d.result.sums.counted, 0);
    assert_int_equal(d.result.sums.exact_ones, 0);
    assert_true(d.result.sums.loss == 0 && d.result.gradient_squares == 0 && d.result.update_squares == 0);
    assert_true(fabs(sqrt(d.result.parameter_squares) - norm) <= 1e-6 * norm);
    assert_memory_equal(d.parameters, p.parameters, d.bytes);
    assert_true(find_largest(d.moment1, count) == 0 && find_largest(d.moment2, count) == 0);
    lh_model_step_free(&d);
    close_problem(&p);
}

typedef struct pair {
    const char *a, *b;
} pair;

static void compare_row(void *context, size_t first, size_t count) {
    const pair *vectors = context;
    assert_memory_equal(vectors->a + first * get_real_bytes(), vectors->b + first * get_real_bytes(),
                        count * get_real_bytes());
}

static void test_step_keeps_constant_tensors(void **state) {
    problem p = open_problem(5, LH_MODE_TRAIN);
    lh_model_step d = train_on_device(&p, SHARDS, 2, 3);
    void *zeros = lh_model_reserve(d.bytes);
    visit_constant_rows(compare_row, &(pair){d.parameters, p.parameters});
    if (d.moment2 != NULL) visit_constant_rows(compare_row, &(pair){d.moment2, zeros});
    assert_memory_not_equal(d.parameters, p.parameters, d.bytes);
    free(zeros);
    lh_model_step_free(&d);
    close_problem(&p);
}

/* Prepares the first update of the CPU, with the gradient of d and optimiser states of 0. */
static lh_update make_update(const problem *p, const lh_model_step *d, const lh_cuda_step *step) {
    lh_update update = {
        .parameters = p->parameters,
        .gradient = d->gradient,
        .gradient_norm = sqrt(d->result.gradient_squares),
        .learning_rate = step->rate * (1 - SPEC->cuda->beta1), /* at the first step: see lh_cuda_step */
        .step = 1,
    };
    for (int i = 0; i < SPEC->optimizer.states; i++) update.state[i] = lh_model_reserve(d->bytes);
    return update;
}

static void compare_states(const lh_model_step *d, const lh_update *update) {
    const void *actual[] = {d->moment1, d->moment2};
    size_t count = (size_t)SPEC->parameter_storage;
    for (int i = 0; i < SPEC->optimizer.states; i++)
        assert_near(SPEC->optimizer.state_name[i], actual[i], update->state[i], count,
                    measure_scale(update->state[i], count));
}

static void test_update_of_a_gradient_is_that_of_the_cpu(void **state) {
    problem p = open_problem(5, LH_MODE_TRAIN);
    lh_cuda_step step = make_device_step(&p);
    step.step = 0;
    lh_model_step d = lh_model_train(SPEC, p.parameters, p.tables, &step, (lh_model_cut){SHARDS, 2, 5}, 1, NULL);
    size_t count = (size_t)SPEC->parameter_storage;
    lh_update update = make_update(&p, &d, &step);
    lh_update_sums sums = {0, 0};
    double norm = 0;
    for (size_t i = 0; i < count; i++) norm += read_element(d.gradient, i) * read_element(d.gradient, i);
    assert_true(fabs(norm - d.result.gradient_squares) <= 1e-6 * norm);
    for (size_t at_chunk = 0; at_chunk < count; at_chunk += LH_CHUNK)
        get_plainest_program()->update(&update, at_chunk, LH_CHUNK, &sums);
    assert_near("parameters", d.parameters, p.parameters, count, measure_scale(p.parameters, count) + 1e-3);
    compare_states(&d, &update);
    assert_true(fabs(sums.parameters - d.result.parameter_squares) <= 1e-4 * sums.parameters);
    assert_true(fabs(sums.update - d.result.update_squares) <= 1e-3 * sums.update);
    for (int i = 0; i < SPEC->optimizer.states; i++) free(update.state[i]);
    lh_model_step_free(&d);
    close_problem(&p);
}

/* Reads a number of the resolved spec; 0 if it is missing. */
static double read_resolved_number(const char *resolved, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = strstr(resolved, key);
    return found != NULL ? strtod(found + strlen(key), NULL) : 0;
}

/* Returns one parameter after the first update by kernels/ref. norm: that of the whole gradient. */
static double update_by_reference(const char *resolved, const lh_tensor *tensor, double rate, double norm,
                                  double gradient, double parameter) {
    const lh_ref_adam adam = {rate, 0.9, 0.999, 1e-8, SPEC->optimizer.clip_norm};
    const lh_ref_sgd sgd = {rate, SPEC->optimizer.clip_norm};
    bool has_no_decay = !tensor->learned || (tensor->rank == 1 && strstr(resolved, "\"decays\":\"matrices\"") != NULL);
    double decay = has_no_decay ? 0 : read_resolved_number(resolved, "weight_decay"), first = 0, second = 0;
    if (strcmp(SPEC->optimizer.kind, "sgd") == 0)
        lh_ref_momentum_update(&sgd, read_resolved_number(resolved, "momentum"), norm, 1, &gradient, &parameter,
                               &first);
    else lh_ref_adamw_update(&adam, decay, 1, norm, 1, &gradient, &parameter, &first, &second);
    return parameter;
}

/* Compares every element, with and without decay. */
static void test_update_of_the_cpu_is_that_of_the_reference(void **state) {
    problem p = open_problem(5, LH_MODE_TRAIN);
    size_t count = (size_t)SPEC->parameter_storage, bytes = count * get_real_bytes();
    void *gradient = lh_model_reserve(bytes), *old_parameters = memcpy(lh_model_reserve(bytes), p.parameters, bytes);
    lh_sums sums = {0};
    lh_update_sums ignored = {0, 0};
    lh_defaults text;
    lh_error error;
    lh_assert_ok(lh_defaults_open(&text, SPEC, &error), &error);
    compute_cpu_gradient(&p, gradient, &sums);
    void *old_gradient = memcpy(lh_model_reserve(bytes), gradient, bytes);
    double norm = measure_difference(gradient, NULL, count);
    lh_update update = {
        .parameters = p.parameters, .gradient = gradient, .gradient_norm = norm, .learning_rate = 1e-2, .step = 1};
    for (int i = 0; i < SPEC->optimizer.states; i++) update.state[i] = lh_model_reserve(bytes);
    for (size_t at_chunk = 0; at_chunk < count; at_chunk += LH_CHUNK)
        get_plainest_program()->update(&update, at_chunk, LH_CHUNK, &ignored);
    for (int i = 0; i < SPEC->tensor_count; i++) {
        const lh_tensor *t = &SPEC->tensors[i];
        int64_t columns = t->shape[t->rank - 1], elements = (t->rank == 2 ? t->shape[0] : 1) * columns;
        for (int64_t e = 0; e < elements; e++) {
            size_t from = (size_t)(t->offset + e / columns * t->stride + e % columns);
            double expected = update_by_reference(text.spec.resolved, t, 1e-2, norm, read_element(old_gradient, from),
                                                  read_element(old_parameters, from)),
                   actual = read_element(p.parameters, from);
            if (!(fabs(actual - expected) <= (SPEC->cuda->real_bytes == 8 ? 1e-15 : 2e-7) * (1 + fabs(expected))))
                fail_msg("%s: element %lld is %.17g, expected %.17g", t->name, (long long)e, actual, expected);
        }
    }
    for (int i = 0; i < SPEC->optimizer.states; i++) free(update.state[i]);
    lh_defaults_close(&text);
    free(gradient);
    free(old_parameters);
    free(old_gradient);
    close_problem(&p);
}

static void compare_evaluations(const problem *p, int blocks, int group, unsigned order, bool prints) {
    size_t logits = (size_t)SEQUENCES * (size_t)p->shape.labels * (size_t)SPEC->classes;
    void *expected = lh_model_reserve(logits * get_real_bytes()), *actual = lh_model_reserve(logits * get_real_bytes());
    cpu_side c = open_cpu_side(p, LH_MODE_EVALUATE);
    lh_sums sums = {0};
    run_each_block(p, &c, NULL, expected, &sums);
    close_cpu_side(&c);
    lh_cuda_step step = make_device_step(p);
    lh_cuda_loop_answer answers[SEQUENCES];
    lh_model_evaluate(SPEC, p->parameters, p->tables, &step, blocks, group, order, answers, actual);
    if (prints) print_bits("logits", actual, logits * get_real_bytes());
    assert_near("logits", actual, expected, logits, measure_scale(expected, logits));
    double loss = 0, uncertainty = 0;
    int64_t counted = 0;
    for (int i = 0; i < SEQUENCES; i++) {
        loss += answers[i].loss;
        uncertainty += answers[i].uncertainty;
        counted += answers[i].counted;
    }
    assert_true(fabs(loss - sums.loss) <= get_tolerance() * fabs(sums.loss));
    assert_true(SPEC->passes > 0 ? uncertainty > 0 : uncertainty == 0);
    assert_true(fabs(uncertainty - sums.uncertainty) <= get_tolerance() * fabs(sums.uncertainty));
    assert_int_equal(counted, sums.counted);
    free(expected);
    free(actual);
}

static void check_evaluation(int n, int blocks, int group) {
    problem p = open_problem(n, LH_MODE_EVALUATE);
    compare_evaluations(&p, blocks, group, (unsigned)n % 4, true);
    close_problem(&p);
}

/* Groups of one, two and all sequences on three blocks. Sequences of task length 14 have more tokens than a tile has
 * rows. */
static void test_evaluation_in_groups_of_any_size_has_the_same_bits(void **state) {
    static const int groups[] = {1, 2, SEQUENCES};
    if (SPEC->cuda->launches != NULL) return; /* the program sets the groups of a wide model */
    problem p = open_problem(14, LH_MODE_EVALUATE);
    size_t bytes = (size_t)SEQUENCES * (size_t)p.shape.labels * (size_t)SPEC->classes * get_real_bytes();
    unsigned char *logits = lh_model_reserve(3 * bytes);
    lh_cuda_loop_answer answers[3][SEQUENCES];
    lh_cuda_step step = make_device_step(&p);
    for (int i = 0; i < 3; i++) {
        lh_model_evaluate(SPEC, p.parameters, p.tables, &step, 3, groups[i], 0, answers[i], logits + i * bytes);
        assert_memory_equal(logits + i * bytes, logits, bytes);
        for (int s = 0; s < SEQUENCES; s++) assert_memory_equal(&answers[i][s], &answers[0][s], sizeof answers[i][s]);
    }
    free(logits);
    close_problem(&p);
}

/* Models with different parameters, labels and numbers of sequences run side by side. */
static void test_evaluation_of_several_models_has_the_bits_of_each(void **state) {
    enum { MODELS = 2 };                      /* the machine for PTX looks for races between four blocks at most */
    if (SPEC->cuda->launches != NULL) return; /* wide models are evaluated one after the other */
    problem p = open_problem(9, LH_MODE_EVALUATE);
    size_t row = (size_t)p.shape.labels * (size_t)SPEC->classes * get_real_bytes();
    void *negated = negate_first_tensor(p.parameters);
    const void *parameters[MODELS] = {p.parameters, negated};
    lh_cuda_step steps[MODELS] = {make_device_step(&p), make_device_step(&p)};
    if (!SPEC->draws_by_sequence) { /* else the layout of draws depends on the number of sequences */
        steps[1].sequences = SEQUENCES - 2;
        steps[1].labels += p.shape.labels;
    }
    unsigned char *actual = lh_model_reserve(MODELS * SEQUENCES * row), *expected = lh_model_reserve(SEQUENCES * row);
    lh_cuda_loop_answer answers[MODELS][SEQUENCES], single[SEQUENCES];
    lh_model_evaluate_several(SPEC, parameters, p.tables, steps, MODELS, (lh_model_cut){2, 2, 1}, answers[0], actual);
    for (int i = 0; i < MODELS; i++) {
        const unsigned char *rows = actual + (size_t)i * SEQUENCES * row;
        lh_model_evaluate(SPEC, parameters[i], p.tables, &steps[i], 1, 3, 0, single, expected);
        assert_memory_equal(rows, expected, (size_t)steps[i].sequences * row);
        for (int s = 0; s < steps[i].sequences; s++) assert_memory_equal(&answers[i][s], &single[s], sizeof single[s]);
        for (size_t e = (size_t)steps[i].sequences * row; e < SEQUENCES * row; e++) assert_int_equal(rows[e], 0xff);
    }
    assert_memory_not_equal(actual + SEQUENCES * row, actual, row);
    free(negated);
    free(actual);
    free(expected);
    close_problem(&p);
}

static void test_evaluation_is_that_of_the_cpu(void **state) {
    check_evaluation(1, 2, 2);
    check_evaluation(9, 3, 1);
    check_evaluation(14, 2, 5);
}

/* Sets all vectors to values other than 0, so that a missing bias shows. A wide model adds biases in products (even
 * orders) or in phases of their own (odd orders). */
static void test_evaluation_with_biases_is_that_of_the_cpu(void **state) {
    problem p = open_problem(2, LH_MODE_EVALUATE);
    for (int i = 0; i < SPEC->tensor_count; i++) {
        const lh_tensor *t = &SPEC->tensors[i];
        for (int64_t e = t->offset; t->rank == 1 && e < t->offset + t->shape[0]; e++) {
            double value = lh_real_read(p.parameters, (int)get_real_bytes(), e) + 0.01 * (double)(e * 7 % 11 - 5);
            if (get_real_bytes() == sizeof(double)) ((double *)p.parameters)[e] = value;
            else ((float *)p.parameters)[e] = (float)value;
        }
    }
    for (unsigned order = 0; order < (SPEC->cuda->launches != NULL ? 2 : 1); order++)
        compare_evaluations(&p, 2, 3, order, false);
    close_problem(&p);
}

/* If the gradient is not finite, nothing is updated. */
static void test_step_that_is_not_finite_leaves_the_parameters(void **state) {
    problem p = open_problem(5, LH_MODE_TRAIN);
    ((unsigned char *)p.parameters)[get_real_bytes() - 1] = 0x7f; /* the first element becomes very large or NaN */
    ((unsigned char *)p.parameters)[get_real_bytes() - 2] = 0xff;
    for (int symbol = 0; symbol < SPEC->task->input_symbols; symbol++)
        p.batch.tokens[0][symbol % p.shape.length[0]] = 0;
    lh_model_step d = train_on_device(&p, SHARDS, 2, 1);
    assert_int_equal(d.result.state, LH_CUDA_NOT_FINITE);
    assert_memory_equal(d.parameters, p.parameters, d.bytes);
    lh_model_step_free(&d);
    close_problem(&p);
}

/* Steps of a wide model are started together: a step after a failed or skipped one is skipped. */
static void test_step_after_a_skipped_step_is_skipped(void **state) {
    static const lh_cuda_result states[] = {{.state = LH_CUDA_NOT_RUN}, {.state = LH_CUDA_NOT_FINITE}};
    if (SPEC->cuda->launches == NULL) return; /* all steps are in one launch */
    problem p = open_problem(1, LH_MODE_TRAIN);
    lh_cuda_step step = make_device_step(&p);
    for (int i = 0; i < 2; i++) {
        const lh_model_cut cut = {SHARDS, 2, 0};
        lh_model_step d = lh_model_train(SPEC, p.parameters, p.tables, &step, cut, 1, &states[i]);
        assert_int_equal(d.result.state, LH_CUDA_NOT_RUN);
        assert_memory_equal(d.parameters, p.parameters, d.bytes);
        assert_true(find_largest(d.moment2, (size_t)SPEC->parameter_storage) == 0);
        lh_model_step_free(&d);
    }
    close_problem(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_of_every_length_is_that_of_the_cpu),
        cmocka_unit_test(test_gradient_of_long_sequences_in_one_shard_is_that_of_the_cpu),
        cmocka_unit_test(test_gradient_with_empty_shards_is_that_of_the_cpu),
        cmocka_unit_test(test_gradient_with_all_masks_in_one_shard_is_that_of_the_cpu),
        cmocka_unit_test(test_step_without_counted_labels_changes_nothing),
        cmocka_unit_test(test_step_in_any_order_of_threads_and_team_size_has_the_same_bits),
        cmocka_unit_test(test_second_step_of_a_launch_is_that_of_a_launch_of_its_own),
        cmocka_unit_test(test_step_keeps_constant_tensors),
        cmocka_unit_test(test_update_of_a_gradient_is_that_of_the_cpu),
        cmocka_unit_test(test_update_of_the_cpu_is_that_of_the_reference),
        cmocka_unit_test(test_evaluation_is_that_of_the_cpu),
        cmocka_unit_test(test_evaluation_in_groups_of_any_size_has_the_same_bits),
        cmocka_unit_test(test_evaluation_of_several_models_has_the_bits_of_each),
        cmocka_unit_test(test_evaluation_with_biases_is_that_of_the_cpu),
        cmocka_unit_test(test_decoded_logits_are_those_of_whole_passes),
        cmocka_unit_test(test_decoding_in_any_order_and_group_has_the_same_bits),
        cmocka_unit_test(test_decoding_of_several_models_has_the_bits_of_each),
        cmocka_unit_test(test_ending_class_ends_a_sequence_unless_it_is_the_label),
        cmocka_unit_test(test_step_that_is_not_finite_leaves_the_parameters),
        cmocka_unit_test(test_step_after_a_skipped_step_is_skipped),
    };
    cmocka_set_test_filter(getenv("LONGHAND_TESTS")); /* a pattern of names; tests/ptx/check.sh selects some */
    return cmocka_run_group_tests_name(SPEC->id, tests, NULL, NULL);
}
