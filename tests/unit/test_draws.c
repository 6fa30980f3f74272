/* Generated trainers with less usual positions or distances (tests/specs/parity_float64_*.lua):
 *   labels   each sequence samples its own positions
 *   digits   positions depend on tokens
 *   sides    distances to earlier and to later keys are sampled separately
 * Results are compared with kernels/ref. Samples for a device are compared with longhand/positions.h. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "data/initialise.h"
#include "longhand/positions.h"
#include "support/lh_engines.h"
#include "support/lh_trainer.h"

extern const lh_spec longhand_spec_parity_float64_digits, longhand_spec_parity_float64_labels,
    longhand_spec_parity_float64_sides;

enum { SEQUENCES = LH_PARITY_SEQUENCES, FIRST_EXAMPLE = 1000, RANGE = 64 };

static const lh_parity_case LABELS = {"rand_learned", &longhand_spec_parity_float64_labels};
static const lh_parity_case DIGITS = {"rand_learned", &longhand_spec_parity_float64_digits};
static const lh_parity_case SIDES = {"rand_relative", &longhand_spec_parity_float64_sides};

/* The program of the lowest instruction-set level. */
static const lh_cpu_program *get_program(const lh_spec *spec) { return spec->cpu[0]; }

/* Runs a batch in blocks of at most `max_sequences` sequences, and compares with the reference's loss, and with its
 * logits or gradients. positions: positions from the caller; NULL: sampled positions. */
static void check_run(const lh_spec *spec, const lh_ref_model *model, const lh_ref_batch *batch, lh_mode mode,
                      const int32_t *positions, int max_sequences, double loss, const double *logits) {
    const int32_t *const position_streams[LH_MAX_STREAMS] = {positions}, *const sampled[LH_MAX_STREAMS] = {NULL};
    lh_trainer t = lh_trainer_open_sampling(spec, model, batch, mode, position_streams, sampled);
    lh_trainer_check(&t, batch, lh_parity_full_mask, max_sequences, model, loss, logits, lh_parity_get_tolerance(8));
    lh_trainer_close(&t);
}

/* ---- positions by sequence ---- */

/* Rows of the learned table for every sequence: its positions minus 1. */
static void find_rows(lh_mode mode, int tokens, int32_t rows[SEQUENCES][LH_PARITY_LONGEST]) {
    lh_draw draw = lh_trainer_make_draw(mode);
    int32_t scratch[RANGE];
    for (int s = 0; s < SEQUENCES; s++) {
        lh_draw_sequence(&draw, 0, FIRST_EXAMPLE + (uint32_t)s, 1, RANGE, tokens, true, rows[s], scratch);
        for (int t = 0; t < tokens; t++) assert_in_range(--rows[s][t], 0, RANGE - 1);
    }
}

/* Compares a pass with the reference. has_positions: the caller gives all sequences the same positions; otherwise each
 * sequence samples its own. */
static void check_labels(int tokens, int labels, lh_mode mode, bool has_positions) {
    const lh_spec *spec = LABELS.spec;
    lh_ref_model *model = lh_parity_open_model(&LABELS);
    lh_parity_batch full_batch;
    int32_t rows[SEQUENCES][LH_PARITY_LONGEST], positions[LH_PARITY_LONGEST];
    lh_parity_make_batch(&LABELS, (lh_parity_size){tokens, labels, 0}, FIRST_EXAMPLE, &full_batch);
    find_rows(mode, tokens, rows);
    for (int t = 0; t < tokens; t++) positions[t] = rows[0][t] + 1;
    for (int s = 1; has_positions && s < SEQUENCES; s++) memcpy(rows[s], rows[0], sizeof *rows);
    full_batch.batch.backward = mode == LH_MODE_TRAIN;
    full_batch.batch.dropping = mode == LH_MODE_EVALUATE ? LH_REF_IN_EVALUATION : LH_REF_IN_TRAINING;
    full_batch.batch.draw = LH_PARITY_DRAW;
    double *expected = lh_parity_reserve((size_t)(SEQUENCES * labels * spec->classes) * sizeof *expected);
    double loss = lh_parity_run_each(model, &full_batch.batch, rows[0], LH_PARITY_LONGEST, expected, spec->classes);
    int allowed = get_program(spec)->block_sequences((int[LH_MAX_STREAMS]){tokens, 0});
    for (int max_sequences = 1; max_sequences <= SEQUENCES && max_sequences <= allowed; max_sequences++)
        check_run(spec, model, &full_batch.batch, mode, has_positions ? positions : NULL, max_sequences, loss,
                  expected);
    free(expected);
    lh_ref_model_free(model);
}

static void test_train_block_with_positions_of_each_sequence_matches_reference(void **state) {
    check_labels(1, 1, LH_MODE_TRAIN, false);
    check_labels(10, 5, LH_MODE_TRAIN, false);
    check_labels(LH_PARITY_LONGEST, 18, LH_MODE_TRAIN, false);
    check_labels(10, 5, LH_MODE_TRAIN, true); /* positions from the caller */
}

/* Evaluation with dropout. */
static void test_forward_block_with_dropout_of_the_draw_matches_reference(void **state) {
    check_labels(2, 1, LH_MODE_EVALUATE, false);
    check_labels(LH_PARITY_LONGEST, 18, LH_MODE_EVALUATE, false);
    check_labels(10, 5, LH_MODE_EVALUATE, true);
}

/* ---- positions that depend on tokens ---- */

/* In a sequence, tokens may share a position. */
static void test_blocks_with_positions_of_tokens_match_reference(void **state) {
    enum { TOKENS = 16, LABELS_OF_EACH = 8 };
    const lh_spec *spec = DIGITS.spec;
    lh_ref_model *model = lh_parity_open_model(&DIGITS);
    lh_parity_batch data;
    int32_t rows[SEQUENCES][LH_PARITY_LONGEST], positions[SEQUENCES * TOKENS];
    lh_rng rng = lh_rng_at(lh_key_of_seed(3), 0, 0, 0);
    lh_parity_make_batch(&DIGITS, (lh_parity_size){TOKENS, LABELS_OF_EACH, 0}, FIRST_EXAMPLE, &data);
    for (int i = 0; i < SEQUENCES * TOKENS; i++)
        rows[i / TOKENS][i % TOKENS] = positions[i] = (int32_t)lh_rng_below(&rng, i < TOKENS ? 64 : 5);
    double *logits = lh_parity_reserve((size_t)(SEQUENCES * LABELS_OF_EACH * spec->classes) * sizeof *logits);
    for (int mode = LH_MODE_TRAIN; mode <= LH_MODE_EVALUATE; mode++) {
        data.batch.backward = mode == LH_MODE_TRAIN;
        data.batch.dropping = mode == LH_MODE_TRAIN ? LH_REF_IN_TRAINING : LH_REF_NO_DROPOUT;
        const double loss = lh_parity_run_each(model, &data.batch, rows[0], LH_PARITY_LONGEST, logits, spec->classes);
        for (int max_sequences = 1; max_sequences <= SEQUENCES; max_sequences++) {
            lh_trainer t = lh_trainer_open(spec, spec->cpu[0], model, &data.batch, NULL, (lh_mode)mode);
            t.positions = positions;
            lh_trainer_check(&t, &data.batch, lh_parity_full_mask, max_sequences, model, loss, logits,
                             lh_parity_get_tolerance(8));
            lh_trainer_close(&t);
        }
    }
    free(logits);
    lh_ref_model_free(model);
}

static void test_device_gets_the_positions_of_lh_draw_sequence(void **state) {
    enum { TOKENS = 20 };
    const lh_cuda_program *cuda = LABELS.spec->cuda;
    int32_t scratch[RANGE + 1], expected[TOKENS];
    int out[SEQUENCES * TOKENS];
    const lh_shape shape = {.sequences = SEQUENCES, .length = {TOKENS}, .labels = TOKENS / 2};
    const int32_t *const no_values[LH_MAX_STREAMS] = {NULL};
    assert_int_equal(cuda->draw_count(&shape), SEQUENCES * TOKENS);
    const lh_shape huge = {.sequences = 10000000, .length = {1000}, .labels = 500}; /* shape of --examples 1e7 */
    assert_true(cuda->draw_count(&huge) == (size_t)10000000000);
    assert_int_equal(LABELS.spec->first_position[0], 1);
    assert_int_equal(LABELS.spec->position_range[0], RANGE + 1);
    assert_true(cuda->draw_scratch >= RANGE);
    for (int mode = 0; mode < 2; mode++) {
        lh_draw draw = lh_trainer_make_draw(mode ? LH_MODE_EVALUATE : LH_MODE_TRAIN);
        cuda->draw(&draw, &shape, no_values, no_values, scratch, out);
        for (int s = 0; s < SEQUENCES; s++) {
            lh_draw_sequence(&draw, 0, (uint32_t)s, 1, RANGE, TOKENS, true, expected, scratch);
            assert_memory_equal(out + s * TOKENS, expected, sizeof expected);
        }
    }
    lh_draw draw = lh_trainer_make_draw(LH_MODE_EVALUATE);
    const lh_shape one_shape = {.sequences = 1, .length = {TOKENS}, .labels = TOKENS / 2};
    int last[TOKENS];
    draw.first = SEQUENCES - 1; /* the last sequence alone */
    cuda->draw(&draw, &one_shape, no_values, no_values, scratch, last);
    assert_memory_equal(last, out + (SEQUENCES - 1) * TOKENS, sizeof last);
}

/* Compares the loss of each evaluated example with the loss of the logits from predict. first: index of the first
 * example. The first call stores the sums in *expected; later calls must have the same sums. */
static void check_engine(int threads, int first, lh_sums *expected) {
    enum { N = 9, EXAMPLES = 7, CLASSES = 5 };
    const lh_spec *spec = LABELS.spec;
    lh_error error;
    lh_batch batch;
    lh_state start;
    lh_lengths lengths = {.first = N, .last = N, .step = 1};
    lh_engine_config config = {.spec = spec, .seed = 3, .threads = threads};
    lh_condition condition = lh_make_condition(N, EXAMPLES, 1, LH_PARITY_DRAW);
    lh_sums sums, sequence_sums[EXAMPLES];
    condition.first = first;
    lh_engine *engine = lh_test_open_engine(config, get_program(spec));
    lh_assert_ok(lh_state_open(&start, engine, false, &error), &error);
    lh_initialise(spec, 3, 8, start.parameters);
    lh_assert_ok(engine->ops->write_state(engine, &start, 0, &error), &error);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, sequence_sums, &error), &error);
    lh_assert_ok(lh_batch_open(&batch, spec, N, 1, &error), &error);
    for (int e = 0; e < EXAMPLES; e++) {
        double logits[N * CLASSES], loss = 0;
        lh_assert_ok(lh_batch_fill(&batch, spec, &condition.source, N, (uint32_t)(first + e), 1, &error), &error);
        lh_query query = {.n = N, .input = batch.input, .draw = condition.draw, .example = (uint32_t)e};
        lh_assert_ok(engine->ops->predict(engine, &query, logits, &error), &error);
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int c = 0; c < CLASSES; c++)
                sum += exp(logits[i * CLASSES + c] - logits[i * CLASSES + batch.labels[i]]);
            loss += log(sum);
        }
        lh_assert_close(&loss, &sequence_sums[e].loss, 1, 1e-12, 0);
    }
    if (expected->sequences == 0) *expected = sums;
    assert_memory_equal(&sums, expected, sizeof sums);
    lh_state_close(&start);
    lh_batch_close(&batch);
    engine->ops->close(engine);
}

static void test_predict_has_the_logits_of_an_evaluation(void **state) {
    lh_sums sums = {0}, later = sums;
    for (int threads = 1; threads < 4; threads++) {
        check_engine(threads, 0, &sums);
        check_engine(threads, 4, &later);
    }
    assert_true(sums.loss != later.loss);
}

/* ---- distances by side ---- */

/* Samples a pass's distances on both sides. Returns a pointer to distance 0, in the middle of `buffer`. */
static int32_t *sample_sides(lh_mode mode, int tokens, int32_t buffer[2 * LH_PARITY_LONGEST]) {
    int32_t scratch[RANGE + 1];
    lh_draw draw = lh_trainer_make_draw(mode);
    lh_draw_signed_distances(&draw, 0, RANGE + 1, tokens, buffer + LH_PARITY_LONGEST, scratch);
    return buffer + LH_PARITY_LONGEST;
}

static void check_sides(int tokens, int labels, lh_mode mode) {
    const lh_spec *spec = SIDES.spec;
    lh_ref_model *model = lh_parity_open_model(&SIDES);
    lh_parity_batch full_batch;
    int32_t buffer[2 * LH_PARITY_LONGEST];
    const int32_t *middle = sample_sides(mode, tokens, buffer);
    lh_parity_make_batch(&SIDES, (lh_parity_size){tokens, labels, 0}, FIRST_EXAMPLE, &full_batch);
    for (int i = 0; i < tokens; i++)
        for (int j = 0; j < tokens; j++) full_batch.distances[i * tokens + j] = middle[j - i];
    lh_vectors_compute_alibi(LH_PARITY_HEADS, tokens * tokens, full_batch.distances, full_batch.score[0][0]);
    full_batch.batch.score = full_batch.score[0][0];
    full_batch.batch.backward = mode == LH_MODE_TRAIN;
    double *expected = lh_parity_reserve((size_t)(SEQUENCES * labels * spec->classes) * sizeof *expected);
    lh_ref_model_clear(model);
    double loss = lh_ref_run(model, &full_batch.batch, expected);
    check_run(spec, model, &full_batch.batch, mode, NULL, 2, loss, expected);
    free(expected);
    lh_ref_model_free(model);
}

static void test_blocks_with_distances_of_each_side_match_reference(void **state) {
    for (int mode = 0; mode < 2; mode++) {
        check_sides(1, 1, mode ? LH_MODE_EVALUATE : LH_MODE_TRAIN);
        check_sides(10, 5, mode ? LH_MODE_EVALUATE : LH_MODE_TRAIN);
        check_sides(LH_PARITY_LONGEST, 18, mode ? LH_MODE_EVALUATE : LH_MODE_TRAIN);
    }
}

static void test_draw_for_a_device_has_distances_of_both_sides(void **state) {
    enum { TOKENS = 20 };
    const lh_cuda_program *cuda = SIDES.spec->cuda;
    int32_t buffer[2 * LH_PARITY_LONGEST], scratch[RANGE + 1], distances[TOKENS];
    int out[2 * TOKENS];
    const lh_shape shape = {.sequences = 1, .length = {TOKENS}, .labels = TOKENS / 2};
    const int32_t *const no_values[LH_MAX_STREAMS] = {NULL}, *const distance_streams[LH_MAX_STREAMS] = {distances};
    lh_draw draw = lh_trainer_make_draw(LH_MODE_TRAIN);
    const int32_t *middle = sample_sides(LH_MODE_TRAIN, TOKENS, buffer);
    assert_int_equal(cuda->draw_count(&shape), 2 * TOKENS);
    assert_int_equal(SIDES.spec->distance_range[0], RANGE + 1);
    assert_int_equal(SIDES.spec->limit.tokens, RANGE + 1); /* tokens at the distances 0 .. RANGE */
    cuda->draw(&draw, &shape, no_values, no_values, scratch, out);
    for (int d = 1 - TOKENS; d < TOKENS; d++) assert_int_equal(out[TOKENS + d], middle[d]);
    for (int d = 0; d < TOKENS; d++) distances[d] = 3 * d;
    cuda->draw(&draw, &shape, no_values, distance_streams, scratch, out);
    for (int d = 1 - TOKENS; d < TOKENS; d++) assert_int_equal(out[TOKENS + d], 3 * d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_block_with_positions_of_each_sequence_matches_reference),
        cmocka_unit_test(test_forward_block_with_dropout_of_the_draw_matches_reference),
        cmocka_unit_test(test_blocks_with_positions_of_tokens_match_reference),
        cmocka_unit_test(test_device_gets_the_positions_of_lh_draw_sequence),
        cmocka_unit_test(test_predict_has_the_logits_of_an_evaluation),
        cmocka_unit_test(test_blocks_with_distances_of_each_side_match_reference),
        cmocka_unit_test(test_draw_for_a_device_has_distances_of_both_sides),
    };
    return cmocka_run_group_tests_name("draws", tests, NULL, NULL);
}
