/* runtime/data/arithmetic: test examples in frames that are wider or narrower than the frame of training examples.
 * test_arithmetic.c lists the options of the tasks. */
#include <stdlib.h>
#include <string.h>

#include "lh_arithmetic.h"
#include "lh_test.h"

/* Converts an input and a target from a frame of old_width places to another, by removing or adding zeros. */
static lh_text write_in_frame(const lh_text *text, int old_width, int width) {
    lh_text out;
    const char sign = text->input[1 + old_width];
    int digits = width < old_width ? width : old_width;
    char *cursor = out.input;
    *cursor++ = '$';
    for (int operand = 0; operand < (sign == '+' ? 2 : 1); operand++) {
        if (operand > 0) *cursor++ = '+';
        for (int i = 0; i < width; i++)
            *cursor++ = i < width - digits ? '0' : text->input[1 + operand * (old_width + 1) + old_width - width + i];
    }
    if (sign == '*') { /* a product's single digit has no frame */
        memcpy(cursor, text->input + 1 + old_width, 2);
        cursor += 2;
    }
    memcpy(cursor, "&", 2);
    for (int i = 0; i < width; i++) out.target[i] = i < old_width ? text->target[i] : '0';
    memcpy(out.target + width, "&", 2);
    return out;
}

/* Every test number occurs again in each frame that can hold it. Frame 0 adds no padding: it has one place more than
 * the number, for the last carry of a sum. own_width: places of the training frame. */
static void check_frames(lh_full_collection *s, lh_task_collect *task, int own_width) {
    int framed_start = 0, cursor[2] = {0, 0}; /* cursor: offsets from the first framed item */
    lh_collect_all(s, task);
    while (framed_start < s->count &&
           (s->item[framed_start].set != LH_SET_TEST || s->item[framed_start].axes[FRAME] == LH_NO_VALUE))
        framed_start++;
    for (int i = 0; i < framed_start; i++) {
        const lh_kept_example *k = &s->item[i];
        assert_int_equal(k->axes[FRAME], LH_NO_VALUE);
        if (k->set != LH_SET_TEST) continue;
        for (int f = 0; f < 2; f++) {
            int width = s->frame[f] > 0 ? s->frame[f] : k->axes[DIGITS] + 1;
            if (width < k->axes[DIGITS] + 1) continue;
            while (s->item[framed_start + cursor[f]].axes[FRAME] != s->frame[f]) cursor[f]++;
            const lh_kept_example *framed = &s->item[framed_start + cursor[f]++];
            lh_text in_training_frame = lh_write_kept_example(s, k), actual = lh_write_kept_example(s, framed),
                    expected = write_in_frame(&in_training_frame, own_width, width);
            assert_string_equal(actual.input, expected.input);
            assert_string_equal(actual.target, expected.target);
            assert_int_equal(framed->axes[DIGITS], k->axes[DIGITS]);
            assert_int_equal(framed->axes[CARRY], k->axes[CARRY]);
            assert_int_equal(framed->axes[TRAINED], k->axes[TRAINED]);
        }
    }
    assert_true(cursor[0] > 0 && cursor[1] > 0);
    assert_true(s->c.exclusive_axes[LH_SET_TEST] >> FRAME & 1);
    free(s->item);
}

static void test_frames_hold_the_same_numbers(void **state) {
    const int add[] = {10, 7, 0, 0, 64, 8}, next[] = {10, 7, 64, 8}, times[] = {10, 13, 0, 0, 0, 64, 8};
    lh_error error;
    lh_full_collection s = lh_make_full_collection(add, 5, 4, false); /* seed 5, up to 4 digits */
    s.frame_axis = FRAME;
    memcpy(s.frame, (const int[]){0, 12}, sizeof s.frame);
    check_frames(&s, lh_task_addition, 7);         /* places of the task's frame */
    s = lh_make_full_collection(next, 5, 4, true); /* true: also numbers drawn for each length of chain */
    s.frame_axis = FRAME;
    memcpy(s.frame, (const int[]){4, 12}, sizeof s.frame); /* four digits do not fit in the first frame */
    check_frames(&s, lh_task_successor, 7);
    s = lh_make_full_collection(times, 5, 12, false); /* up to 12 digits */
    s.min_digits = 9;                                 /* numbers of 9 to 12 digits need more than 32 bits */
    s.frame_axis = FRAME;
    memcpy(s.frame, (const int[]){0, 16}, sizeof s.frame);
    check_frames(&s, lh_task_multiplication, 13); /* places of the task's frame */
    s = lh_make_full_collection(next, 5, 4, false);
    s.frame_axis = FRAME;
    s.frame[0] = s.frame[1] = 1;
    lh_assert_error(lh_task_successor(&s.c, &error), LH_ERR_INPUT, &error,
                    "successor: eval.by requests a frame of 1 places, which holds numbers of at most 0 digits");
    free(s.item);
}

/* Numbers of 7 and 8 digits fit only in the frame of 12 places: there every digit count and chain has its examples. */
static void test_frames_have_chains_of_their_own(void **state) {
    enum { MIN_DIGITS = 6, FRAMES = 3, MAX_DIGITS = 8 };
    static const int frame[FRAMES] = {LH_NO_VALUE, 0, 12};
    const int add[] = {10, MIN_DIGITS + 1, 0, 0, 64, 8};
    int uniform[FRAMES][MAX_DIGITS + 1] = {{0}}, cell[FRAMES][MAX_DIGITS + 1][MAX_DIGITS + 1] = {{{0}}};
    lh_full_collection s = lh_make_full_collection(add, 5, MAX_DIGITS, true);
    s.min_digits = MIN_DIGITS;
    s.frame_axis = FRAME;
    memcpy(s.frame, frame + 1, sizeof s.frame);
    lh_collect_all(&s, lh_task_addition);
    for (int i = 0; i < s.count; i++) {
        const lh_kept_example *k = &s.item[i];
        if (k->set != LH_SET_TEST) continue;
        int f = k->axes[FRAME] == LH_NO_VALUE ? 0 : k->axes[FRAME] == 0 ? 1 : 2, digits = k->axes[DIGITS];
        lh_text text = lh_write_kept_example(&s, k);
        int width = f == 2 ? 12 : MIN_DIGITS + 1;
        assert_int_equal(strlen(text.input), 2 * width + 3);
        uint64_t x = lh_read_digits(text.input, 1, 1 + width, 10),
                 y = lh_read_digits(text.input, 2 + width, 2 + 2 * width, 10);
        assert_int_equal(lh_read_reversed(text.target, 10), x + y);
        assert_int_equal(lh_count_digits(10, x < y ? x : y), digits);
        if (k->axes[CARRY] == LH_NO_VALUE) uniform[f][digits]++;
        else {
            assert_int_equal(k->axes[CARRY], lh_find_chain_by_definition(10, false, x, y, digits));
            cell[f][digits][k->axes[CARRY]]++;
        }
    }
    for (int f = 0; f < FRAMES; f++)
        for (int digits = 1; digits <= MAX_DIGITS; digits++) {
            bool is_expected = digits == MIN_DIGITS || (f == 2 && digits > MIN_DIGITS);
            assert_int_equal(uniform[f][digits], is_expected ? 10000 : 0);
            for (int chain = 0; chain <= MAX_DIGITS; chain++)
                assert_int_equal(cell[f][digits][chain], is_expected && chain <= digits ? 500 : 0);
        }
    assert_int_equal(s.c.exclusive_axes[LH_SET_TEST], 1u << CARRY | 1u << FRAME);
    free(s.item);
}

static void test_frames_that_are_too_narrow_or_too_wide_are_refused(void **state) {
    const int options[] = {10, 6, 0, 0, 1048576, 8}, too_wide[] = {10, 200, 64, 8};
    const int stratified[] = {10, 7, 0, 1, 64, 8}; /* the frame holds six digits, but operands reach 1000000 */
    lh_error error;
    lh_full_collection s = lh_make_full_collection(options, 0, 1, false); /* seed 0, one digit */
    lh_assert_error(lh_task_addition(&s.c, &error), LH_ERR_INPUT, &error,
                    "addition: the frame holds numbers of at most 5 digits, but training numbers have up to 7 in base "
                    "10\n  expected: a task.options.width that is 2 greater, or a smaller task.options.numbers");
    s = lh_make_full_collection(stratified, 0, 1, false);
    lh_assert_error(lh_task_addition(&s.c, &error), LH_ERR_INPUT, &error, "up to 7 in base 10");
    s = lh_make_full_collection(too_wide, 0, 150, true); /* chains of up to 150 digits */
    lh_assert_error(lh_task_successor(&s.c, &error), LH_ERR_INPUT, &error,
                    "eval.by requests carries of numbers that have 150 digits\n  expected: at most 128 digits");
    free(s.item);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_hold_the_same_numbers),
        cmocka_unit_test(test_frames_have_chains_of_their_own),
        cmocka_unit_test(test_frames_that_are_too_narrow_or_too_wide_are_refused),
    };
    return cmocka_run_group_tests_name("arithmetic frames", tests, NULL, NULL);
}
