/* The tensors that eval/trace.c makes from the traces of generated trainers (tests/specs/parity_*.lua). */
#include "support/lh_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu_level.h"
#include "eval/trace.h"
#include "support/lh_engines.h"

extern const lh_spec longhand_spec_parity_none, longhand_spec_parity_sincos, longhand_spec_parity_rand_rope,
    longhand_spec_parity_float64_rand_learned, longhand_spec_parity_float64_tables,
    longhand_spec_parity_float64_passes_by_length;

enum { LAYERS = 2, HEADS = 2, WIDTH = 16, EXAMPLES = 3, DRAWS = 2 };

/* The tolerance for values that are rounded to the engine's precision. */
static double get_rounding(const lh_engine *engine) { return engine->real_bytes == 8 ? 4e-15 : 1e-6; }

static lh_engine *open_engine(const lh_spec *spec, int threads) {
    const lh_cpu_program *program;
    lh_error error = {""};
    lh_assert_ok(lh_level_choose(spec->cpu, &program, &error), &error);
    return lh_test_open_engine((lh_engine_config){.spec = spec, .seed = 3, .threads = threads}, program);
}

static void test_entropy_of_known_rows_is_known(void **state) {
    const double rows[] = {0.5, 0.5, 0, 0, 0.25, 0.25, 0.25, 0.25};
    const float weight = 1;
    double expected = (log(2) + log(4)) / 2, actual = lh_compute_entropy(rows, 8, 2, 4);
    lh_assert_close(&actual, &expected, 1, 1e-15, 0);
    assert_true(lh_compute_entropy(&weight, 4, 1, 1) == 0);
}

/* The first three queries have a causal mask: query i sees i + 1 keys. The fourth query sees no key. */
static void test_uniform_entropy_counts_the_keys_that_a_query_sees(void **state) {
    const double no = -INFINITY, causal[] = {2, no, no, 0, -1e300, no, 1, 5, -3, no, no, no};
    const float full[] = {1, 0, -1, 0, 4, 3, 2, 1};
    double actual[] = {lh_compute_uniform_entropy(causal, 8, 3, 3), lh_compute_uniform_entropy(causal, 8, 4, 3),
                       lh_compute_uniform_entropy(full, 4, 2, 4)};
    double expected[] = {(log(2) + log(3)) / 3, (log(2) + log(3)) / 4, log(4)};
    lh_assert_close(actual, expected, 3, 1e-15, 0);
}

static lh_trace_request request_all(int first, int last) {
    lh_trace_request request = {
        .draws = DRAWS, .seed = 5, .lengths = {.first = first, .last = last, .step = 1}, .examples = EXAMPLES};
    for (int kind = 0; kind < LH_TRACE_TOKENS; kind++) request.kinds[kind] = true;
    return request;
}

static lh_traces run_traces(lh_engine *engine, const lh_trace_request *request) {
    lh_error error = {""};
    lh_traces traces;
    lh_assert_ok(lh_traces_open(&traces, engine, request, &error), &error);
    lh_assert_ok(lh_traces_run(&traces, engine, &error), &error);
    return traces;
}

static const lh_trace_tensor *find_tensor(const lh_traces *traces, const char *name) {
    for (int i = 0; i < traces->count; i++)
        if (strcmp(traces->tensors[i].name, name) == 0) return &traces->tensors[i];
    fail_msg("there is no tensor %s", name);
    return NULL;
}

static void check_shape(const lh_trace_tensor *t, int rank, const int64_t *shape) {
    assert_int_equal(t->file.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(t->file.shape[i], shape[i]);
}

static void test_shapes_of_traces_are_draws_examples_heads_tokens(void **state) {
    lh_engine *engine = open_engine(&longhand_spec_parity_rand_rope, 1);
    lh_trace_request request = request_all(4, 5);
    lh_traces traces = run_traces(engine, &request);
    assert_int_equal(traces.count, 2 * (1 + 1 + LAYERS * 4));
    assert_int_equal(traces.passes, 2 * EXAMPLES * DRAWS);
    check_shape(find_tensor(&traces, "n4.tokens"), 2, (const int64_t[]){EXAMPLES, 8});
    check_shape(find_tensor(&traces, "n5.embedding"), 4, (const int64_t[]){DRAWS, EXAMPLES, 10, WIDTH});
    check_shape(find_tensor(&traces, "n5.layers.1.output"), 4, (const int64_t[]){DRAWS, EXAMPLES, 10, WIDTH});
    check_shape(find_tensor(&traces, "n4.layers.0.scores"), 5, (const int64_t[]){DRAWS, EXAMPLES, HEADS, 8, 8});
    check_shape(find_tensor(&traces, "n4.layers.0.attention"), 5, (const int64_t[]){DRAWS, EXAMPLES, HEADS, 8, 8});
    check_shape(find_tensor(&traces, "n4.layers.1.entropy"), 1, (const int64_t[]){HEADS});
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

/* The averaged trace `mean` must be the mean of the full trace over passes. `entropy` must be the mean entropy of
 * the rows of the full trace. */
static void check_means(const lh_engine *engine, const lh_trace_tensor *full, const lh_trace_tensor *mean,
                        const lh_trace_tensor *entropy) {
    int64_t passes = EXAMPLES * DRAWS, pairs = full->elements / HEADS;
    const double zero = 0;
    for (int64_t i = 0; i < mean->elements; i++) {
        double sum = 0, difference;
        for (int64_t p = 0; p < passes; p++) sum += lh_read_trace_element(full, p * full->elements + i);
        difference = lh_read_trace_element(mean, i) - sum / (double)passes;
        lh_assert_close(&difference, &zero, 1, 0, get_rounding(engine));
    }
    for (int h = 0; h < HEADS; h++) {
        double sum = 0, actual = lh_read_trace_element(entropy, h);
        for (int64_t p = 0; p < passes; p++)
            for (int64_t i = 0; i < pairs; i++) {
                double weight = lh_read_trace_element(full, p * full->elements + h * pairs + i);
                sum -= weight * log(weight);
            }
        sum /= (double)(passes * full->file.shape[full->file.rank - 1]);
        lh_assert_close(&actual, &sum, 1, get_rounding(engine), 0);
    }
}

static void test_averaged_traces_are_means_of_stored_values(void **state) {
    const lh_spec *const specs[] = {&longhand_spec_parity_rand_rope, &longhand_spec_parity_float64_rand_learned};
    for (int i = 0; i < 2; i++) { /* a float model and a double one, both with random positions */
        lh_engine *engine = open_engine(specs[i], 1);
        lh_trace_request request = request_all(6, 6);
        lh_traces full = run_traces(engine, &request);
        request.is_averaged = true;
        lh_traces mean = run_traces(engine, &request);
        assert_int_equal(mean.count, full.count - 1);
        assert_true(mean.bytes < full.bytes);
        check_means(engine, find_tensor(&full, "n6.layers.1.attention"), find_tensor(&mean, "n6.layers.1.attention"),
                    find_tensor(&mean, "n6.layers.1.entropy"));
        const lh_trace_tensor *attention = find_tensor(&full, "n6.layers.1.attention"); /* the draws must differ */
        assert_memory_not_equal(attention->data, (char *)attention->data + attention->file.bytes / DRAWS,
                                attention->file.bytes / DRAWS);
        lh_traces_close(&full);
        lh_traces_close(&mean);
        engine->ops->close(engine);
    }
}

static void test_traces_are_equal_for_any_number_of_threads(void **state) {
    lh_engine *one_thread = open_engine(&longhand_spec_parity_rand_rope, 1);
    lh_engine *three_threads = open_engine(&longhand_spec_parity_rand_rope, 3);
    lh_trace_request request = request_all(5, 7);
    lh_traces a = run_traces(one_thread, &request), b = run_traces(three_threads, &request);
    for (int i = 0; i < a.count; i++)
        assert_memory_equal(a.tensors[i].data, b.tensors[i].data, a.tensors[i].file.bytes);
    lh_traces_close(&a);
    lh_traces_close(&b);
    one_thread->ops->close(one_thread);
    three_threads->ops->close(three_threads);
}

/* A user's inputs of different lengths are grouped by length, in their order. */
static void test_inputs_of_traces_are_grouped_by_length(void **state) {
    lh_engine *engine = open_engine(&longhand_spec_parity_sincos, 1);
    uint16_t input[3][4] = {{1, 2, 3, 4}, {4, 0}, {0, 1, 1, 0}};
    const lh_query queries[3] = {{.n = 4, .input = input[0]}, {.n = 2, .input = input[1]}, {.n = 4, .input = input[2]}};
    lh_trace_request request = request_all(1, 1);
    request.inputs = queries;
    request.input_count = 3;
    lh_traces traces = run_traces(engine, &request);
    check_shape(find_tensor(&traces, "n4.tokens"), 2, (const int64_t[]){2, 8});
    check_shape(find_tensor(&traces, "n2.layers.0.attention"), 4, (const int64_t[]){1, HEADS, 4, 4});
    check_shape(find_tensor(&traces, "n4.answers"), 2, (const int64_t[]){2, 4});
    for (int i = 0; i < 4; i++) {
        assert_int_equal(lh_read_trace_element(find_tensor(&traces, "n4.tokens"), i), input[0][i]);
        assert_int_equal(lh_read_trace_element(find_tensor(&traces, "n4.tokens"), 8 + i), input[2][i]);
    }
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

/* The entropy of uniform attention over T tokens; is_causal: query i has i + 1 keys. */
static double compute_uniform_entropy(int T, bool is_causal) {
    double sum = 0;
    for (int i = 1; i <= T; i++) sum += log(is_causal ? i : T);
    return sum / T;
}

/* With all weights zero, attention is uniform over the keys that a query sees. */
static void check_uniform_attention(const lh_spec *spec, bool is_causal) {
    lh_engine *engine = open_engine(spec, 1);
    lh_error error = {""};
    lh_state zeros;
    lh_assert_ok(lh_state_open(&zeros, engine, false, &error), &error);
    lh_assert_ok(engine->ops->write_state(engine, &zeros, 0, &error), &error);
    lh_state_close(&zeros);
    lh_trace_request request = request_all(1, 18);
    lh_traces traces = run_traces(engine, &request);
    for (int n = 1; n <= 18; n++) {
        char name[40];
        double expected = compute_uniform_entropy(2 * n, is_causal);
        snprintf(name, sizeof name, "n%d.layers.1.entropy", n);
        const lh_trace_tensor *entropy = find_tensor(&traces, name);
        for (int h = 0; h < HEADS; h++) {
            double actual = lh_read_trace_element(entropy, h);
            lh_assert_close(&actual, &expected, 1, 0, 1e-6);
        }
        lh_assert_close(&entropy->uniform_entropy, &expected, 1, 0, 1e-14);
    }
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

static void test_entropy_of_uniform_attention_is_the_mean_of_log_keys(void **state) {
    check_uniform_attention(&longhand_spec_parity_none, false);
    check_uniform_attention(&longhand_spec_parity_float64_tables, true);
}

/* If the number of passes is the task length, the trace of a length has the sites of all its passes. The traces of the
 * first two passes equal the traces of a spec with two passes. */
static void test_traces_have_the_sites_of_all_passes_by_the_length(void **state) {
    static const lh_trace_site two_passes[] = {{.name = "embedding", .channels = WIDTH},
                                               {.name = "layers.0", .heads = HEADS},
                                               {.name = "layers.0.output", .channels = WIDTH},
                                               {.name = "layers.1", .heads = HEADS},
                                               {.name = "layers.1.output", .channels = WIDTH}};
    lh_spec spec = longhand_spec_parity_float64_passes_by_length, with_two_passes = spec;
    with_two_passes.passes_by_length = false;
    with_two_passes.passes = 2;
    with_two_passes.sites = two_passes;
    with_two_passes.site_count = 5;
    with_two_passes.pass_sites = 0;
    lh_engine *engine = open_engine(&spec, 1), *other_engine = open_engine(&with_two_passes, 1);
    lh_trace_request request = request_all(2, 12); /* longer than in training */
    request.lengths.step = 10;
    lh_traces traces = run_traces(engine, &request), expected = run_traces(other_engine, &request);
    int short_tensors = 0; /* tensors of length 2 */
    for (int i = 0; i < expected.count; i++) {
        const lh_trace_tensor *t = find_tensor(&traces, expected.tensors[i].name);
        assert_int_equal(t->file.bytes, expected.tensors[i].file.bytes);
        assert_memory_equal(t->data, expected.tensors[i].data, t->file.bytes);
        short_tensors += expected.tensors[i].n == 2;
    }
    assert_int_equal(traces.count, expected.count + 10 * 4); /* ten more passes with four kinds of values */
    assert_int_equal(traces.groups[0].tensors, short_tensors);
    check_shape(find_tensor(&traces, "n12.layers.11.scores"), 5, (const int64_t[]){DRAWS, EXAMPLES, HEADS, 24, 24});
    const lh_trace_tensor *output = find_tensor(&traces, "n12.layers.11.output");
    assert_memory_not_equal(output->data, find_tensor(&traces, "n12.layers.10.output")->data, output->file.bytes);
    lh_traces_close(&traces);
    lh_traces_close(&expected);
    engine->ops->close(engine);
    other_engine->ops->close(other_engine);
}

static void test_traces_open_refuses_requests_that_do_not_fit(void **state) {
    lh_engine *engine = open_engine(&longhand_spec_parity_rand_rope, 1);
    int32_t repeated[2] = {5, 5};
    lh_trace_request request = request_all(33, 33); /* 66 tokens, positions from 0 to 63 */
    lh_traces traces;
    lh_error error = {""};
    lh_assert_error(lh_traces_open(&traces, engine, &request, &error), LH_ERR_INPUT, &error, "max_position");
    lh_traces_close(&traces);
    request.lengths = (lh_lengths){.list = repeated, .count = 2};
    lh_assert_error(lh_traces_open(&traces, engine, &request, &error), LH_ERR_INPUT, &error, "--lengths: 5 is given");
    lh_traces_close(&traces);
    request = request_all(32, 32);
    request.examples = 100000000;
    request.draws = 1000000;
    lh_assert_error(lh_traces_open(&traces, engine, &request, &error), LH_ERR_ENVIRONMENT, &error, "MB are available");
    lh_traces_close(&traces);
    engine->ops->close(engine);
    lh_spec earlier = longhand_spec_parity_float64_passes_by_length;
    earlier.pass_sites = 0; /* as in a trainer of an earlier version */
    engine = open_engine(&earlier, 1);
    request = request_all(2, 2);
    lh_assert_error(lh_traces_open(&traces, engine, &request, &error), LH_ERR_STALE, &error, "run: ./longhand build");
    lh_traces_close(&traces);
    engine->ops->close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entropy_of_known_rows_is_known),
        cmocka_unit_test(test_uniform_entropy_counts_the_keys_that_a_query_sees),
        cmocka_unit_test(test_shapes_of_traces_are_draws_examples_heads_tokens),
        cmocka_unit_test(test_averaged_traces_are_means_of_stored_values),
        cmocka_unit_test(test_traces_are_equal_for_any_number_of_threads),
        cmocka_unit_test(test_inputs_of_traces_are_grouped_by_length),
        cmocka_unit_test(test_entropy_of_uniform_attention_is_the_mean_of_log_keys),
        cmocka_unit_test(test_traces_have_the_sites_of_all_passes_by_the_length),
        cmocka_unit_test(test_traces_open_refuses_requests_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("traces", tests, NULL, NULL);
}
