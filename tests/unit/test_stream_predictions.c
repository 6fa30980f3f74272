/* A model of two token streams in evaluation, predictions, traces and given positions. Each label belongs
 * to a token of the second stream; the index of this token is its place. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "cli/verbs/input.h"
#include "data/batch.h"
#include "data/initialise.h"
#include "eval/decode.h"
#include "eval/trace.h"
#include "lh_engines.h"
#include "toy_program.h"

enum { N = 4 };

static lh_engine *open_engine(const lh_spec *spec, const lh_cpu_program *program, int threads) {
    lh_engine_config config = {.spec = spec, .seed = 7, .learning_rate = 0.01, .threads = threads, .trains = true};
    return lh_test_open_engine(config, program);
}

/* ---- evaluation and predictions ---- */

static double compute_loss(const double *logits, const uint16_t *labels) {
    double loss = 0;
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int c = 0; c < TOY_CLASSES; c++) sum += exp(logits[i * TOY_CLASSES + c]);
        loss += log(sum) - logits[i * TOY_CLASSES + labels[i]];
    }
    return loss;
}

/* Teacher forcing: the prediction for an example's input and target equals the pass of the evaluation. */
static void test_predict_with_the_target_is_the_evaluation_of_the_example(void **state) {
    enum { EXAMPLES = 9 };
    lh_spec spec = lh_toy_make_pair(toy_double_list);
    lh_lengths lengths = {.first = N, .last = N, .step = 1};
    lh_condition condition = lh_make_condition(N, EXAMPLES, 1, 0);
    lh_sums sums, sequence_sums[EXAMPLES];
    lh_error error;
    lh_batch batch;
    double logits[N * TOY_CLASSES], without_target[N * TOY_CLASSES], total = 0;
    lh_engine *engine = open_engine(&spec, &toy_double, 2);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, sequence_sums, &error), &error);
    lh_assert_ok(lh_batch_open(&batch, &spec, N, 1, &error), &error);
    for (int i = 0; i < EXAMPLES; i++) {
        lh_assert_ok(lh_batch_fill(&batch, &spec, &condition.source, N, (uint32_t)i, 1, &error), &error);
        lh_query query = {.n = N, .input = batch.input, .target = batch.labels, .draw = condition.draw};
        lh_assert_ok(engine->ops->predict(engine, &query, logits, &error), &error);
        double expected = compute_loss(logits, batch.labels);
        assert_true(fabs(sequence_sums[i].loss - expected) < 1e-12 * expected);
        total += expected;
        query.target = NULL;
        lh_assert_ok(engine->ops->predict(engine, &query, without_target, &error), &error);
        for (int c = 0; c < TOY_CLASSES; c++)
            assert_true(logits[c] == without_target[c]); /* the first label is predicted from the start symbol */
    }
    assert_memory_not_equal(logits, without_target, sizeof logits);
    assert_true(fabs(sums.loss - total) < 1e-12 * total);
    assert_int_equal(sums.positions, N * EXAMPLES);
    lh_batch_close(&batch);
    engine->ops->close(engine);
}

/* Checks that decoding gives the greedy answers. A single pass has the decoded answers as its target. Its logits must
 * have the bits of the decoded logits, and each answer must have the greatest logit. has_cache: the engine decodes
 * token by token. */
static void check_decode(const lh_cpu_program *program, bool has_cache) {
    static const uint16_t input[] = {4, 0, 2, 1};
    lh_spec spec = lh_toy_make_pair(toy_float_list);
    lh_lengths lengths = {.first = N, .last = N, .step = 1};
    lh_error error;
    lh_step_metrics metrics[8];
    double decoded[N * TOY_CLASSES], at_once[N * TOY_CLASSES], without_target[N * TOY_CLASSES];
    uint16_t answers[N];
    lh_query query = {.n = N, .input = input, .draw = lh_make_condition(N, 1, 1, 0).draw};
    lh_engine *engine = open_engine(&spec, program, 1);
    assert_true(engine->decodes == has_cache);
    lh_test_step(engine, 8, metrics);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
    lh_assert_ok(lh_decode(engine, &query, 1, &(lh_answers){.answers = answers, .logits = decoded}, &error), &error);
    lh_assert_ok(engine->ops->predict(engine, &query, without_target, &error), &error);
    query.target = answers;
    lh_assert_ok(engine->ops->predict(engine, &query, at_once, &error), &error);
    assert_memory_equal(at_once, decoded, sizeof at_once);
    assert_memory_not_equal(at_once, without_target, sizeof at_once);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < TOY_CLASSES; c++)
            assert_true(at_once[i * TOY_CLASSES + answers[i]] >= at_once[i * TOY_CLASSES + c]);
    engine->ops->close(engine);
}

/* Decoding runs token by token if the program supports it, else by passes over the whole sequence. */
static void test_decode_gives_the_answers_of_one_pass_over_them(void **state) {
    lh_cpu_program passes = toy_float;
    passes.decode_step = NULL;
    check_decode(&toy_float, true); /* token by token */
    check_decode(&passes, false);   /* by passes */
}

static void test_positions_of_a_query_belong_to_their_stream(void **state) {
    static const int32_t indices[] = {0, 1, 2, 3, 4, 5, 6}, reversed[] = {9, 8, 7, 6, 5, 4, 3};
    static const uint16_t input[] = {4, 0, 2, 1};
    lh_spec spec = lh_toy_make_pair(toy_float_list);
    lh_lengths lengths = {.first = N, .last = N, .step = 1};
    lh_error error;
    double expected[N * TOY_CLASSES], actual[N * TOY_CLASSES];
    lh_query query = {.n = N, .input = input, .draw = lh_make_condition(N, 1, 1, 0).draw};
    lh_engine *engine = open_engine(&spec, &toy_float, 1);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
    lh_assert_ok(engine->ops->predict(engine, &query, expected, &error), &error);
    query.positions[0] = reversed; /* the program reads positions of the second stream only */
    query.positions[1] = indices;
    lh_assert_ok(engine->ops->predict(engine, &query, actual, &error), &error);
    assert_memory_equal(actual, expected, sizeof actual);
    query.positions[1] = reversed;
    lh_assert_ok(engine->ops->predict(engine, &query, actual, &error), &error);
    assert_memory_not_equal(actual, expected, sizeof actual);
    engine->ops->close(engine);
}

static void test_input_lines_name_the_stream_of_a_list(void **state) {
    static const struct {
        const char *line, *message; /* message NULL: the line is valid */
    } cases[] = {
        {"{\"input\":[1,2],\"positions\":{\"source\":[3,4]}}", NULL},
        {"{\"input\":[1,2],\"positions\":{\"target\":[1,2,3,4,5],\"source\":[3,4]}}", NULL},
        {"{\"input\":[1,2],\"positions\":[3,4]}", "line 5: \"positions\" is not an object\n  expected: "
                                                  "{\"source\":[...],\"target\":[...]}, the model's streams"},
        {"{\"input\":[1,2],\"positions\":{\"memory\":[3,4]}}",
         "line 5: \"positions\": \"memory\" is no stream of the model\n  expected: \"source\" or \"target\""},
        {"{\"input\":[1,2],\"positions\":{\"target\":[3,4]}}",
         "line 5: 2 positions.target\n  expected: 5, one per token of the sequence"},
        {"{\"input\":[1,2],\"positions\":{\"source\":[3,64]}}", "positions.source[1] is not an integer from 0 to 63"},
        {"{\"input\":[1,2],\"distances\":{\"source\":[0,0]}}", "line 5: distances.source[1] is 0"},
        {"{\"input\":[1,2],\"output\":6}",
         "line 5: there is no \"output\"\n  expected: input, target, mask, positions, distances"},
        {"{\"input\":[1,2],\"position\":[3,4]}", "hint: did you mean \"positions\"?"},
        {"{\"input\":[1,2],\"distances\":{\"target\":[0,1,2,3,4]}}",
         "line 5: \"distances.target\" is given, but this encoding samples none"},
    };
    lh_spec spec = lh_toy_make_pair(NULL);
    spec.position_range[0] = spec.position_range[1] = spec.distance_range[0] = 64;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_input input;
        lh_error error = {""};
        lh_status status = lh_input_read_json(&input, &spec, 5, cases[i].line, LH_LINE_ONLY, &error);
        if (cases[i].message != NULL) lh_assert_error(status, LH_ERR_INPUT, &error, cases[i].message);
        else {
            lh_assert_ok(status, &error);
            lh_query query = lh_input_make_query(&input);
            assert_int_equal(query.positions[0][1], 4);
            assert_true((query.positions[1] != NULL) == (i == 1) && query.distances[0] == NULL);
        }
        lh_input_free(&input);
    }
}

/* A line may have a target; its length must be the number of outputs. */
static void test_input_lines_may_have_the_right_answer(void **state) {
    static const char line[] = "{\"input\":[4,0,2,1],\"target\":[0,1,2,1],\"mask\":[1,0,1,1]}";
    static const char *const invalid[][2] = {
        {"{\"input\":[4,0,2,1],\"target\":[0,1]}", "line 5: a target of 2 tokens\n  expected: 4"},
        {"{\"input\":[4,0,2,1],\"target\":7}", "line 5: \"target\" is not a list of tokens"},
        {"{\"input\":[4,0,2,1],\"target\":[0,1,2,9]}", "line 5: target[3] is 9"},
        {"{\"input\":[4,0,2,1],\"target\":[0,1,2,1],\"mask\":[1]}", "\"mask\" is not as long as \"target\""},
        {"{\"input\":[4,0,2,1],\"target\":[0,1,2,1],\"mask\":[1,2,1,1]}", "mask[1] is neither 0 nor 1"},
    };
    lh_spec spec = lh_toy_make_pair(NULL);
    lh_input input;
    lh_error error = {""};
    for (lh_answer_source source = LH_LINE_ONLY; source <= LH_LINE_OR_TASK; source++) {
        lh_assert_ok(lh_input_read_json(&input, &spec, 5, line, source, &error), &error);
        assert_int_equal(input.target_length, N);
        assert_true(input.target[2] == 2 && input.mask[0] == 1 && input.mask[1] == 0);
        lh_input_free(&input);
    }
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        lh_assert_error(lh_input_read_json(&input, &spec, 5, invalid[i][0], LH_LINE_OR_TASK, &error), LH_ERR_INPUT,
                        &error, invalid[i][1]);
        lh_input_free(&input);
    }
}

/* The function of a user's task that makes an example from a literal: the input repeats the literal's two symbols; the
 * target equals the input, but is invalid if the first symbol is 4. */
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

static void test_literals_are_solved_by_the_task(void **state) {
    lh_spec spec = lh_toy_make_pair(NULL);
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
                    "line 2: the task makes an invalid target");
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

static const lh_trace_tensor *find_tensor(const lh_traces *traces, const char *name) {
    for (int i = 0; i < traces->count; i++)
        if (strcmp(traces->tensors[i].name, name) == 0) return &traces->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void assert_shape(const lh_trace_tensor *t, int rank, const int64_t *shape) {
    assert_int_equal(t->file.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(t->file.shape[i], shape[i]);
}

static void test_trace_sites_are_as_long_as_their_streams(void **state) {
    enum { EXAMPLES = 2, T = N + 3 };
    lh_spec spec = lh_toy_make_pair(toy_double_list);
    lh_traces traces;
    lh_batch batch;
    lh_error error;
    lh_engine *engine = open_engine(&spec, &toy_double, 1);
    lh_trace_request request = {.kinds = {true, true, true, true},
                                .draws = 1,
                                .seed = 1,
                                .lengths = {.first = N, .last = N, .step = 1},
                                .examples = EXAMPLES};
    lh_assert_ok(lh_traces_open(&traces, engine, &request, &error), &error);
    lh_assert_ok(lh_traces_run(&traces, engine, &error), &error);
    assert_shape(find_tensor(&traces, "n4.tokens.source"), 2, (int64_t[]){EXAMPLES, N});
    assert_shape(find_tensor(&traces, "n4.source"), 3, (int64_t[]){EXAMPLES, N, TOY_WIDTH});
    assert_shape(find_tensor(&traces, "n4.target"), 3, (int64_t[]){EXAMPLES, T, TOY_WIDTH});
    const lh_trace_tensor *scores = find_tensor(&traces, "n4.cross.scores");
    assert_shape(scores, 4, (int64_t[]){EXAMPLES, TOY_PAIR_HEADS, T, N});
    for (int i = 0; i < EXAMPLES * TOY_PAIR_HEADS * T * N; i++)
        assert_true(lh_read_trace_element(scores, i) == i / N % T - i % N);
    double entropy = lh_read_trace_element(find_tensor(&traces, "n4.cross.entropy"), 1);
    assert_true(fabs(entropy - log(N)) < 1e-12);
    /* The trace has the evaluation's examples, and its target stream holds the target. */
    const lh_trace_tensor *tokens = find_tensor(&traces, "n4.tokens.target"),
                          *vectors = find_tensor(&traces, "n4.target");
    lh_condition condition = lh_make_condition(N, EXAMPLES, 1, 0);
    lh_assert_ok(lh_batch_open(&batch, &spec, N, EXAMPLES, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, &spec, &condition.source, N, 0, EXAMPLES, &error), &error);
    static double parameters[TOY_STORAGE];
    lh_initialise(&spec, 7, 8, parameters);
    for (int i = 0; i < EXAMPLES * T; i++) {
        assert_true(lh_read_trace_element(tokens, i) == batch.tokens[1][i]);
        assert_true(lh_read_trace_element(vectors, i * TOY_WIDTH) == parameters[TOY_WIDTH * batch.tokens[1][i]]);
    }
    lh_batch_close(&batch);
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

/* In the trace of a query without a target, the target stream has the model's own answers. */
static void test_trace_of_an_input_decodes(void **state) {
    static const uint16_t input[] = {4, 0, 2, 1};
    lh_spec spec = lh_toy_make_pair(toy_float_list);
    lh_lengths lengths = {.first = N, .last = N, .step = 1};
    lh_query query = {.n = N, .input = input, .draw = lh_make_condition(N, 1, 1, 0).draw};
    lh_traces traces;
    lh_error error;
    uint16_t answers[N];
    lh_engine *engine = open_engine(&spec, &toy_float, 1);
    static const uint16_t target[] = {1, 2, 0, 1};
    static const uint8_t mask[] = {1, 1, 0, 1};
    const lh_right_answer right = {target, mask};
    lh_trace_request request = {.kinds = {[LH_TRACE_ACTIVATIONS] = true},
                                .draws = 1,
                                .seed = 1,
                                .inputs = &query,
                                .right_answers = &right,
                                .input_count = 1};
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
    lh_assert_ok(lh_decode(engine, &query, 1, &(lh_answers){.answers = answers}, &error), &error);
    lh_assert_ok(lh_traces_open(&traces, engine, &request, &error), &error);
    lh_assert_ok(lh_traces_run(&traces, engine, &error), &error);
    const lh_trace_tensor *tokens = find_tensor(&traces, "n4.tokens.target"),
                          *vectors = find_tensor(&traces, "n4.target");
    static float parameters[TOY_STORAGE];
    lh_initialise(&spec, 7, 4, parameters);
    assert_true(lh_read_trace_element(tokens, 0) == TOY_START);
    for (int i = 0; i < N; i++) {
        assert_true(lh_read_trace_element(tokens, 1 + i) == answers[i]);
        assert_true(lh_read_trace_element(vectors, (1 + i) * TOY_WIDTH) == parameters[TOY_WIDTH * answers[i]]);
    }
    assert_true(answers[0] + answers[1] + answers[2] + answers[3] > 0);
    /* The trace has the model's answers, and the right answers for counted labels. */
    const lh_trace_tensor *written = find_tensor(&traces, "n4.answers"), *targets = find_tensor(&traces, "n4.targets");
    assert_string_equal(written->file.dtype, "I32");
    for (int i = 0; i < N; i++) {
        assert_true(lh_read_trace_element(written, i) == answers[i]);
        assert_true(lh_read_trace_element(targets, i) == (mask[i] ? target[i] : -1));
    }
    lh_traces_close(&traces);
    request.right_answers = NULL;
    lh_assert_ok(lh_traces_open(&traces, engine, &request, &error), &error);
    assert_null(lh_traces_find(&traces, &traces.groups[0], LH_TRACE_TARGETS));
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predict_with_the_target_is_the_evaluation_of_the_example),
        cmocka_unit_test(test_decode_gives_the_answers_of_one_pass_over_them),
        cmocka_unit_test(test_positions_of_a_query_belong_to_their_stream),
        cmocka_unit_test(test_input_lines_name_the_stream_of_a_list),
        cmocka_unit_test(test_input_lines_may_have_the_right_answer),
        cmocka_unit_test(test_literals_are_solved_by_the_task),
        cmocka_unit_test(test_trace_sites_are_as_long_as_their_streams),
        cmocka_unit_test(test_trace_of_an_input_decodes),
    };
    return cmocka_run_group_tests_name("stream predictions", tests, NULL, NULL);
}
