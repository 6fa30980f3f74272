/* Traces of generated trainers (tests/specs/parity_*.lua): compared with kernels/ref and with predictions of the
 * same trainers. test_traces.c tests the tensors that eval/trace.c makes from traces. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_level.h"
#include "base/real.h"
#include "eval/trace.h"
#include "support/lh_engines.h"
#include "support/lh_parity.h"

extern const lh_spec longhand_spec_parity_none, longhand_spec_parity_sincos, longhand_spec_parity_learned,
    longhand_spec_parity_rope, longhand_spec_parity_rand_sincos, longhand_spec_parity_rand_learned,
    longhand_spec_parity_rand_rope, longhand_spec_parity_dropout_rand_rope, longhand_spec_parity_float64_rope,
    longhand_spec_parity_float64_rand_learned, longhand_spec_parity_relative, longhand_spec_parity_rand_relative,
    longhand_spec_parity_rand_relative_clamped, longhand_spec_parity_rand_relative_difference,
    longhand_spec_parity_shaw, longhand_spec_parity_float64_relative,
    longhand_spec_parity_float64_rand_relative_difference;
extern const lh_spec longhand_spec_parity_float64_geometric, longhand_spec_parity_geometric_raw,
    longhand_spec_parity_geometric_plain;
extern const lh_spec longhand_spec_parity_float64_fox, longhand_spec_parity_float64_grape,
    longhand_spec_parity_float64_cope, longhand_spec_parity_float64_row_sums,
    longhand_spec_parity_float64_stick_breaking;

static const lh_parity_case CASES[] = {
    {"none", &longhand_spec_parity_none},
    {"sincos", &longhand_spec_parity_sincos},
    {"learned", &longhand_spec_parity_learned},
    {"rope", &longhand_spec_parity_rope},
    {"rand_sincos", &longhand_spec_parity_rand_sincos},
    {"rand_learned", &longhand_spec_parity_rand_learned},
    {"rand_rope", &longhand_spec_parity_rand_rope},
    {"rand_rope", &longhand_spec_parity_dropout_rand_rope},
    {"rope", &longhand_spec_parity_float64_rope},
    {"rand_learned", &longhand_spec_parity_float64_rand_learned},
    {"relative", &longhand_spec_parity_relative},
    {"rand_relative", &longhand_spec_parity_rand_relative},
    {"rand_relative_clamped", &longhand_spec_parity_rand_relative_clamped},
    {"rand_relative_difference", &longhand_spec_parity_rand_relative_difference},
    {"shaw", &longhand_spec_parity_shaw},
    {"relative", &longhand_spec_parity_float64_relative},
    {"rand_relative_difference", &longhand_spec_parity_float64_rand_relative_difference},
    {"geometric", &longhand_spec_parity_float64_geometric},
    {"geometric_raw", &longhand_spec_parity_geometric_raw},
    {"geometric_plain", &longhand_spec_parity_geometric_plain},
};
enum {
    CASE_COUNT = sizeof CASES / sizeof *CASES,
    LAYERS = 2,
    HEADS = 2,
    WIDTH = 16,
    SITES = 1 + 2 * LAYERS,
    MAX_TOKENS = 37
};

/* The tolerance, relative to the largest element of a tensor, as in test_parity.c. Programs may compute exp in another
 * way than kernels/ref. */
static double get_tolerance(const lh_engine *engine) { return engine->real_bytes == 8 ? 4e-14 : 4e-6; }

/* The tolerance for attention compared with the softmax of the traced scores, and for sums of rows compared with 1. */
static double get_rounding(const lh_engine *engine) { return engine->real_bytes == 8 ? 4e-15 : 1e-6; }

/* ---- a model and its buffers ---- */

/* Opens an engine with the weights of a model. */
static lh_engine *open_model(const lh_spec *spec, const lh_cpu_program *program, const lh_ref_model *model) {
    lh_engine *engine = lh_test_open_engine((lh_engine_config){.spec = spec, .threads = 1}, program);
    lh_state state = lh_test_copy_state(engine);
    lh_parity_write_parameters(spec, program->real_bytes, model, state.parameters);
    engine->ops->write_state(engine, &state, 0, NULL);
    lh_state_close(&state);
    return engine;
}

/* Opens an engine whose weights are the stored test values of a case. */
static lh_engine *open_engine(const lh_parity_case *c, const lh_cpu_program *program) {
    lh_ref_model *model = lh_parity_open_model(c);
    lh_engine *engine = open_model(c->spec, program, model);
    lh_ref_model_free(model);
    return engine;
}

static void reserve_length(lh_engine *engine, int n) {
    lh_error error = {""};
    lh_lengths lengths = {.first = n, .last = n, .step = 1};
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
}

/* Allocates buffers for all values of one sequence of T tokens. Sites alternate: even ones have an activation, odd ones
 * scores and attention. */
static void open_buffers(const lh_engine *engine, int T, lh_trace *to) {
    size_t real = (size_t)engine->real_bytes, tokens = (size_t)T;
    assert_int_equal(engine->spec->site_count, SITES);
    for (int site = 0; site < SITES; site++) {
        const lh_trace_site *s = &engine->spec->sites[site];
        to[site] = (lh_trace){0};
        assert_int_equal(s->channels, site % 2 == 0 ? WIDTH : 0);
        assert_int_equal(s->heads, site % 2 == 0 ? 0 : HEADS);
        if (s->channels > 0) to[site].activation = lh_parity_reserve(tokens * WIDTH * real);
        else {
            to[site].scores = lh_parity_reserve(HEADS * tokens * tokens * real);
            to[site].attention = lh_parity_reserve(HEADS * tokens * tokens * real);
        }
    }
}

static void close_buffers(lh_trace *to) {
    for (int site = 0; site < SITES; site++) {
        free(to[site].activation);
        free(to[site].scores);
        free(to[site].attention);
    }
}

/* Calls check for every case and every level of this machine. */
static void for_each_engine(void (*check)(const lh_parity_case *, lh_engine *)) {
    for (int i = 0; i < CASE_COUNT; i++)
        for (const lh_cpu_program *const *program = CASES[i].spec->cpu; *program; program++) {
            if (!lh_level_is_supported((*program)->level)) continue;
            print_message("           %s on %s\n", CASES[i].spec->id, (*program)->level);
            lh_engine *engine = open_engine(&CASES[i], *program);
            check(&CASES[i], engine);
            engine->ops->close(engine);
        }
}

/* ---- comparisons of values ---- */

static double *to_doubles(const lh_engine *engine, const void *array, size_t count) {
    return lh_parity_to_doubles(array, engine->real_bytes, count);
}

static void check_tensor(const lh_engine *engine, const void *actual, const double *expected, size_t count) {
    lh_parity_check_values(engine->real_bytes, actual, expected, count, get_tolerance(engine));
}

/* Compares scores. Where the expected score is -infinity, the actual score must be -infinity, too. */
static void check_scores(const lh_engine *engine, void *actual, double *expected, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (expected[i] != -INFINITY) continue;
        assert_true(lh_real_read(actual, engine->real_bytes, (int64_t)i) == -INFINITY);
        expected[i] = 0;
        lh_parity_write(actual, engine->real_bytes, i, 0);
    }
    check_tensor(engine, actual, expected, count);
}

/* Every row of attention must equal the geometric weights that kernels/ref computes from the same scores. */
static void check_geometric(const lh_engine *engine, int T, const lh_trace *to, bool is_normalised) {
    size_t count = (size_t)HEADS * (size_t)T * (size_t)T;
    double *scores = to_doubles(engine, to->scores, count), *expected = lh_parity_reserve(count * sizeof *expected);
    for (int row = 0; row < HEADS * T; row++) {
        double *weight = expected + (size_t)row * (size_t)T;
        double total = lh_ref_geometric_row(T, row % T, scores + (size_t)row * (size_t)T, weight);
        for (int j = 0; j < T && is_normalised && total > 0; j++) weight[j] /= total;
    }
    check_tensor(engine, to->attention, expected, count);
    free(scores);
    free(expected);
}

/* Checks that every row of attention sums to 1 and is the softmax of its row of scores. */
static void check_softmax(const lh_engine *engine, int T, const lh_trace *to) {
    size_t count = (size_t)HEADS * (size_t)T * (size_t)T;
    double *scores = to_doubles(engine, to->scores, count), *attention = to_doubles(engine, to->attention, count);
    for (size_t row = 0; row < count; row += (size_t)T) {
        double max_score = scores[row], sum = 0, total = 0;
        const double expected_total = 1;
        for (int j = 0; j < T; j++) max_score = fmax(max_score, scores[row + (size_t)j]);
        for (int j = 0; j < T; j++) {
            scores[row + (size_t)j] = exp(scores[row + (size_t)j] - max_score);
            sum += scores[row + (size_t)j];
            total += attention[row + (size_t)j];
        }
        for (int j = 0; j < T; j++) scores[row + (size_t)j] /= sum;
        lh_assert_close(&total, &expected_total, 1, 0, get_rounding(engine));
    }
    lh_assert_close(attention, scores, count, get_rounding(engine), 0);
    free(scores);
    free(attention);
}

/* ---- one pass ---- */

/* The trace of one sequence, and the kind of its attention. */
typedef struct observed_trace {
    const lh_engine *engine;
    const lh_trace *to; /* [site] */
    int tokens;
    int layers; /* number of layers that have been compared with the reference */
    bool is_geometric, is_normalised, breaks_stick;
} observed_trace;

static void check_layer(void *context, int sequence, int layer, const lh_ref_layer_values *values) {
    observed_trace *o = context;
    const lh_trace *site = &o->to[2 * layer]; /* the layer's input, its attention, its output */
    size_t activations = (size_t)o->tokens * WIDTH, pairs = (size_t)o->tokens * (size_t)o->tokens * HEADS;
    assert_int_equal(sequence, 0);
    check_tensor(o->engine, site[0].activation, values->input, activations);
    double *expected_scores = lh_parity_reserve(pairs * sizeof *expected_scores);
    if (o->is_geometric) check_geometric(o->engine, o->tokens, &site[1], o->is_normalised);
    else if (!o->breaks_stick) check_softmax(o->engine, o->tokens, &site[1]);
    check_tensor(o->engine, site[1].attention, values->attention, pairs);
    memcpy(expected_scores, values->scores, pairs * sizeof *expected_scores);
    check_scores(o->engine, site[1].scores, expected_scores, pairs);
    free(expected_scores);
    check_tensor(o->engine, site[2].activation, values->output, activations);
    o->layers++;
}

/* Compares sequence s of a stored batch in the trainer and in the reference. */
static void check_sequence(const lh_parity_case *c, lh_engine *engine, lh_ref_model *model,
                           const lh_vectors_case *stored, int s) {
    const lh_ref_batch *batch = &stored->batch;
    int T = batch->tokens, n = stored->input_length;
    size_t count = (size_t)(batch->labels * c->spec->classes);
    lh_trace to[SITES];
    double *traced = lh_parity_reserve(count * sizeof *traced),
           *predicted = lh_parity_reserve(count * sizeof *predicted);
    lh_query query = {.n = n,
                      .input = stored->input + s * n,
                      .positions = {c->spec->position_range[0] > 0 ? batch->positions : NULL},
                      .distances = {stored->sampled_distances}};
    open_buffers(engine, T, to);
    engine->ops->trace(engine, &query, to, traced, NULL);
    engine->ops->predict(engine, &query, predicted, NULL);
    assert_memory_equal(traced, predicted, count * sizeof *traced);
    free(traced);
    free(predicted);

    const lh_ref_family *family = model->network->families;
    observed_trace o = {.engine = engine,
                        .to = to,
                        .tokens = T,
                        .is_geometric = family->is_geometric,
                        .is_normalised = family->normalised,
                        .breaks_stick = family->breaks_stick};
    lh_ref_observer observer = {check_layer, &o};
    lh_ref_batch sequence = *batch;
    sequence.sequences = 1;
    sequence.token = batch->token + s * T;
    sequence.label = batch->label + s * batch->labels;
    sequence.backward = false;
    sequence.observer = &observer;
    lh_ref_run(model, &sequence, NULL);
    assert_int_equal(o.layers, LAYERS);
    close_buffers(to);
}

static void check_stored(const lh_parity_case *c, lh_engine *engine) {
    lh_st_file *file = lh_vectors_open(c->vectors);
    lh_ref_model *model = lh_vectors_make_model(file, lh_network_get(c->spec->id));
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    for (int i = 0; i < LH_VECTORS_LENGTHS; i++) {
        lh_vectors_case stored = lh_vectors_read_case(file, facts.length[i]);
        reserve_length(engine, facts.length[i]);
        for (int s = 0; s < stored.batch.sequences; s++) check_sequence(c, engine, model, &stored, s);
        lh_vectors_case_free(&stored);
    }
    lh_ref_model_free(model);
    lh_st_free(file);
}

static void test_traces_of_stored_batches_match_reference_and_prediction(void **state) {
    for_each_engine(check_stored);
}

/* The arguments that a program's own functions need, without an engine around them. */
typedef struct bare_program {
    const lh_cpu_program *program;
    lh_state state;
    void *tables, *workspace;
    lh_cpu_step step;
    int32_t positions[MAX_TOKENS];
} bare_program;

static void open_bare_program(bare_program *b, lh_engine *engine, const lh_cpu_program *program, int T) {
    lh_error error = {""};
    lh_shape shape = {.sequences = 2, .length = {T}, .labels = 1};
    *b = (bare_program){.program = program};
    for (int t = 0; t < T; t++) b->positions[t] = t;
    lh_assert_ok(lh_state_open(&b->state, engine, false, &error), &error);
    engine->ops->read_state(engine, &b->state, NULL);
    b->tables = lh_parity_reserve(program->tables_bytes ? program->tables_bytes(shape.length) : 1);
    if (program->make_tables) program->make_tables(b->tables, shape.length);
    b->workspace = lh_parity_reserve(program->workspace_bytes(&shape, LH_MODE_EVALUATE));
    b->step = (lh_cpu_step){.mode = LH_MODE_EVALUATE,
                            .shape = shape,
                            .positions = {b->positions},
                            .distances = {b->positions},
                            .parameters = b->state.parameters,
                            .tables = b->tables,
                            .shared = lh_parity_reserve(program->shared_bytes(&shape))};
    program->begin_step(&b->step, 0, 1);
}

static void close_bare_program(bare_program *b) {
    lh_state_close(&b->state);
    free(b->tables);
    free(b->workspace);
    free(b->step.shared);
}

/* Traces one block of sequences with one label each. */
static void trace_tokens(bare_program *b, const uint16_t *tokens, int sequences, const lh_trace *to) {
    static const uint16_t labels[2] = {0, 0};
    static const uint8_t mask[2] = {1, 1};
    lh_sums sums = {0};
    lh_cpu_block block = {.sequences = sequences, .tokens = {tokens}, .labels = labels, .mask = mask, .loss_scale = 1};
    b->program->trace_block(&b->step, &block, b->workspace, to, &sums);
}

/* Compares the trace of one sequence with kernels/ref. The model is a decoder with random weights. */
static void check_decoder(lh_engine *engine, const lh_cpu_program *program, lh_ref_model *model) {
    enum { TOKENS = 21 };
    lh_parity_case c = lh_parity_make_random_case(engine->spec);
    lh_parity_batch data;
    lh_trace to[SITES];
    observed_trace o = {
        .engine = engine, .to = to, .tokens = TOKENS, .breaks_stick = model->network->families->breaks_stick};
    lh_ref_observer observer = {check_layer, &o};
    bare_program b;
    lh_parity_make_batch(&c, (lh_parity_size){TOKENS, 1, 0}, 0, &data);
    lh_parity_make_evaluation(engine->spec, &data.batch);
    data.batch.sequences = 1;
    data.batch.observer = &observer;
    open_buffers(engine, TOKENS, to);
    open_bare_program(&b, engine, program, TOKENS);
    trace_tokens(&b, data.token, 1, to);
    lh_ref_run(model, &data.batch, NULL);
    assert_int_equal(o.layers, LAYERS);
    close_bare_program(&b);
    close_buffers(to);
}

static void check_spec(const lh_spec *spec) {
    for (const lh_cpu_program *const *program = spec->cpu; *program; program++) {
        if (!lh_level_is_supported((*program)->level)) continue;
        lh_ref_model *model = lh_parity_make_random_model(spec);
        lh_engine *engine = open_model(spec, *program, model);
        check_decoder(engine, *program, model);
        engine->ops->close(engine);
        lh_ref_model_free(model);
    }
}

static void test_trace_of_running_sums_matches_reference(void **state) {
    check_spec(&longhand_spec_parity_float64_fox);
}

static void test_trace_of_gates_of_tokens_matches_reference(void **state) {
    check_spec(&longhand_spec_parity_float64_grape);
}

static void test_trace_of_counts_matches_reference(void **state) { check_spec(&longhand_spec_parity_float64_cope); }

static void test_trace_of_sums_over_keys_matches_reference(void **state) {
    check_spec(&longhand_spec_parity_float64_row_sums);
}

static void test_trace_of_sticks_matches_reference(void **state) {
    check_spec(&longhand_spec_parity_float64_stick_breaking);
}

/* Traces only the attention of layer 1 (site 3). Two sequences in one block must have the same attention as each of
 * them alone. */
static void check_block(lh_engine *engine, const lh_cpu_program *program, int T) {
    bare_program b;
    uint16_t tokens[2 * MAX_TOKENS];
    size_t bytes = (size_t)(T * T * HEADS * program->real_bytes);
    lh_trace batch_traces[SITES] = {{0}}, single_traces[SITES] = {{0}};
    for (int i = 0; i < 2 * T; i++) tokens[i] = (uint16_t)(i * 7 % 5);
    batch_traces[3].attention = lh_parity_reserve(2 * bytes);
    single_traces[3].attention = lh_parity_reserve(bytes);
    open_bare_program(&b, engine, program, T);
    trace_tokens(&b, tokens, 2, batch_traces);
    for (int s = 0; s < 2; s++) {
        trace_tokens(&b, tokens + s * T, 1, single_traces);
        assert_memory_equal((char *)batch_traces[3].attention + (size_t)s * bytes, single_traces[3].attention, bytes);
        double entropy = lh_compute_entropy(single_traces[3].attention, program->real_bytes, HEADS * T, T);
        assert_true(T == 1 ? entropy == 0 : entropy > 0 && entropy < log(T) + 1e-6);
    }
    close_bare_program(&b);
    free(batch_traces[3].attention);
    free(single_traces[3].attention);
}

static void check_blocks(const lh_parity_case *c, lh_engine *engine) {
    for (const lh_cpu_program *const *program = c->spec->cpu; *program; program++)
        if (strcmp((*program)->level, engine->level) == 0) {
            check_block(engine, *program, 1);
            check_block(engine, *program, MAX_TOKENS);
        }
}

static void test_trace_of_two_sequences_has_the_bits_of_each_alone(void **state) { for_each_engine(check_blocks); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traces_of_stored_batches_match_reference_and_prediction),
        cmocka_unit_test(test_trace_of_running_sums_matches_reference),
        cmocka_unit_test(test_trace_of_gates_of_tokens_matches_reference),
        cmocka_unit_test(test_trace_of_counts_matches_reference),
        cmocka_unit_test(test_trace_of_sums_over_keys_matches_reference),
        cmocka_unit_test(test_trace_of_sticks_matches_reference),
        cmocka_unit_test(test_trace_of_two_sequences_has_the_bits_of_each_alone),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
