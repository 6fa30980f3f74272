/* Positions that depend on tokens (data/batch.h): positions of digits, positions of tasks, and the offsets that
 * training adds. */
#include "lh_test.h"

#include <string.h>

#include "data/batch.h"
#include "engine/engine.h"
#include "toy_spec.h"

enum { ROWS = 3, MAX_OFFSET = 7, STEPS = 8000 };

static const char SYMBOLS[] = "0123456789+= E";
static const bool IS_DIGIT[sizeof SYMBOLS] = {true, true, true, true, true, true, true, true, true, true};
static const lh_token_positions POSITIONS = {.digit = IS_DIGIT, .offset = MAX_OFFSET};
static const char *text; /* the input of every example */

static void sample_text(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < n; i++) example->input[i] = (uint16_t)(strchr(SYMBOLS, text[i]) - SYMBOLS);
    example->target[0] = 0;
}

static int get_length(int n) { return n; }

static int get_one(int n) { return 1; }

/* Both streams have the tokens of the input. */
static void assemble_text(const lh_example *example, uint16_t *const tokens[LH_MAX_STREAMS]) {
    for (int s = 0; s < 2; s++)
        memcpy(tokens[s], example->input, (size_t)example->input_length * sizeof *example->input);
}

typedef struct toy {
    lh_task task;
    lh_format format;
    lh_spec spec;
    lh_batch batch;
} toy;

static void open_toy(toy *t, const char *input, const lh_token_positions *positions) {
    lh_error error;
    t->task = *lh_toy_spec.task;
    t->task.sample = sample_text;
    t->task.input_length = get_length;
    t->task.output_length = get_one;
    t->format = (lh_format){.stream = {{"source", get_length}, {"target", get_length}},
                            .streams = 2,
                            .label_stream = 1,
                            .labels = get_one,
                            .assemble = assemble_text,
                            .positions = positions};
    t->spec = lh_toy_spec;
    t->spec.task = &t->task;
    t->spec.format = &t->format;
    text = input;
    lh_assert_ok(lh_batch_open(&t->batch, &t->spec, (int)strlen(text), ROWS, &error), &error);
}

static void fill(toy *t, uint32_t first, int rows) {
    const lh_source source = {.key = lh_key_of_seed(3), .step = 5, .domain = LH_DOMAIN_DATA};
    lh_error error;
    lh_assert_ok(lh_batch_fill(&t->batch, &t->spec, &source, (int)strlen(text), first, rows, &error), &error);
}

static void shift(toy *t, uint64_t seed, uint32_t step) {
    const lh_draw draw = {
        .key = lh_key_of_seed(seed), .step = step, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS};
    lh_batch_shift_positions(&t->batch, &t->spec, &draw, 50);
}

/* Checks the positions of every row in both streams. evaluation: the positions of an evaluation; offset: a number that
 * training has added to positions above 0. */
static void check_positions(const toy *t, const int *evaluation, int offset) {
    const int length = (int)strlen(text);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < t->batch.shape.sequences * length; i++) {
            const int expected = evaluation[i % length] > 0 ? evaluation[i % length] + offset : 0;
            assert_int_equal(t->batch.positions[s][i], expected);
        }
}

/* The first text is 123 + 45 = 168, lowest digits first. In the second text, spaces surround numbers, and one space is
 * within a number. */
static void test_positions_of_digits_are_counted_in_each_number(void **state) {
    static const struct {
        const char *text;
        int positions[13];
    } cases[] = {{"321+54=861E", {1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 0}},
                 {" 1 +23=42 1E", {0, 1, 0, 0, 1, 2, 0, 1, 2, 0, 1, 0}},
                 {"7", {1}},
                 {"+", {0}},
                 {"0000000000099", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        toy t;
        open_toy(&t, cases[i].text, &POSITIONS);
        fill(&t, 0, ROWS); /* a number does not continue in the next row */
        check_positions(&t, cases[i].positions, 0);
        const lh_cpu_block block = lh_batch_make_block(&t.batch, 1, 2);
        for (int s = 0; s < 2; s++) assert_ptr_equal(block.positions[s], t.batch.positions[s] + strlen(text));
        lh_batch_close(&t.batch);
    }
}

/* All rows of a step have the same offset, no matter which examples of the batch they hold. */
static void test_a_step_adds_one_offset_to_all_positions_above_0(void **state) {
    static const int expected[] = {1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 0};
    long count[MAX_OFFSET + 1] = {0};
    toy t;
    open_toy(&t, "321+54=861E", &POSITIONS);
    for (uint32_t step = 0; step < STEPS; step++) {
        lh_rng rng = lh_rng_at(lh_key_of_seed(9), step, LH_SHARED, lh_site(LH_DOMAIN_POSITIONS, 0, 0));
        const int offset = (int)lh_rng_below(&rng, MAX_OFFSET + 1);
        const uint32_t first = step % 2 * ROWS;
        fill(&t, first, ROWS - (int)(step % 3));
        shift(&t, 9, step);
        check_positions(&t, expected, offset);
        count[offset]++;
    }
    assert_true(lh_test_compute_chi_square(count, MAX_OFFSET + 1) < 24.32); /* 99.9% point, 7 degrees of freedom */
    lh_batch_close(&t.batch);
}

static void test_an_offset_of_0_changes_nothing(void **state) {
    static const lh_token_positions fixed = {.digit = IS_DIGIT};
    static const int expected[] = {1, 2, 0, 1};
    toy t;
    open_toy(&t, "10+1", &fixed);
    for (uint32_t step = 0; step < 20; step++) {
        fill(&t, 0, ROWS);
        shift(&t, step, step);
        check_positions(&t, expected, 0);
    }
    lh_batch_close(&t.batch);
}

/* Decoding predicts the tokens of a row one by one, and puts the row again after each of them. The positions must be
 * those of the new tokens. */
static void test_a_row_put_again_has_new_positions(void **state) {
    const uint16_t inputs[2][4] = {{1, 2, 10, 4}, {1, 2, 3, 4}};
    const int expected[2][4] = {{1, 2, 0, 1}, {1, 2, 3, 4}};
    toy t;
    open_toy(&t, "12+4", &POSITIONS);
    fill(&t, 0, 2);
    for (int i = 0; i < 2; i++) {
        lh_batch_put(&t.batch, &t.spec, 4, 1, inputs[i], NULL, NULL);
        for (int j = 0; j < 4; j++) {
            assert_int_equal(t.batch.positions[0][j], expected[0][j]);
            assert_int_equal(t.batch.positions[0][4 + j], expected[i][j]);
        }
    }
    lh_batch_close(&t.batch);
}

static void test_other_formats_have_no_positions(void **state) {
    toy t;
    open_toy(&t, "12+4", NULL);
    fill(&t, 0, ROWS);
    shift(&t, 1, 1);
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        assert_null(t.batch.positions[s]);
        assert_null(lh_batch_make_block(&t.batch, 0, 1).positions[s]);
    }
    lh_batch_close(&t.batch);
}

/* ---- positions of tasks ---- */

lh_task_place lh_place_free_addition, lh_place_reverse_string, lh_place_duplicate_string,
    lh_place_binary_multiplication, lh_place_multiplication, lh_place_addition;

/* A case lists the positions of the input's tokens, then of the target's. The first two sums are examples of Cho et al.
 * 2024. Target tokens are not known yet, so those after the end of the sum have the positions of further digits. */
static void test_tasks_give_positions_to_tokens(void **state) {
    enum { REVERSED, IN_ORDER, REVERSED_SUM };
    static const struct {
        lh_task_place *place;
        const char *input;
        int order, outputs, positions[15];
    } cases[] = {{lh_place_free_addition, "653+049", REVERSED_SUM, 5, {4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5}},
                 {lh_place_free_addition, "7+5", REVERSED_SUM, 3, {2, 1, 2, 1, 2, 3}},
                 {lh_place_free_addition, "356+94", REVERSED, 7, {2, 3, 4, 1, 2, 3, 1, 2, 3, 4, 5, 0, 0}},
                 {lh_place_free_addition, "653+049", IN_ORDER, 5, {4, 3, 2, 1, 4, 3, 2, 6, 5, 4, 3, 2}},
                 {lh_place_free_addition, "12", REVERSED, 2, {2, 3, 1, 2}},
                 {lh_place_reverse_string, "4071", 0, 4, {1, 2, 3, 4, 5, 4, 3, 2}},
                 {lh_place_reverse_string, "4", 0, 1, {1, 2}},
                 {lh_place_duplicate_string, "4071", 0, 4, {2, 3, 4, 5, 1, 2, 3, 4}}, /* the first of the two copies */
                 {lh_place_duplicate_string, "40", 0, 4, {2, 3, 1, 2, 3, 2}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int length = (int)strlen(cases[i].input), count = length + cases[i].outputs;
        uint16_t input[8];
        int32_t positions[15];
        for (int t = 0; t < length; t++) input[t] = (uint16_t)(strchr(SYMBOLS, cases[i].input[t]) - SYMBOLS);
        const int options[8] = {cases[i].order};
        const lh_example example = {
            .input_length = length, .output_length = cases[i].outputs, .input = input, .options = options};
        cases[i].place(&example, positions, positions + length);
        for (int t = 0; t < count; t++) assert_int_equal(positions[t], cases[i].positions[t]);
    }
}

/* A case lists the positions of the input's tokens, then of the target's. The cases are: two binary numbers of four and
 * two bits, lowest bits first, with the positions that Cho et al. 2024 give to 4071 * 05; a single binary number; the
 * product of a number and a digit, plain and aligned, in two places more than the number; and 12 + 34 in a frame of
 * three places, plain and aligned. */
static void test_arithmetic_has_positions_by_weight(void **state) {
    enum { PLUS = 10, TIMES, START, END, SEPARATOR = 2 /* separator of binary operands */ };
    static const struct {
        lh_task_place *place;
        int inputs, outputs, is_aligned;
        uint16_t input[9];
        int positions[15];
    } cases[] = {
        {.place = lh_place_binary_multiplication,
         .inputs = 7,
         .outputs = 7,
         .is_aligned = 0,
         .input = {1, 1, 0, 1, SEPARATOR, 1, 0},
         .positions = {6, 5, 4, 3, 7, 6, 5, 7, 6, 5, 4, 3, 2, 1}},
        {lh_place_binary_multiplication, 2, 2, 0, {1, 0}, {2, 1, 3, 2}},
        {lh_place_multiplication, 7, 6, 0, {START, 1, 2, 3, TIMES, 6, END}, {0, 3, 4, 5, 6, 5, 0, 6, 5, 4, 3, 2, 1}},
        {lh_place_multiplication, 7, 5, 1, {START, TIMES, 1, 6, 2, 6, END}, {0, 5, 3, 4, 4, 4, 0, 5, 4, 3, 2, 1}},
        {lh_place_addition, 9, 4, 0, {START, 0, 1, 2, PLUS, 0, 3, 4, END}, {0, 4, 3, 2, 1, 4, 3, 2, 0, 1, 2, 3, 4}},
        {lh_place_addition, 9, 4, 1, {START, PLUS, 0, 0, 1, 3, 2, 4, END}, {0, 1, 4, 4, 3, 3, 2, 2, 0, 1, 2, 3, 4}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t positions[15];
        uint16_t input[9];
        const bool is_sum = cases[i].place == lh_place_addition;
        /* options of sums: base, width, input; of products: base, width, extra places, input */
        const int options[8] = {10, 3, is_sum ? cases[i].is_aligned : 2, cases[i].is_aligned};
        memcpy(input, cases[i].input, sizeof input);
        const lh_example example = {
            .input_length = cases[i].inputs, .output_length = cases[i].outputs, .input = input, .options = options};
        cases[i].place(&example, positions, positions + cases[i].inputs);
        for (int t = 0; t < cases[i].inputs + cases[i].outputs; t++)
            assert_int_equal(positions[t], cases[i].positions[t]);
    }
}

static void place_by_index(const lh_example *example, int32_t *input, int32_t *target) {
    for (int i = 0; i < example->input_length; i++) input[i] = i; /* the first token has no position */
    target[0] = 4;
}

/* Every sequence has its own offset. The greatest position of a sequence is 4, so the offset is from 0 to
 * MAX_POSITION - 4. */
static void test_a_step_adds_an_offset_to_the_positions_of_each_sequence(void **state) {
    enum { MAX_POSITION = 9, TOKENS = 3 };
    static const lh_token_positions by_task = {.greatest = MAX_POSITION};
    long count[MAX_POSITION - 4 + 1] = {0};
    toy t;
    open_toy(&t, "123", &by_task);
    t.task.place = place_by_index;
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t first = step % 2 * 100;
        fill(&t, first, ROWS);
        const lh_draw draw = {
            .key = lh_key_of_seed(9), .step = step, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS};
        lh_batch_shift_positions(&t.batch, &t.spec, &draw, first);
        for (uint32_t row = 0; row < ROWS; row++) {
            lh_rng rng = lh_rng_at(lh_key_of_seed(9), step, first + row, lh_site(LH_DOMAIN_POSITIONS, 0, 0));
            const int offset = (int)lh_rng_below(&rng, MAX_POSITION - 4 + 1);
            const int32_t *source = t.batch.positions[0] + row * TOKENS, *target = t.batch.positions[1] + row * TOKENS;
            for (int i = 0; i < TOKENS; i++) {
                assert_int_equal(source[i], i > 0 ? i + offset : 0);
                assert_int_equal(target[i], i == TOKENS - 1 ? 4 + offset : 0); /* the last token has the label */
            }
            count[offset]++;
        }
    }
    assert_true(lh_test_compute_chi_square(count, MAX_POSITION - 4 + 1) <
                20.52); /* 99.9% point, 5 degrees of freedom */
    lh_batch_close(&t.batch);
}

static void place_far(const lh_example *example, int32_t *input, int32_t *target) {
    for (int i = 0; i < example->input_length; i++) input[i] = example->input[i] == 9 ? -1 : 10 * i;
    target[0] = 0;
}

static void test_positions_out_of_range_are_an_error(void **state) {
    static const lh_token_positions by_task = {.greatest = 10};
    static const char *const texts[] = {"11", "111", "19"};
    static const char *const messages[] = {NULL,
                                           "position 20\n  expected: 0 to encoding.positions.max_position = 10\n  hint",
                                           "position -1\n  expected: 0 to"};
    const lh_source source = {.key = lh_key_of_seed(3), .step = 5, .domain = LH_DOMAIN_DATA};
    for (int i = 0; i < 3; i++) {
        lh_error error;
        toy t;
        open_toy(&t, texts[i], &by_task);
        t.task.place = place_far;
        const lh_lengths lengths = {.first = (int)strlen(text), .last = (int)strlen(text), .step = 1};
        const lh_status status = lh_batch_fill(&t.batch, &t.spec, &source, (int)strlen(text), 0, 1, &error);
        if (messages[i] == NULL) lh_assert_ok(status, &error);
        else lh_assert_error(status, LH_ERR_INPUT, &error, messages[i]);
        assert_int_equal(lh_check_limit(&t.spec, &lengths, &error), status);
        lh_batch_close(&t.batch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_of_digits_are_counted_in_each_number),
        cmocka_unit_test(test_a_step_adds_one_offset_to_all_positions_above_0),
        cmocka_unit_test(test_an_offset_of_0_changes_nothing),
        cmocka_unit_test(test_a_row_put_again_has_new_positions),
        cmocka_unit_test(test_other_formats_have_no_positions),
        cmocka_unit_test(test_tasks_give_positions_to_tokens),
        cmocka_unit_test(test_arithmetic_has_positions_by_weight),
        cmocka_unit_test(test_a_step_adds_an_offset_to_the_positions_of_each_sequence),
        cmocka_unit_test(test_positions_out_of_range_are_an_error),
    };
    return cmocka_run_group_tests_name("token_positions", tests, NULL, NULL);
}
