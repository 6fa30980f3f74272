/* See arithmetic.h. */
#include "data/arithmetic_items.h"

#include <stdlib.h>
#include <string.h>

#include "data/datasets/epoch.h"
#include "data/datasets/number_set.h"

enum { DIGITS, CARRY, TRAINED, FRAME, AXES }; /* indices of axes; if a task lacks CARRY, later indices are 1 less */

/* Purposes of random numbers, values of the counter word `example` (arithmetic_items.h):
 *
 *   ORDER                      the order of all numbers of training and validation
 *   PAIRS                      the digits or pairs that draw_permuted draws
 *   FIRST, SECOND              first and second operands of stratified pairs
 *   FIRST_ORDER, SECOND_ORDER  the orders of these operands
 *   ALL_NUMBERS + d            the order of all numbers with d digits in the test set
 */
enum { ORDER, FIRST, SECOND, PAIRS, FIRST_ORDER, SECOND_ORDER, ALL_NUMBERS = 64 };
enum {
    STRATA = 6,             /* each digit count from 1 to this number has a stratum */
    MAX_PER_DIGITS = 10000, /* maximum test numbers of a digit count */
    MAX_PER_CHAIN = 500,    /* maximum test numbers of a digit count and a length of the longest chain */
    PROGRESS = 1 << 14      /* examples between two reports of progress */
};

/* Joins a pair of numbers to one number above 0, which represents the pair in the set of training pairs. */
static uint64_t join_pair(uint64_t first, uint64_t second) { return (first << 32 | second) + 1; }

/* ---- collection ---- */

typedef struct collection_state {
    const lh_operation *operation; /* the task */
    lh_frame task_frame;
    lh_collection *collection;
    lh_error *error;
    lh_number_set trained;    /* pairs of the training set, as single numbers */
    uint32_t *first, *second; /* [task_frame.numbers] operands for training and validation */
    int64_t items;            /* number of stored items */
    int64_t total;            /* estimate of the final number of items, for the progress bar */
    int frame;                /* value of new items on the axis `frame`; LH_NO_VALUE: they have the task's frame */
    int width;                /* width of the frame of new items; 0: the task's width */
    uint8_t x[LH_MAX_PLACES], y[LH_MAX_PLACES]; /* scratch */
} collection_state;

static int get_trained_axis(const lh_operation *o) { return o->operands == LH_ONE_NUMBER ? TRAINED - 1 : TRAINED; }
static int get_frame_axis(const lh_operation *o) { return o->operands == LH_ONE_NUMBER ? FRAME - 1 : FRAME; }

/* Stores an item with its values on the axes. requested_chain: for a test item that was drawn by its longest chain, the
 * length of this chain; else LH_NO_VALUE. */
static lh_status add_item(collection_state *s, lh_set set, const lh_number_item *new_item, int requested_chain) {
    bool has_carries = s->operation->operands != LH_ONE_NUMBER;
    lh_frame f = lh_set_width(s->operation, s->collection->options, s->width).frame;
    memset(s->x, 0, (size_t)f.width);
    memset(s->y, 0, (size_t)f.width);
    int digits = lh_read_item(s->operation, &s->task_frame, s->collection->seed, new_item->word, s->x, s->y);
    uint64_t x = lh_compute_number(s->task_frame.base, s->x, digits),
             y = lh_compute_number(s->task_frame.base, s->y, digits);
    const uint64_t pair = join_pair(x, y);
    bool is_trained = x <= UINT32_MAX && y <= UINT32_MAX && *lh_number_set_find(&s->trained, &pair) != 0;
    int32_t axes[AXES] = {digits, LH_NO_VALUE, LH_NO_VALUE, LH_NO_VALUE};
    if (has_carries)
        axes[CARRY] =
            set == LH_SET_TEST ? requested_chain : lh_measure_chain(s->operation, &s->task_frame, digits, s->x, s->y);
    axes[get_trained_axis(s->operation)] = set == LH_SET_TRAIN ? LH_NO_VALUE : is_trained;
    axes[get_frame_axis(s->operation)] = s->frame;
    if (s->items++ % PROGRESS == 0)
        s->collection->progress(s->collection, s->items < s->total ? (double)s->items / (double)s->total : 1);
    lh_number_item framed = *new_item;
    lh_set_item_width(&framed, s->width);
    lh_item stored = {.word = framed.word,
                      .words = new_item->words,
                      .input_length = f.input_length,
                      .output_length = f.output_length,
                      .greatest_position = f.greatest_position};
    return s->collection->add_item(s->collection, set, &stored, axes, s->error);
}

/* Draws one operand for each pair as the code of Duan and Shi does. purpose: FIRST or SECOND. Each digit count up to
 * STRATA gets an equal share of the operands, which are random numbers with this digit count. If the numbers with this
 * digit count, m of them, are not more than the share, the operands are 0 .. m - 1 instead. The remaining operands are
 * uniform from 1 to base^STRATA. As in that code, ranges include their upper ends: 1 is added to m and to the share. */
static void draw_strata(collection_state *s, int purpose, uint32_t *list) {
    int count = s->task_frame.numbers, share = count / STRATA, used = 0;
    lh_rng rng = lh_make_number_stream(s->collection->seed, 0, (uint32_t)purpose);
    uint64_t top = lh_compute_power(s->task_frame.base, STRATA);
    for (int digits = 1; digits <= STRATA; digits++) {
        uint64_t low = lh_compute_power(s->task_frame.base, digits - 1),
                 number_count = low * (uint64_t)(s->task_frame.base - 1) + 1;
        bool is_random = number_count > (uint64_t)share + 1;
        uint64_t operand_count = is_random ? (uint64_t)share + 1 : number_count;
        for (uint64_t i = 0; i < operand_count && used < count; i++)
            list[used++] = (uint32_t)(is_random ? low + lh_rng_below(&rng, (uint32_t)number_count) : i);
    }
    while (used < count) list[used++] = 1 + lh_rng_below(&rng, (uint32_t)top);
    lh_shuffle(lh_make_number_stream(s->collection->seed, 0, (uint32_t)(FIRST_ORDER + purpose - FIRST)), list, count);
}

static void draw_stratified(collection_state *s) {
    draw_strata(s, FIRST, s->first);
    if (s->operation->operands == LH_TWO_NUMBERS) {
        draw_strata(s, SECOND, s->second);
        return;
    }
    lh_rng rng = lh_make_number_stream(s->collection->seed, 0, SECOND);
    for (int i = 0; i < s->task_frame.numbers; i++)
        s->second[i] = 1 + lh_rng_below(&rng, (uint32_t)s->task_frame.base - 1);
}

/* Draws the pairs first .. end - 1; their operands are drawn from order[first .. end - 1]. */
static void draw_pairs(collection_state *s, const uint32_t *order, lh_rng *rng, int first, int end) {
    uint32_t count = (uint32_t)(end - first);
    for (int i = first; i < end; i++) {
        s->first[i] = order[first + (int)lh_rng_below(rng, count)];
        s->second[i] = order[first + (int)lh_rng_below(rng, count)];
    }
}

/* Puts the numbers below task_frame.numbers into a random order. If the second operand is a digit, draws one for each
 * number. If it is a number, draws training pairs from the first `trained` numbers of the order, and validation pairs
 * from the other numbers. false: out of memory. */
static bool draw_permuted(collection_state *s, int trained) {
    int count = s->task_frame.numbers;
    lh_draw_order(lh_make_number_stream(s->collection->seed, 0, ORDER), s->first, count);
    lh_rng rng = lh_make_number_stream(s->collection->seed, 0, PAIRS);
    for (int i = 0; s->operation->operands == LH_NUMBER_AND_DIGIT && i < count; i++)
        s->second[i] = lh_rng_below(&rng, (uint32_t)s->task_frame.base);
    if (s->operation->operands != LH_TWO_NUMBERS) return true;
    uint32_t *order = malloc((size_t)count * sizeof *order);
    if (order == NULL) return false;
    memcpy(order, s->first, (size_t)count * sizeof *order);
    draw_pairs(s, order, &rng, 0, trained);
    draw_pairs(s, order, &rng, trained, count);
    free(order);
    return true;
}

/* Adds the training and validation examples. */
static lh_status add_split(collection_state *s) {
    int count = s->task_frame.numbers, trained = count - count / s->task_frame.parts;
    lh_status status = LH_OK;
    if (s->task_frame.is_stratified) draw_stratified(s);
    else if (!draw_permuted(s, trained)) return lh_fail(s->error, LH_ERR_ENVIRONMENT, "no memory for the numbers");
    for (int i = 0; i < trained; i++) {
        const uint64_t pair = join_pair(s->first[i], s->second[i]);
        *lh_number_set_find(&s->trained, &pair) = pair;
    }
    for (int i = 0; status == LH_OK && i < count; i++) {
        lh_number_item new_item = lh_make_small_item(s->first[i], s->second[i]);
        status = add_item(s, i < trained ? LH_SET_TRAIN : LH_SET_VALIDATION, &new_item, LH_NO_VALUE);
    }
    return status;
}

/* Stores all numbers with `digits` digits in the test set, in a random order. count: how many such numbers exist. */
static lh_status add_all_numbers(collection_state *s, int digits, uint32_t count) {
    uint32_t low = (uint32_t)lh_compute_power(s->task_frame.base, digits - 1), list[MAX_PER_DIGITS];
    lh_status status = LH_OK;
    for (uint32_t i = 0; i < count; i++) list[i] = low + i;
    lh_shuffle(lh_make_number_stream(s->collection->seed, 0, (uint32_t)(ALL_NUMBERS + digits)), list, count);
    for (uint32_t i = 0; status == LH_OK && i < count; i++) {
        lh_number_item new_item = lh_make_small_item(list[i], 0);
        status = add_item(s, LH_SET_TEST, &new_item, LH_NO_VALUE);
    }
    return status;
}

/* Adds at most MAX_PER_DIGITS test numbers with this number of digits: all such numbers or, as in the paper, random
 * ones. */
static lh_status add_digits(collection_state *s, int digits) {
    uint64_t end = lh_compute_power(s->task_frame.base, digits);
    uint64_t number_count = end == UINT64_MAX ? end : end - lh_compute_power(s->task_frame.base, digits - 1);
    bool is_single = s->operation->operands == LH_ONE_NUMBER || s->operation->operands == LH_NUMBER_PLUS_ONE;
    lh_status status = LH_OK;
    if (number_count <= MAX_PER_DIGITS && is_single) return add_all_numbers(s, digits, (uint32_t)number_count);
    for (uint32_t i = 0; status == LH_OK && i < MAX_PER_DIGITS && i < number_count; i++) {
        lh_number_item new_item = lh_make_drawn_item(digits, i);
        status = add_item(s, LH_SET_TEST, &new_item, LH_NO_VALUE);
    }
    return status;
}

/* Whether evaluations request test numbers with `digits` digits. */
static bool requests_digits(const collection_state *s, int digits) {
    return !s->collection->groups_by(s->collection, DIGITS) || s->collection->requests(s->collection, DIGITS, digits);
}

/* The greatest digit count of test numbers in the current frame. It is at most the task's lh_frame.digits, unless
 * eval.by requests numbers with more digits; 0: there are no test numbers. */
static int find_max_digits(const collection_state *s) {
    int digits = s->task_frame.digits;
    if (s->frame > 0) digits = lh_set_width(s->operation, s->collection->options, s->frame).frame.digits;
    if (digits > s->task_frame.digits && !s->collection->groups_by(s->collection, DIGITS))
        digits = s->task_frame.digits;
    while (digits > 0 && !requests_digits(s, digits)) digits--;
    return digits;
}

/* Sets the width for the next numbers, of `digits` digits, in the current frame. */
static void set_width(collection_state *s, int digits) {
    s->width = s->frame;
    if (s->frame == LH_NO_VALUE) s->width = 0;
    else if (s->frame == 0) s->width = lh_find_least_width(s->operation, s->collection->options, digits);
}

/* Adds test numbers with this number of digits and this length of the longest chain. chains: NULL for
 * LH_NUMBER_PLUS_ONE. */
static lh_status add_chain(collection_state *s, const lh_chains *chains, int digits, int chain) {
    lh_status status = LH_OK;
    bool exists = true;
    set_width(s, digits);
    for (uint32_t i = 0; exists && status == LH_OK && i < MAX_PER_CHAIN; i++) {
        uint8_t x[LH_MAX_CHAIN_DIGITS] = {0}, y[LH_MAX_CHAIN_DIGITS] = {0};
        lh_rng rng = lh_make_number_stream(s->collection->seed, lh_choose_stream_step(digits, chain), i);
        exists = chains != NULL ? lh_chains_draw(chains, &rng, digits, x, y)
                                : lh_draw_trailing_digits(s->task_frame.base, &rng, digits, chain, x);
        lh_number_item new_item = lh_make_written_item(digits, x, y);
        if (exists) status = add_item(s, LH_SET_TEST, &new_item, chain);
    }
    return status;
}

static lh_status add_requested_chains(collection_state *s, lh_chains *chains, int max_digits) {
    lh_status status = LH_OK;
    for (int chain = 0; status == LH_OK && chain <= max_digits; chain++) {
        if (!s->collection->requests(s->collection, CARRY, chain)) continue;
        if (chains != NULL) lh_chains_set_length(chains, chain);
        for (int digits = chain > 0 ? chain : 1; status == LH_OK && digits <= max_digits; digits++)
            if (requests_digits(s, digits)) status = add_chain(s, chains, digits, chain);
    }
    return status;
}

/* Adds test numbers for every requested number of digits and length of the longest chain. */
static lh_status add_chains(collection_state *s) {
    int max_digits = find_max_digits(s);
    lh_chains *chains = NULL;
    lh_status status = LH_OK;
    if (max_digits > LH_MAX_CHAIN_DIGITS)
        return lh_fail(s->error, LH_ERR_INPUT,
                       "%s: eval.by requests carries of numbers that have %d digits\n"
                       "  expected: at most %d digits (eval.by.digits)",
                       s->operation->kind, max_digits, LH_MAX_CHAIN_DIGITS);
    if (s->operation->operands != LH_NUMBER_PLUS_ONE)
        status = lh_chains_open(&chains, s->task_frame.base, s->operation->operands == LH_NUMBER_AND_DIGIT, max_digits,
                                s->error);
    if (status == LH_OK) status = add_requested_chains(s, chains, max_digits);
    lh_chains_close(chains);
    return status;
}

/* Adds the test numbers in the current frame with up to max_digits digits. */
static lh_status add_numbers(collection_state *s, int max_digits) {
    bool groups_by_carry = s->operation->operands != LH_ONE_NUMBER && s->collection->groups_by(s->collection, CARRY);
    lh_status status = LH_OK;
    for (int digits = 1; status == LH_OK && digits <= max_digits; digits++) {
        if (!requests_digits(s, digits)) continue;
        set_width(s, digits);
        status = add_digits(s, digits);
    }
    return status == LH_OK && groups_by_carry ? add_chains(s) : status;
}

/* Adds once more, in frames of `frame` places, the test numbers that fit in such a frame. frame 0: adds each number in
 * its smallest frame. */
static lh_status add_frame(collection_state *s, int frame) {
    s->frame = frame;
    int max_digits = find_max_digits(s);
    lh_status status = max_digits > 0 ? add_numbers(s, max_digits) : LH_OK;
    s->width = 0;
    s->frame = LH_NO_VALUE;
    if (max_digits > 0) return status;
    return lh_fail(s->error, LH_ERR_INPUT,
                   "%s: eval.by requests a frame of %d places, which holds numbers of at most %d digits\n"
                   "  expected: a frame that holds numbers with one of the digit counts in eval.by.digits",
                   s->operation->kind, frame, lh_set_width(s->operation, s->collection->options, frame).frame.digits);
}

/* Adds the test numbers of all requested frames. Only evaluations by frame use them (exclusive_axes). */
static lh_status add_frames(collection_state *s) {
    int axis = get_frame_axis(s->operation);
    lh_status status = LH_OK;
    if (!s->collection->groups_by(s->collection, axis)) return LH_OK;
    s->collection->exclusive_axes[LH_SET_TEST] |= 1u << axis;
    for (int frame = 0; status == LH_OK && frame <= LH_MAX_PLACES; frame++)
        if (s->collection->requests(s->collection, axis, frame)) status = add_frame(s, frame);
    return status;
}

/* Adds the test set. Only evaluations by carry use the numbers of requested chains (exclusive_axes). */
static lh_status add_test_set(collection_state *s) {
    if (s->operation->operands != LH_ONE_NUMBER) s->collection->exclusive_axes[LH_SET_TEST] = 1u << CARRY;
    lh_status status = add_numbers(s, find_max_digits(s));
    return status == LH_OK ? add_frames(s) : status;
}

/* Checks that the frame can hold the training and validation numbers. */
static lh_status check_frame(const collection_state *s) {
    uint64_t largest_number = s->task_frame.is_stratified ? lh_compute_power(s->task_frame.base, STRATA)
                                                          : (uint64_t)s->task_frame.numbers - 1;
    int digits = lh_count_number_digits(s->task_frame.base, largest_number);
    if (digits <= s->task_frame.digits) return LH_OK;
    return lh_fail(s->error, LH_ERR_INPUT,
                   "%s: the frame holds numbers of at most %d digits, but training numbers have up to %d in base %d\n"
                   "  expected: a task.options.width that is %d greater%s",
                   s->operation->kind, s->task_frame.digits, digits, s->task_frame.base, digits - s->task_frame.digits,
                   s->task_frame.is_stratified ? "" : ", or a smaller task.options.numbers");
}

/* The approximate number of examples, as if every frame had as many test numbers as the task's frame. */
static int64_t count_examples(const collection_state *s) {
    int64_t count = s->task_frame.numbers, tests = 0, chain_conditions = 0, frames = 1;
    bool groups_by_carry = s->operation->operands != LH_ONE_NUMBER && s->collection->groups_by(s->collection, CARRY);
    for (int digits = 1; digits <= s->task_frame.digits; digits++) {
        if (!requests_digits(s, digits)) continue;
        tests += MAX_PER_DIGITS;
        for (int chain = 0; groups_by_carry && chain <= digits && digits <= LH_MAX_CHAIN_DIGITS; chain++)
            chain_conditions += s->collection->requests(s->collection, CARRY, chain);
    }
    for (int frame = 0; s->collection->groups_by(s->collection, get_frame_axis(s->operation)) && frame <= LH_MAX_PLACES;
         frame++)
        frames += s->collection->requests(s->collection, get_frame_axis(s->operation), frame);
    return count + frames * (tests + chain_conditions * MAX_PER_CHAIN);
}

static bool open_collection(collection_state *s) {
    size_t count = (size_t)s->task_frame.numbers;
    s->first = calloc(count, sizeof *s->first);
    s->second = calloc(count, sizeof *s->second);
    s->trained = (lh_number_set){.capacity = lh_number_set_capacity(2 * count), .tuple_size = 1};
    s->trained.slot = calloc(s->trained.capacity, sizeof *s->trained.slot);
    return s->first != NULL && s->second != NULL && s->trained.slot != NULL;
}

lh_status lh_arithmetic_collect(const lh_operation *o, lh_collection *c, lh_error *error) {
    collection_state s = {
        .operation = o, .task_frame = o->frame(c->options), .collection = c, .frame = LH_NO_VALUE, .error = error};
    lh_status status = check_frame(&s);
    if (status != LH_OK) return status;
    c->expand = o->expand;
    s.total = count_examples(&s);
    if (!open_collection(&s)) status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory for the numbers", o->kind);
    if (status == LH_OK) status = add_split(&s);
    if (status == LH_OK) status = add_test_set(&s);
    free(s.first);
    free(s.second);
    free(s.trained.slot);
    return status;
}
