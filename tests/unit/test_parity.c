/* Generated CPU trainers (tests/specs/parity_*.lua) compared with kernels/ref and with the stored vectors of an
 * independent implementation. The tests run every compiled instruction-set level (EVERY_LEVEL in tests/tests.mk)
 * that this machine supports. */
#include "support/lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_level.h"
#include "base/real.h"
#include "support/lh_trainer.h"

extern const lh_spec longhand_spec_parity_none, longhand_spec_parity_sincos, longhand_spec_parity_learned,
    longhand_spec_parity_rope, longhand_spec_parity_rand_sincos, longhand_spec_parity_rand_learned,
    longhand_spec_parity_rand_rope, longhand_spec_parity_dropout_sincos, longhand_spec_parity_dropout_rand_rope,
    longhand_spec_parity_float64_rope, longhand_spec_parity_float64_rand_learned, longhand_spec_parity_relative,
    longhand_spec_parity_rand_relative, longhand_spec_parity_rand_relative_clamped,
    longhand_spec_parity_rand_relative_difference, longhand_spec_parity_shaw, longhand_spec_parity_float64_relative,
    longhand_spec_parity_float64_rand_relative_difference;
extern const lh_spec longhand_spec_parity_rope_linear, longhand_spec_parity_rope_ntk, longhand_spec_parity_rope_yarn,
    longhand_spec_parity_float64_rope_yarn;
extern const lh_spec longhand_spec_parity_alibi, longhand_spec_parity_rand_alibi,
    longhand_spec_parity_float64_alibi_learned;
extern const lh_spec longhand_spec_parity_float64_geometric, longhand_spec_parity_geometric_raw,
    longhand_spec_parity_geometric_plain;
extern const lh_spec longhand_spec_parity_decoder_rope, longhand_spec_parity_decoder_relative,
    longhand_spec_parity_float64_decoder_alibi;
extern const lh_spec longhand_spec_parity_float64_cells, longhand_spec_parity_float64_tables;
extern const lh_spec longhand_spec_parity_lst_probe;
extern const lh_spec longhand_spec_parity_float64_rnn, longhand_spec_parity_float64_lstm,
    longhand_spec_parity_float64_stack_rnn, longhand_spec_parity_float64_tape_rnn;
extern const lh_spec longhand_spec_parity_dropout_relative;

static const lh_parity_case CASES[] = {
    {"none", &longhand_spec_parity_none},
    {"sincos", &longhand_spec_parity_sincos},
    {"learned", &longhand_spec_parity_learned},
    {"rope", &longhand_spec_parity_rope},
    {"rand_sincos", &longhand_spec_parity_rand_sincos},
    {"rand_learned", &longhand_spec_parity_rand_learned},
    {"rand_rope", &longhand_spec_parity_rand_rope},
    {"sincos", &longhand_spec_parity_dropout_sincos},
    {"rand_rope", &longhand_spec_parity_dropout_rand_rope},
    {"relative", &longhand_spec_parity_dropout_relative},
    {"rope", &longhand_spec_parity_float64_rope},
    {"rand_learned", &longhand_spec_parity_float64_rand_learned},
    {"rope_linear", &longhand_spec_parity_rope_linear},
    {"rope_ntk", &longhand_spec_parity_rope_ntk},
    {"rope_yarn", &longhand_spec_parity_rope_yarn},
    {"rope_yarn", &longhand_spec_parity_float64_rope_yarn},
    {"relative", &longhand_spec_parity_relative},
    {"rand_relative", &longhand_spec_parity_rand_relative},
    {"rand_relative_clamped", &longhand_spec_parity_rand_relative_clamped},
    {"rand_relative_difference", &longhand_spec_parity_rand_relative_difference},
    {"shaw", &longhand_spec_parity_shaw},
    {"relative", &longhand_spec_parity_float64_relative},
    {"rand_relative_difference", &longhand_spec_parity_float64_rand_relative_difference},
    {"alibi", &longhand_spec_parity_alibi},
    {"rand_alibi", &longhand_spec_parity_rand_alibi},
    {"rand_alibi", &longhand_spec_parity_float64_alibi_learned},
    {"geometric", &longhand_spec_parity_float64_geometric},
    {"geometric_raw", &longhand_spec_parity_geometric_raw},
    {"geometric_plain", &longhand_spec_parity_geometric_plain},
    {"decoder_rope", &longhand_spec_parity_decoder_rope},
    {"decoder_relative", &longhand_spec_parity_decoder_relative},
    {"decoder_alibi", &longhand_spec_parity_float64_decoder_alibi},
    {"cells", &longhand_spec_parity_float64_cells},
    {"tables", &longhand_spec_parity_float64_tables},
    {"lst_probe", &longhand_spec_parity_lst_probe},
    {"rnn", &longhand_spec_parity_float64_rnn},
    {"lstm", &longhand_spec_parity_float64_lstm},
    {"stack_rnn", &longhand_spec_parity_float64_stack_rnn},
    {"tape_rnn", &longhand_spec_parity_float64_tape_rnn},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

static const lh_parity_tolerance *get_tolerance(const lh_cpu_program *program) {
    return lh_parity_get_tolerance(program->real_bytes);
}

/* ---- comparisons ---- */

/* Checks the program's logits of the whole batch; max_sequences: limit for the sequences of a block. */
static void check_logits(lh_trainer *t, const lh_ref_batch *batch, const uint8_t *mask, int max_sequences,
                         const double *expected) {
    size_t count = (size_t)(batch->sequences * batch->labels * t->spec->classes);
    void *logits = lh_parity_reserve(count * (size_t)t->program->real_bytes);
    lh_trainer_run(t, batch, mask, max_sequences, logits);
    lh_parity_check_values(t->program->real_bytes, logits, expected, count, get_tolerance(t->program)->logits);
    free(logits);
}

static void check_gradients(const lh_trainer *t, const lh_ref_model *model) {
    lh_parity_check_gradients(t->spec, t->program->real_bytes, t->gradient, model, get_tolerance(t->program)->gradient);
}

/* Compares counts with the counts from the logits and the mask. */
static void check_counts(const lh_sums *sums, const lh_ref_batch *batch, const lh_spec *spec, const double *logits,
                         const uint8_t *mask) {
    lh_parity_counts expected = lh_parity_count(batch, spec, logits, mask);
    assert_int_equal(sums->positions, expected.positions);
    assert_int_equal(sums->sequences, expected.sequences);
    assert_int_equal(sums->counted, expected.counted);
    assert_int_equal(sums->correct, expected.correct);
    assert_int_equal(sums->exact, expected.exact);
}

/* Calls check for every case and every level of this machine. */
static void for_each_program(void (*check)(const lh_parity_case *, const lh_cpu_program *)) {
    for (int i = 0; i < CASE_COUNT; i++) {
        for (const lh_cpu_program *const *program = CASES[i].spec->cpu; *program; program++) {
            if (!lh_level_is_supported((*program)->level)) continue;
            print_message("           %s on %s\n", CASES[i].spec->id, (*program)->level);
            check(&CASES[i], *program);
        }
    }
}

/* ---- comparison with stored vectors ---- */

static void check_stored(const lh_parity_case *c, const lh_cpu_program *program) {
    lh_st_file *file = lh_vectors_open(c->vectors);
    lh_ref_model *model = lh_parity_make_model(file, c);
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    for (int i = 0; i < LH_VECTORS_LENGTHS; i++) {
        lh_vectors_case stored = lh_vectors_read_case(file, facts.length[i]);
        const lh_ref_batch *batch = &stored.batch;
        lh_trainer t = lh_trainer_open(c->spec, program, model, batch, stored.sampled_distances, LH_MODE_EVALUATE);
        check_logits(&t, batch, lh_parity_full_mask, 2, stored.logits);
        double loss = t.sums.loss * batch->loss_scale;
        lh_assert_close(&loss, &stored.loss, 1, get_tolerance(program)->loss, 0);
        check_counts(&t.sums, batch, c->spec, stored.logits, lh_parity_full_mask);
        lh_trainer_close(&t);
        lh_vectors_case_free(&stored);
    }
    lh_ref_model_free(model);
    lh_st_free(file);
}

static void test_forward_block_of_stored_batches_gives_stored_logits(void **state) { for_each_program(check_stored); }

/* Stored gradients are rounded to float32 and computed without dropout. So the gradients of float64 programs and of
 * networks with dropout are compared with kernels/ref alone. */
static void check_stored_gradient(const lh_parity_case *c, const lh_cpu_program *program) {
    if (lh_network_has_dropout(lh_network_get(c->spec->id)) || program->real_bytes == 8) return;
    lh_st_file *file = lh_vectors_open(c->vectors);
    lh_ref_model *model = lh_parity_make_model(file, c);
    lh_vectors_case stored = lh_vectors_read_case(file, lh_vectors_read_facts(file).gradient_length);
    lh_trainer t = lh_trainer_open(c->spec, program, model, &stored.batch, stored.sampled_distances, LH_MODE_TRAIN);
    lh_parity_load_gradients(file, model);
    lh_trainer_run(&t, &stored.batch, lh_parity_full_mask, stored.batch.sequences, NULL);
    double loss = t.sums.loss * stored.batch.loss_scale;
    lh_assert_close(&loss, &stored.loss, 1, get_tolerance(program)->loss, 0);
    check_gradients(&t, model);
    lh_trainer_close(&t);
    lh_vectors_case_free(&stored);
    lh_ref_model_free(model);
    lh_st_free(file);
}

static void test_train_block_of_a_stored_batch_gives_stored_gradients(void **state) {
    for_each_program(check_stored_gradient);
}

/* Checks that sequences have the stored lengths, and the stored layout of inputs and targets. If batches have
 * places, the format must find the stored place of each label's token. */
static void check_assembled(const lh_spec *spec, const lh_vectors_case *stored) {
    const lh_ref_batch *batch = &stored->batch;
    const lh_format *format = spec->format;
    int n = stored->input_length;
    lh_shape shape = {.labels = batch->labels};
    if (format->shape != NULL) {
        format->shape(n, batch->labels, &shape);
    } else {
        shape.length[0] = format->stream[0].length(n);
        shape.labels = format->labels(n);
    }
    assert_int_equal(shape.length[0], batch->tokens);
    assert_int_equal(shape.labels, batch->labels);
    assert_int_equal(format->locate != NULL, batch->place != NULL);
    uint16_t *tokens = lh_parity_reserve((size_t)batch->tokens * sizeof *tokens);
    for (int b = 0; b < batch->sequences; b++) {
        lh_example example = {.input_length = n,
                              .output_length = batch->labels,
                              .input = stored->input + b * n,
                              .target = stored->label + b * batch->labels};
        format->assemble(&example, (uint16_t *const[LH_MAX_STREAMS]){tokens});
        assert_memory_equal(tokens, batch->token + b * batch->tokens, (size_t)batch->tokens * sizeof *tokens);
        if (batch->place == NULL) continue;
        assert_true(format->locate(&example, tokens));
        assert_int_equal(tokens[0], batch->place[b]);
    }
    free(tokens);
}

static void test_assembled_examples_have_the_stored_tokens(void **state) {
    for (int i = 0; i < CASE_COUNT; i++) {
        lh_st_file *file = lh_vectors_open(CASES[i].vectors);
        lh_vectors_facts facts = lh_vectors_read_facts(file);
        for (int l = 0; l < LH_VECTORS_LENGTHS; l++) {
            lh_vectors_case stored = lh_vectors_read_case(file, facts.length[l]);
            check_assembled(CASES[i].spec, &stored);
            lh_vectors_case_free(&stored);
        }
        lh_st_free(file);
    }
}

static void test_cases_cover_every_stored_network(void **state) {
    for (int i = 0; i < LH_VECTORS_FILES; i++) {
        bool is_covered = !lh_vectors_is_compiled(lh_vectors_name[i]);
        for (int c = 0; c < CASE_COUNT; c++) is_covered |= strcmp(CASES[c].vectors, lh_vectors_name[i]) == 0;
        if (!is_covered) fail_msg("no case of %s", lh_vectors_name[i]);
    }
}

/* The encodings of table 1 of Ruoss et al. 2023, as a user would write them, in float32. */
static void test_cases_cover_the_eleven_encodings_of_the_paper(void **state) {
    static const char *const paper[] = {"none",      "sincos",        "learned",     "rope",
                                        "relative",  "alibi",         "rand_sincos", "rand_learned",
                                        "rand_rope", "rand_relative", "rand_alibi"};
    int covered_count = 0;
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
        bool is_covered = false;
        for (int c = 0; c < CASE_COUNT; c++)
            is_covered =
                is_covered || (strcmp(CASES[c].vectors, paper[i]) == 0 &&
                               !lh_network_has_dropout(lh_network_get(CASES[c].spec->id)) &&
                               CASES[c].spec->cpu[0]->real_bytes == 4 && !lh_parity_learns_slopes(CASES[c].spec));
        covered_count += is_covered;
    }
    assert_int_equal(covered_count, 11);
}

/* ---- comparison with kernels/ref at other lengths, in blocks of every size, with dropout ---- */

enum { SEQUENCES = LH_PARITY_SEQUENCES, MAX_TOKENS = LH_PARITY_LONGEST, FIRST_EXAMPLE = 1000 };

/* Compares a training step with the reference, with blocks of every size up to SEQUENCES. */
static void check_training_size(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model, int tokens,
                                int labels) {
    lh_parity_batch data;
    lh_parity_make_batch(c, (lh_parity_size){tokens, labels, 0}, FIRST_EXAMPLE, &data);
    double *logits = lh_parity_reserve((size_t)(SEQUENCES * labels * c->spec->classes) * sizeof *logits);
    double expected = lh_parity_run(model, &data, logits);
    for (int max_sequences = 1; max_sequences <= SEQUENCES; max_sequences++) {
        lh_trainer t = lh_trainer_open(c->spec, program, model, &data.batch, data.sampled_distances, LH_MODE_TRAIN);
        lh_trainer_check(&t, &data.batch, data.mask, max_sequences, model, expected, NULL, get_tolerance(program));
        check_counts(&t.sums, &data.batch, c->spec, logits, data.mask);
        lh_trainer_close(&t);
    }
    free(logits);
}

static void check_training(const lh_parity_case *c, const lh_cpu_program *program) {
    /* tokens and labels of a sequence */
    static const int shapes[][2] = {{1, 1}, {2, 1}, {10, 5}, {36, 18}, {MAX_TOKENS, 18}, {17, 17}};
    lh_ref_model *model = lh_parity_open_model(c);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_training_size(c, program, model, shapes[i][0], shapes[i][1]);
    lh_ref_model_free(model);
}

static void test_train_block_of_all_lengths_and_sizes_matches_reference(void **state) {
    for_each_program(check_training);
}

static void check_evaluation(const lh_parity_case *c, const lh_cpu_program *program) {
    static const int lengths[] = {1, 2, 17, MAX_TOKENS};
    lh_ref_model *model = lh_parity_open_model(c);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        lh_parity_batch data;
        lh_parity_make_batch(c, (lh_parity_size){lengths[i], lengths[i], 0}, FIRST_EXAMPLE, &data);
        double *expected = lh_parity_reserve((size_t)(SEQUENCES * lengths[i] * c->spec->classes) * sizeof *expected);
        lh_parity_make_evaluation(c->spec, &data.batch);
        lh_ref_run(model, &data.batch, expected);
        for (int max_sequences = 1; max_sequences <= SEQUENCES; max_sequences++) {
            lh_trainer t =
                lh_trainer_open(c->spec, program, model, &data.batch, data.sampled_distances, LH_MODE_EVALUATE);
            check_logits(&t, &data.batch, data.mask, max_sequences, expected);
            check_counts(&t.sums, &data.batch, c->spec, expected, data.mask);
            lh_trainer_close(&t);
        }
        free(expected);
    }
    lh_ref_model_free(model);
}

static void test_forward_block_of_all_lengths_and_sizes_matches_reference(void **state) {
    for_each_program(check_evaluation);
}

/* Evaluates a program, with dropout off; returns the logits, which the caller frees, and their bytes. */
static void *evaluate_batch(const lh_spec *spec, const lh_cpu_program *program, lh_ref_model *model,
                            lh_parity_batch *data, size_t *bytes) {
    *bytes = (size_t)(SEQUENCES * data->batch.labels * spec->classes) * (size_t)program->real_bytes;
    void *logits = lh_parity_reserve(*bytes);
    lh_trainer t = lh_trainer_open(spec, program, model, &data->batch, data->sampled_distances, LH_MODE_EVALUATE);
    lh_trainer_run(&t, &data->batch, data->mask, 2, logits);
    lh_trainer_close(&t);
    return logits;
}

static void test_forward_block_without_masks_has_the_bits_of_a_model_without_dropout(void **state) {
    static const lh_parity_case plain = {"relative", &longhand_spec_parity_relative};
    const lh_spec *dropped = &longhand_spec_parity_dropout_relative;
    lh_ref_model *model = lh_parity_open_model(&plain);
    for (int i = 0; plain.spec->cpu[i] && dropped->cpu[i]; i++) {
        if (!lh_level_is_supported(plain.spec->cpu[i]->level)) continue;
        assert_string_equal(plain.spec->cpu[i]->level, dropped->cpu[i]->level);
        lh_parity_batch data;
        lh_parity_make_batch(&plain, (lh_parity_size){17, 17, 0}, FIRST_EXAMPLE, &data);
        size_t bytes, actual_bytes;
        void *expected = evaluate_batch(plain.spec, plain.spec->cpu[i], model, &data, &bytes);
        void *actual = evaluate_batch(dropped, dropped->cpu[i], model, &data, &actual_bytes);
        assert_int_equal(actual_bytes, bytes);
        assert_memory_equal(actual, expected, bytes);
        free(expected);
        free(actual);
    }
    lh_ref_model_free(model);
}

/* ---- geometric attention at its limits ---- */

static void check_limits(const lh_parity_case *c, const lh_cpu_program *program) {
    const lh_ref_network *network = lh_network_get(c->spec->id);
    if (network->family_count == 0 || !network->families->is_geometric) return;
    lh_ref_model *model = lh_parity_open_model(c);
    for (int i = 0; i < LH_PARITY_LIMITS; i++) {
        lh_parity_set_limit(model, i);
        check_training_size(c, program, model, 1, 1);
        check_training_size(c, program, model, 17, 17);
    }
    lh_ref_model_free(model);
}

static void test_train_block_at_geometric_limits_matches_reference(void **state) { for_each_program(check_limits); }

/* ---- the optimiser's functions ---- */

static void fill_reals(const lh_cpu_program *program, uint64_t seed, size_t count, double scale, void *out) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    for (size_t i = 0; i < count; i++)
        lh_parity_write(out, program->real_bytes, i, scale * (lh_rng_word(&rng) / 2147483648.0 - 1));
}

static double *to_doubles(const lh_cpu_program *program, const void *array, size_t count) {
    return lh_parity_to_doubles(array, program->real_bytes, count);
}

static void check_fold(const lh_parity_case *c, const lh_cpu_program *program) {
    size_t bytes = (size_t)LH_CHUNK * (size_t)program->real_bytes;
    void *total = lh_parity_reserve(bytes), *shard = lh_parity_reserve(bytes);
    fill_reals(program, 1, LH_CHUNK, 1, total);
    fill_reals(program, 2, LH_CHUNK, 1, shard);
    double *sum = to_doubles(program, total, LH_CHUNK), *added = to_doubles(program, shard, LH_CHUNK), square = 0;
    program->fold(total, shard, LH_CHUNK);
    double *actual = to_doubles(program, total, LH_CHUNK), norm = program->squared_norm(total, LH_CHUNK);
    for (int i = 0; i < LH_CHUNK; i++) {
        sum[i] += added[i];
        square += actual[i] * actual[i];
        assert_true(lh_real_read(shard, program->real_bytes, i) == 0);
    }
    lh_assert_close(actual, sum, LH_CHUNK, 0,
                    program->real_bytes == 8 ? 1e-15 : 1.2e-7);                     /* one rounding of at most 2 */
    lh_assert_close(&norm, &square, 1, program->real_bytes == 8 ? 1e-13 : 1e-5, 0); /* at most 512 roundings per lane */
    free(total);
    free(shard);
    free(sum), free(added), free(actual);
}

static void test_fold_and_squared_norm_match_plain_sums(void **state) { for_each_program(check_fold); }

/* Three updates of one chunk; the first gradient is long enough to be clipped. */
static void check_update(const lh_parity_case *c, const lh_cpu_program *program) {
    const lh_ref_adam adam = {.learning_rate = 3e-4,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .epsilon = 1e-8,
                              .clip_norm = c->spec->optimizer.clip_norm};
    static const double scale[] = {1, 1e-3, 1e-2};
    size_t bytes = (size_t)LH_CHUNK * (size_t)program->real_bytes;
    lh_update u = {.parameters = lh_parity_reserve(bytes),
                   .state = {lh_parity_reserve(bytes), lh_parity_reserve(bytes)},
                   .gradient = lh_parity_reserve(bytes),
                   .learning_rate = adam.learning_rate};
    fill_reals(program, 3, LH_CHUNK, 1, u.parameters);
    double *parameter = to_doubles(program, u.parameters, LH_CHUNK);
    double *first = lh_parity_reserve(LH_CHUNK * sizeof *first), *second = lh_parity_reserve(LH_CHUNK * sizeof *second);
    for (u.step = 1; u.step <= 3; u.step++) {
        fill_reals(program, 10 + (uint64_t)u.step, LH_CHUNK, scale[u.step - 1], u.gradient);
        double *gradient = to_doubles(program, u.gradient, LH_CHUNK), square = 0;
        for (size_t i = 0; i < LH_CHUNK; i++) square += gradient[i] * gradient[i];
        u.gradient_norm = sqrt(square);
        lh_update_sums sums = {0, 0};
        program->update(&u, 0, LH_CHUNK, &sums);
        lh_ref_adam_update(&adam, u.step, u.gradient_norm, LH_CHUNK, gradient, parameter, first, second);
        double *actual = to_doubles(program, u.parameters, LH_CHUNK);
        /* a parameter of at most 1 is rounded once per update; a change is at most about 1e-3, relative error 1e-6 */
        lh_assert_close(actual, parameter, LH_CHUNK, 0, (double)u.step * (program->real_bytes == 8 ? 1e-15 : 7e-8));
        for (int i = 0; i < LH_CHUNK; i++) assert_true(lh_real_read(u.gradient, program->real_bytes, i) == 0);
        free(gradient);
        free(actual);
    }
    void *vectors[] = {u.parameters, u.state[0], u.state[1], u.gradient, parameter, first, second};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) free(vectors[i]);
}

static void test_three_updates_match_reference(void **state) { for_each_program(check_update); }

static void test_programs_take_the_memory_of_their_plans(void **state) {
    for (int i = 0; i < CASE_COUNT; i++) lh_parity_check_memory(CASES[i].spec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_take_the_memory_of_their_plans),
        cmocka_unit_test(test_forward_block_of_stored_batches_gives_stored_logits),
        cmocka_unit_test(test_train_block_of_a_stored_batch_gives_stored_gradients),
        cmocka_unit_test(test_assembled_examples_have_the_stored_tokens),
        cmocka_unit_test(test_cases_cover_every_stored_network),
        cmocka_unit_test(test_cases_cover_the_eleven_encodings_of_the_paper),
        cmocka_unit_test(test_train_block_of_all_lengths_and_sizes_matches_reference),
        cmocka_unit_test(test_forward_block_of_all_lengths_and_sizes_matches_reference),
        cmocka_unit_test(test_forward_block_without_masks_has_the_bits_of_a_model_without_dropout),
        cmocka_unit_test(test_train_block_at_geometric_limits_matches_reference),
        cmocka_unit_test(test_fold_and_squared_norm_match_plain_sums),
        cmocka_unit_test(test_three_updates_match_reference),
    };
    return cmocka_run_group_tests_name("parity", tests, NULL, NULL);
}
