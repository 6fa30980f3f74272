/* Sums of numbers without a frame of fixed width; see free_sums.h. */
#include "data/free_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/datasets/number_set.h"

enum { DIGITS, FIRST, SECOND, TRAINED, AXES }; /* axes of the task */
enum {
    MAX_DIGITS = LH_MAX_PLACES, /* maximum digits of a number */
    DIGITS_IN_64_BITS = 19,     /* maximum digits of a number that always fits in 64 bits */
    PROGRESS = 1 << 14          /* examples between two reports of progress */
};

/* Words of an item. */
enum {
    FIRST_DIGITS,  /* test set: digit count of the first number; other sets: 0 */
    SECOND_DIGITS, /* test set: digit count of the second number; other sets: 0 */
    LOW_INDEX,     /* lower 16 bits of the example's index */
    HIGH_INDEX,    /* upper 16 bits */
    WORDS
};

static int draw_digit_count(lh_rng *rng, int max_digits) { return 1 + (int)lh_rng_below(rng, (uint32_t)max_digits); }

void lh_draw_addends(int numbers, int max_trained, uint64_t seed, const uint16_t *word, lh_addends *a) {
    const bool is_test = word[FIRST_DIGITS] > 0;
    const uint32_t index = (uint32_t)word[LOW_INDEX] | (uint32_t)word[HIGH_INDEX] << 16;
    const uint32_t step = is_test ? 1 + (uint32_t)word[FIRST_DIGITS] * (MAX_DIGITS + 1) + word[SECOND_DIGITS] : 0;
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), step, index, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
    int max_digits = word[FIRST_DIGITS] > word[SECOND_DIGITS] ? word[FIRST_DIGITS] : word[SECOND_DIGITS];
    if (!is_test) max_digits = max_trained;
    a->count = numbers;
    for (int i = 0; i < numbers; i++)
        a->digits[i] = is_test && i < 2 ? word[FIRST_DIGITS + i] : draw_digit_count(&rng, max_digits);
    for (int i = 0; i < numbers; i++) {
        const int top = a->digits[i] - 1;
        for (int d = 0; d < top; d++) a->digit[i][d] = (uint8_t)lh_rng_below(&rng, 10);
        a->digit[i][top] = (uint8_t)(1 + lh_rng_below(&rng, 9));
    }
    a->rng = rng;
}

/* ---- numbers of the training set ---- */

static uint64_t compute_number(const lh_addends *a, int i) {
    uint64_t number = 0;
    for (int d = a->digits[i] - 1; d >= 0; d--) number = number * 10 + a->digit[i][d];
    return number;
}

/* Returns whether a training example has the same numbers. is_training: also adds the numbers to the set. Ignores
 * examples with a number of more than DIGITS_IN_64_BITS digits. */
static bool find_numbers(const lh_number_set *trained, const lh_addends *a, bool is_training) {
    uint64_t number[LH_MAX_ADDENDS];
    if (lh_find_most_digits(a) > DIGITS_IN_64_BITS) return false;
    for (int i = 0; i < a->count; i++) number[i] = compute_number(a, i);
    uint64_t *slot = lh_number_set_find(trained, number);
    const bool is_found = slot[0] != 0;
    if (is_training) memcpy(slot, number, (size_t)a->count * sizeof *number);
    return is_found;
}

/* ---- collection ---- */

typedef struct collection_state {
    const lh_sum_task *task;
    lh_collection *c;
    lh_error *error;
    lh_number_set trained; /* numbers of training examples, none of which is 0 */
    int64_t finished;      /* number of finished examples, for the progress bar */
    lh_addends addends;    /* scratch */
} collection_state;

static lh_status add_example(collection_state *s, lh_set set, const uint16_t *word) {
    const lh_addends *a = &s->addends;
    lh_item item = {.word = word, .words = WORDS};
    lh_draw_addends(s->task->numbers, s->task->max_digits, s->c->seed, word, &s->addends);
    lh_status status = s->task->measure(a, s->c->options, &item, s->error);
    if (status != LH_OK) return status;
    const bool is_trained = find_numbers(&s->trained, a, set == LH_SET_TRAIN);
    const int32_t axes[AXES] = {lh_find_most_digits(a), a->digits[0], a->digits[1],
                                set == LH_SET_TRAIN ? LH_NO_VALUE : is_trained};
    if (s->finished++ % PROGRESS == 0)
        s->c->progress(s->c, s->finished < s->task->pairs ? (double)s->finished / s->task->pairs : 1);
    return s->c->add_item(s->c, set, &item, axes, s->error);
}

static lh_status add_split(collection_state *s) {
    const int count = s->task->pairs, held_out = count / s->task->parts;
    const int trained = count - (held_out > 0 ? held_out : 1);
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < count; i++) {
        const uint16_t word[WORDS] = {[LOW_INDEX] = (uint16_t)i, [HIGH_INDEX] = (uint16_t)(i >> 16)};
        status = add_example(s, i < trained ? LH_SET_TRAIN : LH_SET_VALIDATION, word);
    }
    return status;
}

/* Whether evaluations are grouped by an axis and request only some of its values. */
static bool chooses_values(const lh_collection *c, int axis) {
    if (!c->groups_by(c, axis)) return false;
    for (int v = 1; v <= MAX_DIGITS; v++)
        if (!c->requests(c, axis, v)) return true;
    return false;
}

/* Adds the test examples of one pair of digit counts. */
static lh_status add_digit_counts(collection_state *s, int first, int second) {
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < s->task->tests; i++) {
        const uint16_t word[WORDS] = {
            [FIRST_DIGITS] = (uint16_t)first, [SECOND_DIGITS] = (uint16_t)second, [LOW_INDEX] = (uint16_t)i};
        status = add_example(s, LH_SET_TEST, word);
    }
    return status;
}

/* Adds test examples of all requested pairs of digit counts. */
static lh_status add_test_set(collection_state *s) {
    static const int axes[] = {DIGITS, FIRST, SECOND};
    const lh_collection *c = s->c;
    bool requested[3][MAX_DIGITS + 1];
    int max_digits = 0; /* greatest chosen value on any axis */
    lh_status status = LH_OK;
    for (int a = 0; a < 3; a++) {
        const bool is_chosen = chooses_values(c, axes[a]);
        for (int v = 1; v <= MAX_DIGITS; v++) {
            requested[a][v] = !is_chosen || c->requests(c, axes[a], v);
            if (is_chosen && requested[a][v] && v > max_digits) max_digits = v;
        }
    }
    if (max_digits == 0) max_digits = s->task->max_digits; /* no axis has chosen values */
    for (int first = 1; status == LH_OK && first <= max_digits; first++)
        for (int second = 1; status == LH_OK && second <= max_digits; second++)
            if (requested[0][first > second ? first : second] && requested[1][first] && requested[2][second])
                status = add_digit_counts(s, first, second);
    return status;
}

lh_status lh_collect_sums(const lh_sum_task *task, lh_collection *collection, lh_error *error) {
    collection_state *s = calloc(1, sizeof *s);
    if (s == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory for its examples", task->kind);
    s->task = task;
    s->c = collection;
    s->error = error;
    s->trained.tuple_size = task->numbers;
    s->trained.capacity = lh_number_set_capacity(2 * (uint64_t)task->pairs);
    s->trained.slot = calloc(s->trained.capacity * (uint64_t)task->numbers, sizeof *s->trained.slot);
    collection->expand = task->expand;
    lh_status status = s->trained.slot != NULL
                           ? add_split(s)
                           : lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory for its examples", task->kind);
    if (status == LH_OK) status = add_test_set(s);
    free(s->trained.slot);
    free(s);
    return status;
}

/* ---- literals ---- */

/* The format of a literal in words, and an example of a literal. */
typedef struct form {
    char words[48], example[24];
} form;

static form describe_form(int numbers) {
    form f = {"two numbers with + between them", "12+345"};
    if (numbers > 2) snprintf(f.words, sizeof f.words, "%d numbers with + between them", numbers);
    if (numbers > 2) memcpy(f.example, "12+345+6", sizeof "12+345+6");
    return f;
}

static lh_status fail_symbol(const char *kind, int numbers, const lh_literal *l, int index, lh_error *error) {
    const form f = describe_form(numbers);
    if (index == l->count)
        return lh_fail(error, LH_ERR_INPUT, "%s: a number is missing\n  expected: %s", kind, f.words);
    return lh_fail(error, LH_ERR_INPUT, "%s: symbol %d is '%s'\n  expected: %s, such as %s", kind, index + 1,
                   l->symbol[l->token[index]], f.words, f.example);
}

lh_status lh_read_addends(const char *kind, int numbers, const lh_literal *l, lh_addends *a, lh_error *error) {
    int index = 0;
    a->count = numbers;
    for (int i = 0; i < numbers; i++) {
        if (i > 0 && (index == l->count || l->token[index] != LH_PLUS))
            return fail_symbol(kind, numbers, l, index, error);
        index += i > 0;
        a->digits[i] = lh_read_number(l, 10, l->count, &index, a->digit[i]);
        if (a->digits[i] == 0) return fail_symbol(kind, numbers, l, index, error);
        if (a->digits[i] > MAX_DIGITS)
            return lh_fail(error, LH_ERR_INPUT, "%s: a number of %d digits\n  expected: at most %d", kind, a->digits[i],
                           MAX_DIGITS);
    }
    return index == l->count ? LH_OK : fail_symbol(kind, numbers, l, index, error);
}
