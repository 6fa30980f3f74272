/* Addition without a frame: a + b, where the digit counts of the two numbers vary independently.
 *
 * symbols:        0 1 2 3 4 5 6 7 8 9 + = & _
 *                 a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F G H I J K L M N O P Q R S T
 *                 U V W X Y Z aa ab ac ba bb bc ca cb cc da db dc ea eb ec fa fb fc ga gb gc ha hb hc ia ib
 *                 ic ja jb jc ka kb kc la lb lc ma mb mc na nb nc oa ob oc pa pb pc qa qb qc ra rb rc sa sb
 *                 sc ta tb tc ua ub uc va vb vc wa wb wc xa xb xc ya yb yc za
 * symbol count:   14 - 1 / (1 + hints + spaces) + hints, at least 13
 * start symbol:   =
 * end symbol:     &
 * input length:   (2 * longest * (2 - 1 / (1 + hints)) + 1) * (4 - 3 * (1 / (1 + spaces)))
 * output length:  (longest + 1) * (2 - 1 / (1 + hints)) + 1
 * chance:         0.1
 * literal:        12+345
 * sets:           train test validation
 * number length:  longest + 1 in training; digits + 1, first + 1, second + 1 in tests; 1 with hints; cut by spaces
 * axis digits:    1 to 4096; digits of the longer number
 * axis first:     1 to 4096; digits of the first number
 * axis second:    1 to 4096; digits of the second number
 * axis trained:   0 to 1; 1 if the pair is a training example, else 0
 * positions:      of digits and their hints by weight; of + and =, below those of the lowest digits; spaces have none
 * option order:   reversed plain reversed_sum; the parts that begin with the lowest digit: all, none, the sum
 * option padding: none longer; longer: zeros fill the shorter number to the longer one's length, the sum to one more
 * option longest: 1..4096 = 20; most digits of a number in training; each pair of digit counts is equally likely
 * option pairs:   64..16777216 = 1048576; number of training and validation pairs
 * option parts:   2..1000 = 64; parts of these pairs; the last part, at least one pair, is the validation set
 * option tests:   1..10000 = 100; test pairs for each pair of digit counts
 * option hints:   0..128 = 0; symbols of a cyclic list; one stands before each digit, by the digit's weight
 * option spaces:  0..99 = 0; percentage of the input's symbols with a space (_) before them
 */
#include <stdlib.h>
#include <string.h>

#include "data/arithmetic.h"

lh_task_collect lh_task_free_addition;
lh_task_solve lh_solve_free_addition;
lh_task_place lh_place_free_addition;

static const char kind[] = "free_addition";

enum { ORDER, PADDING, LONGEST, PAIRS, PARTS, TESTS, HINTS, SPACES }; /* options */
enum { PLAIN = 1, REVERSED_SUM, LONGER = 1 };                         /* choices */
enum { DIGITS, FIRST, SECOND, TRAINED, AXES };                        /* axes */
enum { PLUS = 10, EQUALS, END, SPACE, FIRST_HINT };                   /* tokens after the digits */
enum {
    MOST_DIGITS = LH_MOST_PLACES, /* most digits of a number */
    DIGITS_IN_64_BITS = 19,       /* most digits of a number that surely fits in 64 bits */
    PROGRESS = 1 << 14            /* pairs between two reports of progress */
};
enum { MOST_SPACES = 3 /* before a symbol */ };

/* Two numbers, lowest digit first. */
typedef struct pair {
    int digits[2];
    uint8_t digit[2][MOST_DIGITS];
    int first_hint; /* index of the lowest digits' hint in the list of hints */
    int spaces;     /* percentage of input symbols with a space before them */
    lh_rng rng;     /* random numbers of the spaces */
} pair;

/* Words of an item: the digit counts of a test pair, or 0 and 0, then the index of the pair in two words. */
enum { WORDS = 4 };

/* Draws the pair of an item. The random stream's word `step` is 0 for training and validation, and else a number of
 * its own for each pair of digit counts. */
static void draw_pair(uint64_t seed, const int *options, const uint16_t *word, pair *p) {
    const int max_digits = options[LONGEST];
    const uint32_t index = (uint32_t)word[2] | (uint32_t)word[3] << 16;
    const uint32_t step = word[0] == 0 ? 0 : 1 + (uint32_t)word[0] * (MOST_DIGITS + 1) + word[1];
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), step, index, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
    for (int i = 0; i < 2; i++)
        p->digits[i] = word[0] > 0 ? word[i] : 1 + (int)lh_rng_below(&rng, (uint32_t)max_digits);
    for (int i = 0; i < 2; i++) {
        const int top = p->digits[i] - 1;
        for (int d = 0; d < top; d++) p->digit[i][d] = (uint8_t)lh_rng_below(&rng, 10);
        p->digit[i][top] = (uint8_t)(1 + lh_rng_below(&rng, 9));
    }
    p->first_hint = options[HINTS] > 0 ? (int)lh_rng_below(&rng, (uint32_t)options[HINTS]) : 0;
    p->spaces = options[SPACES];
    p->rng = rng;
}

static int get_longer(const pair *p) { return p->digits[0] > p->digits[1] ? p->digits[0] : p->digits[1]; }

static int get_digit(const pair *p, int i, int place) { return place < p->digits[i] ? p->digit[i][place] : 0; }

/* Computes the sum, lowest digit first, one digit longer than the longer number: its last digit may be 0. */
static void add_numbers(const pair *p, uint8_t *sum) {
    const int longer = get_longer(p);
    int carry = 0;
    for (int d = 0; d < longer; d++) {
        carry += get_digit(p, 0, d) + get_digit(p, 1, d);
        sum[d] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    sum[longer] = (uint8_t)carry;
}

static int count_number_digits(const pair *p, const int *options, int i) {
    return options[PADDING] == LONGER ? get_longer(p) : p->digits[i];
}

static int count_sum_digits(const pair *p, const int *options, const uint8_t *sum) {
    const int longer = get_longer(p);
    return longer + (options[PADDING] == LONGER || sum[longer] > 0);
}

static bool begins_with_lowest(const int *options, bool is_sum) {
    return options[ORDER] != PLAIN && (is_sum || options[ORDER] != REVERSED_SUM);
}

/* The place of a token's digit in its number of `count` digits, from 0 for the lowest one. */
static int find_place(const int *options, bool is_sum, int token, int count) {
    return begins_with_lowest(options, is_sum) ? token : count - 1 - token;
}

/* Tokens that are written one after the other, or only counted if `token` is NULL. */
typedef struct writer {
    uint16_t *token;
    int count;
} writer;

static void write_token(writer *w, int token) {
    if (w->token != NULL) w->token[w->count] = (uint16_t)token;
    w->count++;
}

/* Writes a space with a probability of p->spaces percent; if it did, a second one with a tenth of the probability, and
 * a third one with a hundredth: as in McLeish et al. 2024, but at most three spaces. */
static void write_spaces(writer *w, pair *p) {
    uint32_t unit = 100;
    if (p->spaces == 0) return;
    for (int i = 0; i < MOST_SPACES && lh_rng_below(&p->rng, unit) < (uint32_t)p->spaces; i++, unit *= 10)
        write_token(w, SPACE);
}

/* Writes a digit, and before it the hint of its place in its number. */
static void write_digit(writer *w, pair *p, const int *options, int digit, int place) {
    if (options[HINTS] > 0) write_token(w, FIRST_HINT + (p->first_hint + place) % options[HINTS]);
    write_token(w, digit);
}

/* Sets the lengths of the example of a pair and, if example->input is not NULL, writes it. */
static void write_example(const pair *numbers, const int *options, lh_example *example) {
    pair copy = *numbers, *p = &copy;
    uint8_t sum[MOST_DIGITS + 1];
    add_numbers(p, sum);
    const int digits = count_sum_digits(p, options, sum);
    writer input = {example->input, 0}, target = {example->input == NULL ? NULL : example->target, 0};
    for (int i = 0; i < 2; i++) {
        const int count = count_number_digits(p, options, i);
        for (int t = 0; t < count; t++) {
            const int place = find_place(options, false, t, count);
            write_spaces(&input, p);
            write_digit(&input, p, options, get_digit(p, i, place), place);
        }
        if (i == 0) {
            write_spaces(&input, p);
            write_token(&input, PLUS);
        }
    }
    for (int t = 0; t < digits; t++) {
        const int place = find_place(options, true, t, digits);
        write_digit(&target, p, options, sum[place], place);
    }
    write_token(&target, END);
    example->input_length = input.count;
    example->output_length = target.count;
}

/* The position of =, if the sum's highest digit, which may be missing, has place `longer`. */
static int place_equals(const int *options, int longer) { return begins_with_lowest(options, true) ? 1 : longer + 3; }

/* Positions of Cho et al. 2024, "Position Coupling for Improving Length Generalization of Arithmetic Transformers". */
void lh_place_free_addition(const lh_example *example, int32_t *input, int32_t *target) {
    const int *options = example->options, width = options[HINTS] > 0 ? 2 : 1; /* tokens of a digit */
    int count[2] = {0}, number = 0;
    for (int t = 0; t < example->input_length; t++) {
        number |= example->input[t] == PLUS;
        count[number] += example->input[t] < PLUS;
    }
    const int longer = count[0] > count[1] ? count[0] : count[1];
    number = 0;
    for (int t = 0, digit = 0; t < example->input_length; t++) {
        const uint16_t token = example->input[t];
        const bool is_plus = token == PLUS;
        input[t] = is_plus ? 1 : token == SPACE ? 0 : 2 + find_place(options, false, digit, count[number]);
        number |= is_plus;
        digit = is_plus ? 0 : digit + (token < PLUS);
    }
    target[0] = place_equals(options, longer);
    for (int t = 0; t + 1 < example->output_length; t++)
        target[t + 1] = t / width <= longer ? 2 + find_place(options, true, t / width, longer + 1) : 0;
}

static void expand(uint64_t seed, const uint16_t *word, lh_example *example) {
    pair p;
    draw_pair(seed, example->options, word, &p);
    write_example(&p, example->options, example);
}

/* ---- pairs of the training set ---- */

/* The numbers of a pair as integers, for the hash set. */
typedef struct numbers {
    uint64_t first, second;
} numbers;

/* A hash set of pairs with open addressing; its capacity is a power of 2. No number is 0, so 0 marks a free slot. */
typedef struct trained_pairs {
    numbers *slot; /* [capacity] */
    uint64_t capacity;
} trained_pairs;

static bool fits_64_bits(const pair *p) { return get_longer(p) <= DIGITS_IN_64_BITS; }

static uint64_t compute_number(const pair *p, int i) {
    uint64_t number = 0;
    for (int d = p->digits[i] - 1; d >= 0; d--) number = number * 10 + p->digit[i][d];
    return number;
}

/* The slot of a pair of at most DIGITS_IN_64_BITS digits each, which is free if the set lacks the pair. */
static numbers *find_slot(const trained_pairs *t, numbers n) {
    uint64_t slot = ((n.first ^ n.second << 32 ^ n.second >> 32) * 0x9e3779b97f4a7c15u) >> 20;
    while (t->slot[slot &= t->capacity - 1].first != 0 &&
           (t->slot[slot].first != n.first || t->slot[slot].second != n.second))
        slot++;
    return &t->slot[slot];
}

/* ---- collection ---- */

typedef struct collection_state {
    lh_collection *c;
    lh_error *error;
    trained_pairs trained;
    int64_t finished_pairs; /* for the progress bar */
    pair p;                 /* scratch */
} collection_state;

/* Adds the pair of an item. A pair with a number of more than DIGITS_IN_64_BITS digits counts as new, since there are
 * more than 10^19 such numbers. */
static lh_status add_pair(collection_state *s, lh_set set, const uint16_t *word) {
    const int *options = s->c->options;
    lh_example sizes = {.input = NULL};
    draw_pair(s->c->seed, options, word, &s->p);
    write_example(&s->p, options, &sizes);
    if (options[HINTS] > 0 && options[HINTS] <= get_longer(&s->p))
        return lh_fail(s->error, LH_ERR_INPUT,
                       "%s: task.options.hints is %d, and sums of numbers of %d digits need %d hints\n"
                       "  expected: at least %d hints (at most 128), or shorter numbers",
                       kind, options[HINTS], get_longer(&s->p), get_longer(&s->p) + 1, get_longer(&s->p) + 1);
    int32_t axes[AXES] = {get_longer(&s->p), s->p.digits[0], s->p.digits[1], set == LH_SET_TRAIN ? LH_NO_VALUE : 0};
    if (fits_64_bits(&s->p)) {
        const numbers n = {compute_number(&s->p, 0), compute_number(&s->p, 1)};
        numbers *slot = find_slot(&s->trained, n);
        if (set == LH_SET_TRAIN) *slot = n;
        else axes[TRAINED] = slot->first != 0;
    }
    if (s->finished_pairs++ % PROGRESS == 0)
        s->c->progress(s->c, s->finished_pairs < options[PAIRS] ? (double)s->finished_pairs / options[PAIRS] : 1);
    const int longer = get_longer(&s->p), equals = place_equals(options, longer);
    const lh_item item = {word, WORDS, sizes.input_length, sizes.output_length,
                          equals > longer + 2 ? equals : longer + 2};
    return s->c->add_item(s->c, set, &item, axes, s->error);
}

static lh_status add_split(collection_state *s) {
    const int count = s->c->options[PAIRS], part = count / s->c->options[PARTS],
              trained = count - (part > 0 ? part : 1);
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < count; i++) {
        const uint16_t word[WORDS] = {0, 0, (uint16_t)i, (uint16_t)(i >> 16)};
        status = add_pair(s, i < trained ? LH_SET_TRAIN : LH_SET_VALIDATION, word);
    }
    return status;
}

/* Whether evaluations choose values of an axis: they group by it, and not by all its values. */
static bool chooses(const lh_collection *c, int axis) {
    if (!c->groups_by(c, axis)) return false;
    for (int v = 1; v <= MOST_DIGITS; v++)
        if (!c->requests(c, axis, v)) return true;
    return false;
}

static lh_status add_cell(collection_state *s, int first, int second) {
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < s->c->options[TESTS]; i++) {
        const uint16_t word[WORDS] = {(uint16_t)first, (uint16_t)second, (uint16_t)i, 0};
        status = add_pair(s, LH_SET_TEST, word);
    }
    return status;
}

/* Adds test pairs of all requested pairs of digit counts, up to the greatest count that evaluations choose on any axis;
 * up to the longest one of training if they choose none. */
static lh_status add_test_set(collection_state *s) {
    static const int axes[] = {DIGITS, FIRST, SECOND};
    const lh_collection *c = s->c;
    bool requested[3][MOST_DIGITS + 1];
    int max_digits = 0;
    lh_status status = LH_OK;
    for (int a = 0; a < 3; a++) {
        const bool is_chosen = chooses(c, axes[a]);
        for (int v = 1; v <= MOST_DIGITS; v++) {
            requested[a][v] = !is_chosen || c->requests(c, axes[a], v);
            if (is_chosen && requested[a][v] && v > max_digits) max_digits = v;
        }
    }
    if (max_digits == 0) max_digits = c->options[LONGEST];
    for (int first = 1; status == LH_OK && first <= max_digits; first++)
        for (int second = 1; status == LH_OK && second <= max_digits; second++)
            if (requested[0][first > second ? first : second] && requested[1][first] && requested[2][second])
                status = add_cell(s, first, second);
    return status;
}

lh_status lh_task_free_addition(lh_collection *collection, lh_error *error) {
    collection_state *s = calloc(1, sizeof *s);
    if (s == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory for its pairs", kind);
    s->c = collection;
    s->error = error;
    for (s->trained.capacity = 64; s->trained.capacity < 2 * (uint64_t)collection->options[PAIRS];)
        s->trained.capacity *= 2;
    s->trained.slot = calloc(s->trained.capacity, sizeof *s->trained.slot);
    collection->expand = expand;
    lh_status status = s->trained.slot != NULL
                           ? add_split(s)
                           : lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory for its pairs", kind);
    if (status == LH_OK) status = add_test_set(s);
    free(s->trained.slot);
    free(s);
    return status;
}

/* ---- literals ---- */

static lh_status fail_symbol(const lh_literal *l, int index, lh_error *error) {
    if (index == l->count)
        return lh_fail(error, LH_ERR_INPUT, "%s: a number is missing\n  expected: two numbers with + between them",
                       kind);
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: symbol %d is '%s'\n  expected: two numbers with + between them, such as 12+345", kind,
                   index + 1, l->symbol[l->token[index]]);
}

static lh_status read_number(const lh_literal *l, int *index, pair *p, int i, lh_error *error) {
    p->digits[i] = lh_read_number(l, 10, l->count, index, p->digit[i]);
    if (p->digits[i] == 0) return fail_symbol(l, *index, error);
    if (p->digits[i] <= MOST_DIGITS) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "%s: a number of %d digits\n  expected: at most %d", kind, p->digits[i],
                   MOST_DIGITS);
}

lh_status lh_solve_free_addition(const lh_literal *literal, lh_example *example, lh_error *error) {
    lh_literal l = *literal;
    pair p;
    int index = 0;
    if (l.count > 0 && l.token[l.count - 1] == EQUALS) l.count--;
    lh_status status = read_number(&l, &index, &p, 0, error);
    if (status == LH_OK && (index == l.count || l.token[index] != PLUS)) return fail_symbol(&l, index, error);
    index++;
    if (status == LH_OK) status = read_number(&l, &index, &p, 1, error);
    if (status == LH_OK && index < l.count) return fail_symbol(&l, index, error);
    p.first_hint = p.spaces = 0;
    if (status == LH_OK) write_example(&p, l.options, example);
    return status;
}
