/* A model of two token streams in training: batches, epochs, steps and constant tensors. Each label belongs to a token
 * of the second stream; the index of this token is its place. */
#include "lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "data/initialise.h"
#include "lh_engines.h"
#include "toy_program.h"

enum { N = 4, BATCH = 8 };

static lh_engine *open_engine(const lh_spec *spec, const lh_cpu_program *program, int threads) {
    lh_engine_config config = {
        .spec = spec, .seed = 7, .learning_rate = 0.01, .threads = threads, .trains = true, .keeps_gradient = true};
    return lh_test_open_engine(config, program);
}

/* ---- batches ---- */

static void test_batch_holds_tokens_of_each_stream_and_places(void **state) {
    lh_spec spec = lh_toy_make_pair(NULL);
    lh_batch batch;
    lh_error error;
    lh_source source = {.key = lh_key_of_seed(1), .step = 3, .domain = LH_DOMAIN_DATA};
    lh_assert_ok(lh_batch_open(&batch, &spec, N, BATCH, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, &spec, &source, N, 0, BATCH, &error), &error);
    assert_int_equal(batch.shape.length[0], N);
    assert_int_equal(batch.shape.length[1], N + 3);
    assert_int_equal(lh_count_shape_tokens(&batch.shape), 2 * N + 3);
    for (int s = 0; s < BATCH; s++) {
        const uint16_t *source_tokens = batch.tokens[0] + s * N, *target = batch.tokens[1] + s * (N + 3);
        int counts[TOY_SYMBOLS] = {0};
        assert_int_equal(target[0], TOY_START);
        for (int i = 0; i < N; i++) {
            assert_int_equal(target[1 + i], batch.labels[s * N + i]);
            assert_int_equal(batch.place[s * N + i], i);
            counts[source_tokens[i]]++;
            counts[target[1 + i]]--; /* the target is sorted: it has the same numbers */
        }
        for (int i = 0; i < TOY_SYMBOLS; i++) assert_int_equal(counts[i], 0);
        assert_int_equal(target[N + 1], TOY_EMPTY);
        assert_int_equal(target[N + 2], TOY_EMPTY);
    }
    lh_cpu_block block = lh_batch_make_block(&batch, 3, 2);
    assert_int_equal(block.sequences, 2);
    assert_ptr_equal(block.tokens[0], batch.tokens[0] + 3 * N);
    assert_ptr_equal(block.tokens[1], batch.tokens[1] + 3 * (N + 3));
    assert_ptr_equal(block.labels, batch.labels + 3 * N);
    assert_ptr_equal(block.mask, batch.mask + 3 * N);
    assert_ptr_equal(block.place, batch.place + 3 * N);
    lh_batch_close(&batch);
}

static void test_batch_of_one_stream_has_neither_second_tokens_nor_places(void **state) {
    lh_batch batch;
    lh_error error;
    lh_assert_ok(lh_batch_open(&batch, &lh_toy_spec, N, 1, &error), &error);
    lh_cpu_block block = lh_batch_make_block(&batch, 0, 1);
    assert_null(block.tokens[1]);
    assert_null(block.place);
    lh_batch_close(&batch);
}

static int get_shorter_length(int n) { return n - 1; }

static void test_batch_with_more_labels_than_their_stream_has_tokens_is_refused(void **state) {
    lh_spec spec = lh_toy_make_pair(NULL);
    lh_format format = *spec.format;
    lh_batch batch;
    lh_error error;
    spec.format = &format;
    format.stream[0].length = get_shorter_length;
    lh_assert_ok(lh_batch_open(&batch, &spec, N, 1, &error), &error); /* the labels belong to the other stream */
    lh_batch_close(&batch);
    format.stream[1].length = get_shorter_length;
    lh_assert_error(lh_batch_open(&batch, &spec, N, 1, &error), LH_ERR_INPUT, &error,
                    "length 1: 1 labels, but target has 0 tokens");
}

/* ---- training ---- */

/* Computes the first step's gradient without an engine, one sequence after another; returns the summed loss. */
static double compute_gradient_by_hand(const lh_spec *spec, int n, double *gradient) {
    enum { WORKSPACE = 64 };
    lh_shape shape = lh_make_shape(spec, n, spec->train.batch);
    lh_batch batch;
    lh_error error;
    lh_sums sums = {0};
    lh_key key = lh_key_of_seed(7);
    lh_source source = {.key = key, .domain = LH_DOMAIN_DATA};
    double *parameters = lh_engine_allocate(TOY_STORAGE * sizeof *parameters, "the test", &error),
           workspace[WORKSPACE] = {0};
    double *tables = lh_engine_allocate(toy_double.tables_bytes(shape.length), "the test", &error);
    void *shared = lh_engine_allocate(toy_double.shared_bytes(&shape), "the test", &error);
    lh_initialise(spec, 7, 8, parameters);
    toy_double.make_tables(tables, shape.length);
    lh_assert_ok(lh_batch_open(&batch, spec, n, spec->train.batch, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, spec, &source, n, 0, spec->train.batch, &error), &error);
    lh_cpu_step step = {.mode = LH_MODE_TRAIN,
                        .shape = shape,
                        .key = key,
                        .draw = {.key = key, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS},
                        .parameters = parameters,
                        .tables = tables,
                        .shared = shared};
    toy_double.begin_step(&step, 0, 1);
    memset(gradient, 0, TOY_STORAGE * sizeof *gradient);
    for (int s = 0; s < spec->train.batch; s++) {
        lh_cpu_block block = {.sequences = 1,
                              .first_example = (uint32_t)s,
                              .tokens = {batch.tokens[0] + s * shape.length[0], batch.tokens[1] + s * shape.length[1]},
                              .labels = batch.labels + s * shape.labels,
                              .mask = batch.mask + s * shape.labels,
                              .place = batch.place + s * shape.labels,
                              .loss_scale = 1.0 / (shape.sequences * shape.labels)};
        toy_double.train_block(&step, &block, workspace, gradient, &sums);
    }
    toy_double.end_shard(&step, workspace, gradient);
    lh_batch_close(&batch);
    free(parameters);
    free(tables);
    free(shared);
    return sums.loss;
}

/* Whether an element of the parameters is learned; only the position table is constant. */
static bool is_learned(const lh_spec *spec, int64_t i) {
    const lh_tensor *position = &spec->tensors[TOY_POSITION];
    return i < position->offset || i >= position->offset + position->shape[0] * position->shape[1];
}

/* Blocks have two sequences at length 2, and one sequence at length 6. */
static void test_step_gives_the_gradient_of_both_streams(void **state) {
    static double expected[TOY_STORAGE], actual[TOY_STORAGE];
    lh_spec spec = lh_toy_make_pair(toy_double_list);
    for (int n = 2; n <= 6; n += 4) {
        lh_step_metrics metrics;
        lh_error error;
        spec.train.lengths = (lh_lengths){.first = n, .last = n, .step = 1};
        double loss = compute_gradient_by_hand(&spec, n, expected), squares = 0;
        lh_engine *engine = open_engine(&spec, &toy_double, 3);
        lh_test_step(engine, 1, &metrics);
        lh_assert_ok(engine->ops->read_gradient(engine, actual, &error), &error);
        for (int64_t i = 0; i < TOY_STORAGE; i++) expected[i] = is_learned(&spec, i) ? expected[i] : 0;
        for (int64_t i = 0; i < TOY_STORAGE; i++) squares += expected[i] * expected[i];
        lh_assert_close(actual, expected, TOY_STORAGE, 1e-12, 1e-15);
        assert_true(expected[lh_toy_spec.tensors[TOY_TOKEN].offset + TOY_WIDTH * TOY_START] != 0); /* stream 2 */
        assert_true(fabs(metrics.sums.loss - loss) < 1e-12 * loss);
        assert_true(fabs(metrics.gradient_norm - sqrt(squares)) < 1e-12 * metrics.gradient_norm);
        engine->ops->close(engine);
    }
}

static void test_steps_are_the_same_on_any_number_of_threads(void **state) {
    enum { STEPS = 20 };
    static lh_step_metrics one_thread[STEPS], many_threads[STEPS];
    lh_spec spec = lh_toy_make_pair(toy_float_list);
    spec.train.batch = 13;
    for (int threads = 1; threads <= 4; threads++) {
        lh_engine *engine = open_engine(&spec, &toy_float, threads);
        lh_test_step(engine, STEPS, threads == 1 ? one_thread : many_threads);
        if (threads > 1) assert_memory_equal(one_thread, many_threads, sizeof one_thread);
        engine->ops->close(engine);
    }
}

/* Each example occurs once in an epoch, in two streams with lengths from the shape. */
static void test_epochs_of_files_have_every_example_in_two_streams(void **state) {
    enum { EXAMPLES = 10 };
    char text[EXAMPLES * 64] = "";
    lh_spec spec = lh_toy_make_pair(toy_float_list);
    lh_task task = *spec.task;
    lh_corpus corpus;
    lh_error error;
    lh_step_metrics metrics[4];
    int label_count = 0;
    for (int i = 0; i < EXAMPLES; i++)
        sprintf(text + strlen(text),
                i % 2 ? "{\"input\":[%d,1,2],\"target\":[%d]}\n" : "{\"input\":[%d],\"target\":[%d,0]}\n", i % 5,
                i % 3);
    lh_data data = {.train = lh_test_write_text(*state, "train.jsonl", text), .longest = 6};
    task.sample = NULL;
    task.input_length = task.output_length = NULL;
    spec.task = &task;
    spec.data = &data;
    spec.format = &lh_toy_pair_data_format;
    spec.train.batch = 4;
    lh_assert_ok(lh_corpus_open(&corpus, &spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(&corpus, &spec, &error), &error);
    lh_shape shape = lh_make_shape(&spec, 2, 1);
    assert_int_equal(shape.length[0], 3);
    assert_int_equal(shape.length[1], 4);
    assert_int_equal(shape.labels, 1);
    lh_engine *engine = open_engine(&spec, &toy_float, 2);
    lh_test_step(engine, 4, metrics); /* two batches of 4 examples and two of 1, in any order */
    for (int i = 0; i < 4; i++) label_count += (int)metrics[i].sums.positions;
    assert_int_equal(label_count, EXAMPLES / 2 * (1 + 2)); /* every second example has 2 labels, the others have 1 */
    engine->ops->close(engine);
    lh_corpus_close(&corpus);
}

static void test_limit_holds_for_every_stream(void **state) {
    lh_spec spec = lh_toy_make_pair(toy_float_list);
    lh_error error;
    lh_lengths allowed = {.first = TOY_LONGEST - 3, .last = TOY_LONGEST - 3, .step = 1};
    lh_lengths too_long = {.first = TOY_LONGEST - 2, .last = TOY_LONGEST - 2, .step = 1};
    lh_assert_ok(lh_check_limit(&spec, &allowed, &error), &error);
    lh_assert_error(lh_check_limit(&spec, &too_long, &error), LH_ERR_INPUT, &error, "a sequence has 65 tokens");
}

/* ---- tensors that are not learned ---- */

static lh_state train_two_steps(const lh_spec *spec, lh_step_metrics metrics[2]) {
    lh_engine *engine = open_engine(spec, &toy_float, 2);
    lh_test_step(engine, 2, metrics);
    lh_state state = lh_test_copy_state(engine);
    engine->ops->close(engine);
    return state;
}

/* A program may write the gradient of a constant tensor, but the update must ignore it. The positions are always
 * constant. Here the tables of tokens and outputs and the query's matrix are constant, too. The rows of this matrix lie
 * between learned rows of keys and values. */
static void test_constant_tensor_keeps_its_values_and_is_not_in_the_gradient_norm(void **state) {
    static const int fixed[] = {TOY_TOKEN, TOY_OUTPUT, TOY_QUERY};
    static float start[TOY_STORAGE];
    lh_tensor tensors[TOY_TENSORS];
    lh_spec spec = lh_toy_make_pair(toy_float_list), fixed_spec = spec;
    lh_step_metrics full_metrics[2], fixed_metrics[2];
    memcpy(tensors, spec.tensors, sizeof tensors);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) tensors[fixed[i]].learned = false;
    fixed_spec.tensors = tensors;
    lh_initialise(&spec, 7, 4, start);
    lh_state full_state = train_two_steps(&spec, full_metrics),
             fixed_state = train_two_steps(&fixed_spec, fixed_metrics);
    assert_true(fixed_metrics[0].sums.loss == full_metrics[0].sums.loss);
    assert_true(fixed_metrics[0].gradient_norm > 0 && fixed_metrics[0].gradient_norm < full_metrics[0].gradient_norm);
    for (int t = 0; t < TOY_TENSORS; t++)
        for (int64_t e = 0; e < (tensors[t].rank == 2 ? tensors[t].shape[0] : 1); e++) {
            size_t first = (size_t)(tensors[t].offset + e * tensors[t].stride);
            size_t bytes = (size_t)tensors[t].shape[tensors[t].rank - 1] * sizeof(float);
            const float zeros[8] = {0}, *now = (float *)fixed_state.parameters + first,
                        *moment = (float *)fixed_state.optimizer[1] + first;
            if (!tensors[t].learned) assert_memory_equal(now, start + first, bytes);
            if (!tensors[t].learned) assert_memory_equal(moment, zeros, bytes);
            if (t == TOY_SCALE || t == TOY_BIAS) assert_memory_not_equal(now, start + first, bytes);
            if (t == TOY_OUTPUT) assert_memory_not_equal((float *)full_state.parameters + first, start + first, bytes);
        }
    lh_state_close(&full_state);
    lh_state_close(&fixed_state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_holds_tokens_of_each_stream_and_places),
        cmocka_unit_test(test_batch_of_one_stream_has_neither_second_tokens_nor_places),
        cmocka_unit_test(test_batch_with_more_labels_than_their_stream_has_tokens_is_refused),
        cmocka_unit_test(test_step_gives_the_gradient_of_both_streams),
        cmocka_unit_test(test_steps_are_the_same_on_any_number_of_threads),
        lh_test_in_directory(test_epochs_of_files_have_every_example_in_two_streams),
        cmocka_unit_test(test_limit_holds_for_every_stream),
        cmocka_unit_test(test_constant_tensor_keeps_its_values_and_is_not_in_the_gradient_norm),
    };
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
