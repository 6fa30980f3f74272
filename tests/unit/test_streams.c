/* A model of two token streams in all functions that use models: batches, epochs, steps, evaluation, predictions,
 * traces and given positions. The labels belong to tokens of the second stream, at given places. */
#include "lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs/input.h"
#include "data/batch.h"
#include "data/datasets/epoch.h"
#include "data/initialise.h"
#include "eval/decode.h"
#include "eval/trace.h"
#include "toy_program.h"
#include "engine/engine.h"

enum { N = 4, BATCH = 8 };

static lh_engine *open_engine(const lh_spec *spec, const lh_cpu_program *program, int threads) {
    lh_error error;
    lh_engine *engine;
    lh_engine_config config = {
        .spec = spec, .seed = 7, .learning_rate = 0.01, .threads = threads, .trains = true, .keeps_gradient = true};
    lh_assert_ok(lh_cpu_engine_open(&config, program, &engine, &error), &error);
    return engine;
}

/* ---- batches ---- */

static void test_batch_holds_tokens_of_each_stream_and_places(void **state) {
    (void)state;
    lh_spec spec = lh_toy_pair_with(NULL);
    lh_batch batch;
    lh_error error;
    lh_source source = {lh_key_of_seed(1), 3, LH_DOMAIN_DATA, 0, NULL, NULL};
    lh_assert_ok(lh_batch_open(&batch, &spec, N, BATCH, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, &spec, &source, N, 0, BATCH, &error), &error);
    assert_int_equal(batch.shape.length[0], N);
    assert_int_equal(batch.shape.length[1], N + 3);
    assert_int_equal(lh_shape_tokens(&batch.shape), 2 * N + 3);
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
    lh_cpu_block block = lh_batch_block(&batch, 3, 2);
    assert_int_equal(block.sequences, 2);
    assert_ptr_equal(block.tokens[0], batch.tokens[0] + 3 * N);
    assert_ptr_equal(block.tokens[1], batch.tokens[1] + 3 * (N + 3));
    assert_ptr_equal(block.labels, batch.labels + 3 * N);
    assert_ptr_equal(block.mask, batch.mask + 3 * N);
    assert_ptr_equal(block.place, batch.place + 3 * N);
    lh_batch_close(&batch);
}

static void test_batch_of_one_stream_has_neither_second_tokens_nor_places(void **state) {
    (void)state;
    lh_batch batch;
    lh_error error;
    lh_assert_ok(lh_batch_open(&batch, &lh_toy_spec, N, 1, &error), &error);
    lh_cpu_block block = lh_batch_block(&batch, 0, 1);
    assert_null(block.tokens[1]);
    assert_null(block.place);
    lh_batch_close(&batch);
}

static int no_tokens(int n) { return n - 1; }

static void test_batch_with_more_labels_than_their_stream_has_tokens_is_refused(void **state) {
    (void)state;
    lh_spec spec = lh_toy_pair_with(NULL);
    lh_format format = *spec.format;
    lh_batch batch;
    lh_error error;
    spec.format = &format;
    format.stream[0].length = no_tokens;
    lh_assert_ok(lh_batch_open(&batch, &spec, N, 1, &error), &error); /* the labels belong to the other stream */
    lh_batch_close(&batch);
    format.stream[1].length = no_tokens;
    lh_assert_error(lh_batch_open(&batch, &spec, N, 1, &error), LH_ERR_INPUT, &error,
                    "length 1: 1 labels, but target has 0 tokens");
}

/* ---- training ---- */

/* Computes the gradient of the first step in this test: block by block of one batch, in the order of the shards. */
static double gradient_by_hand(const lh_spec *spec, int n, double *gradient) {
    enum { WORKSPACE = 64 };
    lh_shape shape = lh_shape_at(spec, n, spec->train.batch);
    lh_batch batch;
    lh_error error;
    lh_sums sums = {0};
    lh_key key = lh_key_of_seed(7);
    lh_source source = {key, 0, LH_DOMAIN_DATA, 0, NULL, NULL};
    double *parameters = lh_engine_memory(TOY_STORAGE * sizeof *parameters, "the test", &error),
           workspace[WORKSPACE] = {0};
    double *tables = lh_engine_memory(toy_double.tables_bytes(shape.length), "the test", &error);
    void *shared = lh_engine_memory(toy_double.shared_bytes(&shape), "the test", &error);
    lh_initialise(spec, 7, 8, parameters);
    toy_double.make_tables(tables, shape.length);
    lh_assert_ok(lh_batch_open(&batch, spec, n, spec->train.batch, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, spec, &source, n, 0, spec->train.batch, &error), &error);
    lh_cpu_step step = {.mode = LH_MODE_TRAIN,
                        .shape = shape,
                        .key = key,
                        .draw = {key, 0, LH_SHARED, LH_DOMAIN_POSITIONS},
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

static bool is_learned(const lh_spec *spec, int64_t i) {
    const lh_tensor *position = &spec->tensors[TOY_POSITION];
    return i < position->offset || i >= position->offset + position->shape[0] * position->shape[1];
}

/* Lengths 2 and 6 have blocks of two sequences, and of one. */
static void test_step_gives_the_gradient_of_both_streams(void **state) {
    (void)state;
    static double want[TOY_STORAGE], got[TOY_STORAGE];
    lh_spec spec = lh_toy_pair_with(toy_double_list);
    for (int n = 2; n <= 6; n += 4) {
        lh_step_metrics metrics;
        lh_error error;
        int done;
        spec.train.lengths = (lh_lengths){NULL, 0, n, n, 1};
        double loss = gradient_by_hand(&spec, n, want), squares = 0;
        lh_engine *engine = open_engine(&spec, &toy_double, 3);
        lh_assert_ok(engine->ops->step(engine, 1, &metrics, &done, &error), &error);
        lh_assert_ok(engine->ops->read_gradient(engine, got, &error), &error);
        for (int64_t i = 0; i < TOY_STORAGE; i++) want[i] = is_learned(&spec, i) ? want[i] : 0;
        for (int64_t i = 0; i < TOY_STORAGE; i++) squares += want[i] * want[i];
        lh_assert_close(got, want, TOY_STORAGE, 1e-12, 1e-15);
        assert_true(want[lh_toy_spec.tensors[TOY_TOKEN].offset + TOY_WIDTH * TOY_START] != 0); /* of stream 2 */
        assert_true(fabs(metrics.sums.loss - loss) < 1e-12 * loss);
        assert_true(fabs(metrics.gradient_norm - sqrt(squares)) < 1e-12 * metrics.gradient_norm);
        engine->ops->close(engine);
    }
}

static void test_steps_are_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    enum { STEPS = 20 };
    static lh_step_metrics one[STEPS], many[STEPS];
    lh_spec spec = lh_toy_pair_with(toy_float_list);
    spec.train.batch = 13;
    for (int threads = 1; threads <= 4; threads++) {
        lh_error error;
        int done;
        lh_engine *engine = open_engine(&spec, &toy_float, threads);
        lh_assert_ok(engine->ops->step(engine, STEPS, threads == 1 ? one : many, &done, &error), &error);
        if (threads > 1) assert_memory_equal(one, many, sizeof one);
        engine->ops->close(engine);
    }
}

/* Each example occurs once in an epoch, in two streams with lengths from the shape. */
static void test_epochs_of_finite_data_in_two_streams(void **state) {
    enum { EXAMPLES = 10 };
    char text[EXAMPLES * 64] = "";
    lh_spec spec = lh_toy_pair_with(toy_float_list);
    lh_task task = *spec.task;
    lh_corpus corpus;
    lh_error error;
    lh_step_metrics metrics[4];
    int done, positions = 0;
    for (int i = 0; i < EXAMPLES; i++)
        sprintf(text + strlen(text),
                i % 2 ? "{\"input\":[%d,1,2],\"target\":[%d]}\n" : "{\"input\":[%d],\"target\":[%d,0]}\n", i % 5,
                i % 3);
    const char *path = lh_test_path(*state, "train.jsonl");
    lh_test_write(path, text, strlen(text));
    lh_data data = {.train = path, .longest = 6};
    task.sample = NULL;
    task.input_length = task.output_length = NULL;
    spec.task = &task;
    spec.data = &data;
    spec.format = &lh_toy_pair_data_format;
    spec.train.batch = 4;
    lh_assert_ok(lh_corpus_open(&corpus, &spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(&corpus, &spec, &error), &error);
    lh_shape shape = lh_shape_at(&spec, 2, 1);
    assert_int_equal(shape.length[0] * 100 + shape.length[1] * 10 + shape.labels, 341);
    lh_engine *engine = open_engine(&spec, &toy_float, 2);
    lh_assert_ok(engine->ops->step(engine, 4, metrics, &done, &error), &error); /* batches of 4, 1, 4, 1 */
    for (int i = 0; i < 4; i++) positions += (int)metrics[i].sums.positions;
    assert_int_equal(positions, EXAMPLES / 2 * 2 + EXAMPLES / 2);
    engine->ops->close(engine);
    lh_corpus_close(&corpus);
}

static void test_limit_holds_for_every_stream(void **state) {
    (void)state;
    lh_spec spec = lh_toy_pair_with(toy_float_list);
    lh_error error;
    lh_lengths within = {NULL, 0, TOY_LONGEST - 3, TOY_LONGEST - 3, 1};
    lh_lengths beyond = {NULL, 0, TOY_LONGEST - 2, TOY_LONGEST - 2, 1};
    lh_assert_ok(lh_check_limit(&spec, &within, &error), &error);
    lh_assert_error(lh_check_limit(&spec, &beyond, &error), LH_ERR_INPUT, &error, "a sequence has 65 tokens");
}

/* ---- evaluation and predictions ---- */

static double loss_of(const double *logits, const uint16_t *labels) {
    double loss = 0;
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int c = 0; c < TOY_CLASSES; c++) sum += exp(logits[i * TOY_CLASSES + c]);
        loss += log(sum) - logits[i * TOY_CLASSES + labels[i]];
    }
    return loss;
}

/* Teacher forcing: a prediction of an example's input and target is the evaluation's pass. */
static void test_predict_with_the_target_is_the_evaluation_of_the_example(void **state) {
    (void)state;
    enum { EXAMPLES = 9 };
    lh_spec spec = lh_toy_pair_with(toy_double_list);
    lh_lengths lengths = {NULL, 0, N, N, 1};
    lh_condition condition = lh_condition_at(N, EXAMPLES, 1, 0);
    lh_sums sums, each[EXAMPLES];
    lh_error error;
    lh_batch batch;
    double logits[N * TOY_CLASSES], without[N * TOY_CLASSES], total = 0;
    lh_engine *engine = open_engine(&spec, &toy_double, 2);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, each, &error), &error);
    lh_assert_ok(lh_batch_open(&batch, &spec, N, 1, &error), &error);
    for (int i = 0; i < EXAMPLES; i++) {
        lh_assert_ok(lh_batch_fill(&batch, &spec, &condition.source, N, (uint32_t)i, 1, &error), &error);
        lh_query query = {.n = N, .input = batch.input, .target = batch.labels, .draw = condition.draw};
        lh_assert_ok(engine->ops->predict(engine, &query, logits, &error), &error);
        double want = loss_of(logits, batch.labels);
        assert_true(fabs(each[i].loss - want) < 1e-12 * want);
        total += want;
        query.target = NULL;
        lh_assert_ok(engine->ops->predict(engine, &query, without, &error), &error);
        for (int c = 0; c < TOY_CLASSES; c++)
            assert_true(logits[c] == without[c]); /* the first label is predicted from the start symbol */
    }
    assert_memory_not_equal(logits, without, sizeof logits);
    assert_true(fabs(sums.loss - total) < 1e-12 * total);
    assert_int_equal(sums.positions, N * EXAMPLES);
    lh_batch_close(&batch);
    engine->ops->close(engine);
}

/* By induction: in a pass with the answers as its target, each answer has the greatest logit, bit for bit. */
static void check_decode(const lh_cpu_program *program, bool decodes) {
    static const uint16_t input[] = {4, 0, 2, 1};
    lh_spec spec = lh_toy_pair_with(toy_float_list);
    lh_lengths lengths = {NULL, 0, N, N, 1};
    lh_error error;
    lh_step_metrics metrics[8];
    double decoded[N * TOY_CLASSES], once[N * TOY_CLASSES], first[N * TOY_CLASSES];
    uint16_t answers[N];
    int done;
    lh_query query = {.n = N, .input = input, .draw = lh_condition_at(N, 1, 1, 0).draw};
    lh_engine *engine = open_engine(&spec, program, 1);
    assert_true(engine->decodes == decodes);
    lh_assert_ok(engine->ops->step(engine, 8, metrics, &done, &error), &error);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
    lh_assert_ok(lh_decode(engine, &query, 1, &(lh_answers){.answers = answers, .logits = decoded}, &error), &error);
    lh_assert_ok(engine->ops->predict(engine, &query, first, &error), &error);
    query.target = answers;
    lh_assert_ok(engine->ops->predict(engine, &query, once, &error), &error);
    assert_memory_equal(once, decoded, sizeof once);
    assert_memory_not_equal(once, first, sizeof once);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < TOY_CLASSES; c++)
            assert_true(once[i * TOY_CLASSES + answers[i]] >= once[i * TOY_CLASSES + c]);
    engine->ops->close(engine);
}

/* Decoding runs token by token if the program supports it, otherwise with a pass per token. */
static void test_decode_gives_the_answers_of_one_pass_over_them(void **state) {
    (void)state;
    lh_cpu_program passes = toy_float;
    passes.decode_step = NULL;
    check_decode(&toy_float, true);
    check_decode(&passes, false);
}

static void test_predict_takes_positions_of_the_stream_that_they_are_for(void **state) {
    (void)state;
    static const int32_t plain[] = {0, 1, 2, 3, 4, 5, 6}, other[] = {9, 8, 7, 6, 5, 4, 3};
    static const uint16_t input[] = {4, 0, 2, 1};
    lh_spec spec = lh_toy_pair_with(toy_float_list);
    lh_lengths lengths = {NULL, 0, N, N, 1};
    lh_error error;
    double none[N * TOY_CLASSES], got[N * TOY_CLASSES];
    lh_query query = {.n = N, .input = input, .draw = lh_condition_at(N, 1, 1, 0).draw};
    lh_engine *engine = open_engine(&spec, &toy_float, 1);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
    lh_assert_ok(engine->ops->predict(engine, &query, none, &error), &error);
    query.positions[0] = other; /* the program's rows are of the second stream */
    query.positions[1] = plain;
    lh_assert_ok(engine->ops->predict(engine, &query, got, &error), &error);
    assert_memory_equal(got, none, sizeof got);
    query.positions[1] = other;
    lh_assert_ok(engine->ops->predict(engine, &query, got, &error), &error);
    assert_memory_not_equal(got, none, sizeof got);
    engine->ops->close(engine);
}

static void test_input_lines_name_the_stream_of_a_list(void **state) {
    (void)state;
    static const struct {
        const char *line, *said; /* NULL: the line is valid */
    } cases[] = {
        {"{\"input\":[1,2],\"positions\":{\"source\":[3,4]}}", NULL},
        {"{\"input\":[1,2],\"positions\":{\"target\":[1,2,3,4,5],\"source\":[3,4]}}", NULL},
        {"{\"input\":[1,2],\"positions\":[3,4]}",
         "line 5: \"positions\" is no object\n  expected: {\"source\":[...],\"target\":[...]}, the model's streams"},
        {"{\"input\":[1,2],\"positions\":{\"memory\":[3,4]}}",
         "line 5: \"positions\" is for \"memory\"\n  expected: \"source\" or \"target\""},
        {"{\"input\":[1,2],\"positions\":{\"target\":[3,4]}}",
         "line 5: 2 positions.target\n  expected: 5, one per token of the sequence"},
        {"{\"input\":[1,2],\"positions\":{\"source\":[3,64]}}", "positions.source[1] is no integer from 0 to 63"},
        {"{\"input\":[1,2],\"distances\":{\"source\":[0,0]}}", "line 5: distances.source[1] is 0"},
        {"{\"input\":[1,2],\"output\":6}",
         "line 5: there is no \"output\"\n  expected: input, target, mask, positions, distances"},
        {"{\"input\":[1,2],\"position\":[3,4]}", "hint: did you mean \"positions\"?"},
        {"{\"input\":[1,2],\"distances\":{\"target\":[0,1,2,3,4]}}",
         "line 5: \"distances.target\" is given, but this encoding draws none"},
    };
    lh_spec spec = lh_toy_pair_with(NULL);
    spec.position_range[0] = spec.position_range[1] = spec.distance_range[0] = 64;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_input input;
        lh_error error = {""};
        lh_status status = lh_input_read_json(&input, &spec, 5, cases[i].line, LH_IF_GIVEN, &error);
        if (cases[i].said != NULL) lh_assert_error(status, LH_ERR_INPUT, &error, cases[i].said);
        else {
            lh_assert_ok(status, &error);
            lh_query query = lh_input_query(&input);
            assert_int_equal(query.positions[0][1], 4);
            assert_true((query.positions[1] != NULL) == (i == 1) && query.distances[0] == NULL);
        }
        lh_input_free(&input);
    }
}

/* A right answer must have the length of the outputs. */
static void test_input_lines_say_their_right_answer(void **state) {
    (void)state;
    static const char line[] = "{\"input\":[4,0,2,1],\"target\":[0,1,2,1],\"mask\":[1,0,1,1]}";
    static const char *const bad[][2] = {
        {"{\"input\":[4,0,2,1],\"target\":[0,1]}", "line 5: a target of 2 tokens\n  expected: 4"},
        {"{\"input\":[4,0,2,1],\"target\":7}", "line 5: \"target\" is no list of tokens"},
        {"{\"input\":[4,0,2,1],\"target\":[0,1,2,9]}", "line 5: target[3] is 9"},
        {"{\"input\":[4,0,2,1],\"target\":[0,1,2,1],\"mask\":[1]}", "\"mask\" is not as long as \"target\""},
        {"{\"input\":[4,0,2,1],\"target\":[0,1,2,1],\"mask\":[1,2,1,1]}", "mask[1] is neither 0 nor 1"},
    };
    lh_spec spec = lh_toy_pair_with(NULL);
    lh_input input;
    lh_error error = {""};
    for (lh_right right = LH_IF_GIVEN; right <= LH_IF_KNOWN; right++) {
        lh_assert_ok(lh_input_read_json(&input, &spec, 5, line, right, &error), &error);
        assert_int_equal(input.target_length, N);
        assert_true(input.target[2] == 2 && input.mask[0] == 1 && input.mask[1] == 0);
        lh_input_free(&input);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lh_assert_error(lh_input_read_json(&input, &spec, 5, bad[i][0], LH_IF_KNOWN, &error), LH_ERR_INPUT, &error,
                        bad[i][1]);
        lh_input_free(&input);
    }
}

/* A user's task that solves inputs: the second half of an input is computed from the first. */
static lh_status solve_copy(const lh_literal *literal, lh_example *example, lh_error *error) {
    if (literal->count != 2) return lh_fail(error, LH_ERR_INPUT, "symbol %d is too much", literal->count);
    example->input_length = example->output_length = N;
    for (int i = 0; example->input != NULL && i < N; i++) {
        example->input[i] = literal->token[i % 2];
        example->target[i] = (uint16_t)(literal->token[i % 2] + (literal->token[0] == 4 ? 60000 : 0));
        example->mask[i] = i > 0;
    }
    return LH_OK;
}

static void test_literals_are_what_the_task_makes_of_them(void **state) {
    (void)state;
    lh_spec spec = lh_toy_pair_with(NULL);
    lh_task task = *spec.task;
    lh_input input;
    lh_error error = {""};
    task.solve = solve_copy;
    spec.task = &task;
    lh_assert_ok(lh_input_read_literal(&input, &spec, 1, "1 2", LH_NO_VALUE, &error), &error);
    assert_int_equal(input.n, N);
    assert_true(input.input[0] == 1 && input.input[3] == 2 && input.target[2] == 1);
    assert_true(input.mask[0] == 0 && input.mask[1] == 1);
    lh_input_free(&input);
    lh_assert_error(lh_input_read_literal(&input, &spec, 2, "123", LH_NO_VALUE, &error), LH_ERR_INPUT, &error,
                    "line 2: symbol 3 is too much");
    lh_input_free(&input);
    lh_assert_error(lh_input_read_literal(&input, &spec, 2, "40", LH_NO_VALUE, &error), LH_ERR_INPUT, &error,
                    "line 2: the task makes no target of it");
    lh_input_free(&input);
    task.solve = NULL; /* the input is used unchanged, and no right answer is known */
    lh_assert_ok(lh_input_read_literal(&input, &spec, 1, "4021", LH_NO_VALUE, &error), &error);
    assert_true(input.target == NULL && input.input[0] == 4);
    lh_input_free(&input);
    lh_assert_error(lh_input_read_literal(&input, &spec, 1, "40?1", LH_NO_VALUE, &error), LH_ERR_INPUT, &error,
                    "at column 3\n  expected: 0 1 2 3 4");
    lh_input_free(&input);
}

/* ---- traces ---- */

static const lh_traced *tensor_of(const lh_traces *traces, const char *name) {
    for (int i = 0; i < traces->count; i++)
        if (strcmp(traces->tensors[i].name, name) == 0) return &traces->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void assert_shape(const lh_traced *t, int rank, const int64_t *shape) {
    assert_int_equal(t->file.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(t->file.shape[i], shape[i]);
}

static void test_trace_sites_are_as_long_as_their_streams(void **state) {
    (void)state;
    enum { EXAMPLES = 2, T = N + 3 };
    lh_spec spec = lh_toy_pair_with(toy_double_list);
    lh_traces traces;
    lh_batch batch;
    lh_error error;
    lh_engine *engine = open_engine(&spec, &toy_double, 1);
    lh_trace_request request = {
        .wanted = {true, true, true, true}, .draws = 1, .seed = 1, .lengths = {NULL, 0, N, N, 1}, .examples = EXAMPLES};
    lh_assert_ok(lh_traces_open(&traces, engine, &request, &error), &error);
    lh_assert_ok(lh_traces_run(&traces, engine, &error), &error);
    assert_shape(tensor_of(&traces, "n4.tokens.source"), 2, (int64_t[]){EXAMPLES, N});
    assert_shape(tensor_of(&traces, "n4.source"), 3, (int64_t[]){EXAMPLES, N, TOY_WIDTH});
    assert_shape(tensor_of(&traces, "n4.target"), 3, (int64_t[]){EXAMPLES, T, TOY_WIDTH});
    const lh_traced *scores = tensor_of(&traces, "n4.cross.scores");
    assert_shape(scores, 4, (int64_t[]){EXAMPLES, TOY_PAIR_HEADS, T, N});
    for (int i = 0; i < EXAMPLES * TOY_PAIR_HEADS * T * N; i++)
        assert_true(lh_traced_at(scores, i) == i / N % T - i % N);
    double entropy = lh_traced_at(tensor_of(&traces, "n4.cross.entropy"), 1);
    assert_true(fabs(entropy - log(N)) < 1e-12);
    /* The examples are the evaluation's, and the target stream holds the target. */
    const lh_traced *tokens = tensor_of(&traces, "n4.tokens.target"), *vectors = tensor_of(&traces, "n4.target");
    lh_condition condition = lh_condition_at(N, EXAMPLES, 1, 0);
    lh_assert_ok(lh_batch_open(&batch, &spec, N, EXAMPLES, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, &spec, &condition.source, N, 0, EXAMPLES, &error), &error);
    static double parameters[TOY_STORAGE];
    lh_initialise(&spec, 7, 8, parameters);
    for (int i = 0; i < EXAMPLES * T; i++) {
        assert_true(lh_traced_at(tokens, i) == batch.tokens[1][i]);
        assert_true(lh_traced_at(vectors, i * TOY_WIDTH) == parameters[TOY_WIDTH * batch.tokens[1][i]]);
    }
    lh_batch_close(&batch);
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

/* A query without a target has the model's own answers in its stream. */
static void test_trace_of_an_input_decodes(void **state) {
    (void)state;
    static const uint16_t input[] = {4, 0, 2, 1};
    lh_spec spec = lh_toy_pair_with(toy_float_list);
    lh_lengths lengths = {NULL, 0, N, N, 1};
    lh_query query = {.n = N, .input = input, .draw = lh_condition_at(N, 1, 1, 0).draw};
    lh_traces traces;
    lh_error error;
    uint16_t answers[N];
    lh_engine *engine = open_engine(&spec, &toy_float, 1);
    static const uint16_t target[] = {1, 2, 0, 1};
    static const uint8_t mask[] = {1, 1, 0, 1};
    const lh_right_answer right = {target, mask};
    lh_trace_request request = {.wanted = {[LH_TRACE_ACTIVATIONS] = true},
                                .draws = 1,
                                .seed = 1,
                                .inputs = &query,
                                .right = &right,
                                .input_count = 1};
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
    lh_assert_ok(lh_decode(engine, &query, 1, &(lh_answers){.answers = answers}, &error), &error);
    lh_assert_ok(lh_traces_open(&traces, engine, &request, &error), &error);
    lh_assert_ok(lh_traces_run(&traces, engine, &error), &error);
    const lh_traced *tokens = tensor_of(&traces, "n4.tokens.target"), *vectors = tensor_of(&traces, "n4.target");
    static float parameters[TOY_STORAGE];
    lh_initialise(&spec, 7, 4, parameters);
    assert_true(lh_traced_at(tokens, 0) == TOY_START);
    for (int i = 0; i < N; i++) {
        assert_true(lh_traced_at(tokens, 1 + i) == answers[i]);
        assert_true(lh_traced_at(vectors, (1 + i) * TOY_WIDTH) == parameters[TOY_WIDTH * answers[i]]);
    }
    assert_true(answers[0] + answers[1] + answers[2] + answers[3] > 0);
    /* The trace has the model's answers, and the right ones for counted labels. */
    const lh_traced *written = tensor_of(&traces, "n4.answers"), *targets = tensor_of(&traces, "n4.targets");
    assert_string_equal(written->file.dtype, "I32");
    for (int i = 0; i < N; i++) {
        assert_true(lh_traced_at(written, i) == answers[i]);
        assert_true(lh_traced_at(targets, i) == (mask[i] ? target[i] : -1));
    }
    lh_traces_close(&traces);
    request.right = NULL;
    lh_assert_ok(lh_traces_open(&traces, engine, &request, &error), &error);
    assert_null(lh_traces_find(&traces, &traces.groups[0], LH_TRACE_TARGETS));
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

/* ---- tensors that are not learned ---- */

static void train_two_steps(const lh_spec *spec, lh_state *state, lh_step_metrics metrics[2]) {
    lh_error error;
    int done;
    lh_engine *engine = open_engine(spec, &toy_float, 2);
    lh_assert_ok(engine->ops->step(engine, 2, metrics, &done, &error), &error);
    lh_assert_ok(lh_state_open(state, engine, true, &error), &error);
    lh_assert_ok(engine->ops->read_state(engine, state, &error), &error);
    engine->ops->close(engine);
}

/* A program may add to the gradient of such a tensor: here the query's, whose rows lie between those of keys and
 * values and which is not learned, the token's, the output's and the rows'. */
static void test_tensor_that_is_not_learned_keeps_its_values_and_counts_in_no_norm(void **state) {
    (void)state;
    static const int fixed[] = {TOY_TOKEN, TOY_OUTPUT, TOY_QUERY};
    static float start[TOY_STORAGE];
    lh_tensor tensors[TOY_TENSORS];
    lh_spec spec = lh_toy_pair_with(toy_float_list), less = spec;
    lh_state all, some;
    lh_step_metrics with[2], without[2];
    memcpy(tensors, spec.tensors, sizeof tensors);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) tensors[fixed[i]].learned = false;
    less.tensors = tensors;
    lh_initialise(&spec, 7, 4, start);
    train_two_steps(&spec, &all, with);
    train_two_steps(&less, &some, without);
    assert_true(without[0].sums.loss == with[0].sums.loss);
    assert_true(without[0].gradient_norm > 0 && without[0].gradient_norm < with[0].gradient_norm);
    for (int t = 0; t < TOY_TENSORS; t++)
        for (int64_t e = 0; e < (tensors[t].rank == 2 ? tensors[t].shape[0] : 1); e++) {
            size_t at = (size_t)(tensors[t].offset + e * tensors[t].stride);
            size_t bytes = (size_t)tensors[t].shape[tensors[t].rank - 1] * sizeof(float);
            const float zeros[8] = {0}, *now = (float *)some.parameters + at, *moment = (float *)some.optimizer[1] + at;
            if (!tensors[t].learned) assert_memory_equal(now, start + at, bytes);
            if (!tensors[t].learned) assert_memory_equal(moment, zeros, bytes);
            if (t == TOY_SCALE || t == TOY_BIAS) assert_memory_not_equal(now, start + at, bytes);
            if (t == TOY_OUTPUT) assert_memory_not_equal((float *)all.parameters + at, start + at, bytes);
        }
    lh_state_close(&all);
    lh_state_close(&some);
}

#define in_directory(test) cmocka_unit_test_setup_teardown(test, lh_test_make_directory, lh_test_remove_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_holds_tokens_of_each_stream_and_places),
        cmocka_unit_test(test_batch_of_one_stream_has_neither_second_tokens_nor_places),
        cmocka_unit_test(test_batch_with_more_labels_than_their_stream_has_tokens_is_refused),
        cmocka_unit_test(test_step_gives_the_gradient_of_both_streams),
        cmocka_unit_test(test_steps_are_the_same_on_any_number_of_threads),
        in_directory(test_epochs_of_finite_data_in_two_streams),
        cmocka_unit_test(test_limit_holds_for_every_stream),
        cmocka_unit_test(test_predict_with_the_target_is_the_evaluation_of_the_example),
        cmocka_unit_test(test_decode_gives_the_answers_of_one_pass_over_them),
        cmocka_unit_test(test_predict_takes_positions_of_the_stream_that_they_are_for),
        cmocka_unit_test(test_input_lines_name_the_stream_of_a_list),
        cmocka_unit_test(test_input_lines_say_their_right_answer),
        cmocka_unit_test(test_literals_are_what_the_task_makes_of_them),
        cmocka_unit_test(test_trace_sites_are_as_long_as_their_streams),
        cmocka_unit_test(test_trace_of_an_input_decodes),
        cmocka_unit_test(test_tensor_that_is_not_learned_keeps_its_values_and_counts_in_no_norm),
    };
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
