/* See chains.h. Digits are drawn from the lowest to the highest. The weight of a digit is the number of ways to choose
 * all higher digits so that the longest chain has the requested length. */
#include "data/chains.h"

#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

/* A number value * 2^exponent; the highest bit of value is set; value 0: zero. */
typedef struct weight {
    uint32_t value;
    int32_t exponent;
} weight;

/* The weight value * 2^exponent, rounded down. */
static weight normalise(uint64_t value, int exponent) {
    if (value == 0) return (weight){0, 0};
    int shift = 32 - __builtin_clzll(value);
    return (weight){(uint32_t)(shift > 0 ? value >> shift : value << -shift), exponent + shift};
}

/* The value of a weight in units of 2^exponent, rounded down; exponent is at least w.exponent. */
static uint64_t scale_weight(weight w, int exponent) {
    int shift = exponent - w.exponent;
    return shift < 32 ? (uint64_t)w.value >> shift : 0;
}

static weight add_weights(weight a, weight b) {
    if (a.value == 0 || b.value == 0) return a.value == 0 ? b : a;
    int exponent = a.exponent > b.exponent ? a.exponent : b.exponent;
    return normalise(scale_weight(a, exponent) + scale_weight(b, exponent), exponent);
}

static weight multiply_weight(weight w, int count) {
    return normalise((uint64_t)w.value * (uint32_t)count, w.exponent);
}

/* Draws an index with probabilities proportional to the weights, at least one of which is not 0. Weights are cut to 24
 * bits, so that their sum fits in 32. */
static int draw_index(lh_rng *rng, const weight *w, int count) {
    int exponent = INT32_MIN, last = 0;
    uint64_t total = 0;
    for (int i = 0; i < count; i++)
        if (w[i].value != 0 && w[i].exponent > exponent) exponent = w[i].exponent;
    for (int i = 0; i < count; i++) total += w[i].value != 0 ? scale_weight(w[i], exponent) >> 8 : 0;
    uint32_t remainder = lh_rng_below(rng, (uint32_t)total);
    for (int i = 0; i < count; i++) {
        uint64_t weight_part = w[i].value != 0 ? scale_weight(w[i], exponent) >> 8 : 0;
        if (weight_part == 0) continue;
        last = i;
        if (remainder < weight_part) break;
        remainder -= (uint32_t)weight_part;
    }
    return last;
}

/* ---- digits ---- */

/* The effect of one place on a chain of carries. */
typedef enum effect {
    ENDS_CHAIN,     /* the place makes no carry */
    BEGINS_CHAIN,   /* the place makes a carry that does not depend on the incoming carry */
    CONTINUES_CHAIN /* the carry of the place is greater because of the incoming carry */
} effect;

typedef struct step {
    effect effect;
    int carry; /* carry out of the place */
} step;

/* The step at a place. total: sum or product of the place's digits; carry: incoming carry. */
static step make_step(int base, int total, int carry) {
    int out = (total + carry) / base;
    return (step){out > total / base ? CONTINUES_CHAIN : total >= base ? BEGINS_CHAIN : ENDS_CHAIN, out};
}

/* The length of the chain after a place. */
static int extend_chain(effect place_effect, int length) {
    return place_effect == CONTINUES_CHAIN ? length + 1 : place_effect == BEGINS_CHAIN ? 1 : 0;
}

int lh_find_longest_chain(int base, bool is_product, int digits, const uint8_t *x, const uint8_t *y) {
    int carry = 0, length = 0, max_length = 0;
    for (int i = 0; i < digits; i++) {
        step s = make_step(base, is_product ? x[i] * y[0] : x[i] + y[i], carry);
        carry = s.carry;
        length = extend_chain(s.effect, length);
        if (length > max_length) max_length = length;
    }
    return max_length;
}

/* Choices for a place with a given incoming carry: pairs of digits, in groups with equal steps. */
enum { MAX_GROUPS = 2 * LH_MAX_BASE + 1, MAX_CHOICES = LH_MAX_BASE * LH_MAX_BASE };
typedef struct choices {
    int groups;
    struct {
        step step;
        int first, count; /* range in `pair` */
    } group[MAX_GROUPS];
    uint16_t pair[MAX_CHOICES]; /* x * base + y, group by group */
} choices;

/* Appends pairs of digits (x, y) to c->pair, which has `used` elements: all pairs with the step wanted_step, x of at
 * least min_x, and y from y_first to y_last. Returns the new number of elements. */
static int append_group(choices *c, int base, bool is_product, int carry, int min_x, int y_first, int y_last,
                        step wanted_step, int used) {
    for (int x = min_x; x < base; x++)
        for (int y = y_first; y <= y_last; y++) {
            step s = make_step(base, is_product ? x * y : x + y, carry);
            if (s.effect == wanted_step.effect && s.carry == wanted_step.carry)
                c->pair[used++] = (uint16_t)(x * base + y);
        }
    return used;
}

/* Lists the choices of a place. is_top: the place is the highest one, where no digit is 0; multiplier: y in a product.
 */
static void make_choices(choices *c, int base, bool is_product, int multiplier, int carry, bool is_top) {
    int min_digit = is_top ? 1 : 0, used = 0;
    int y_first = is_product ? multiplier : min_digit, y_last = is_product ? multiplier : base - 1;
    c->groups = 0;
    for (int kind = ENDS_CHAIN; kind <= CONTINUES_CHAIN; kind++)
        for (int out = 0; out < base; out++) {
            int first = used;
            step wanted_step = {(effect)kind, out};
            used = append_group(c, base, is_product, carry, min_digit, y_first, y_last, wanted_step, used);
            if (used == first) continue;
            c->group[c->groups].step = wanted_step;
            c->group[c->groups].first = first;
            c->group[c->groups++].count = used - first;
        }
}

/* ---- numbers of ways to choose the higher digits ---- */

struct lh_chains {
    int base;
    int digits; /* maximum digit count */
    int chain;  /* requested length of the longest chain, see lh_chains_set_length */
    bool is_product;
    int multipliers;  /* number of possible multipliers: `base` in a product, 1 in a sum */
    int carries;      /* number of possible carries: `base` in a product, 2 in a sum */
    choices *choices; /* [multipliers][carries][2], the last index is is_top */
    /* Numbers of ways to choose the higher digits: [multipliers][places left][carries][length of the chain that ends at
     * the last place][is_reached: some chain already has the requested length] */
    weight *ways;
};

static const choices *get_choices(const lh_chains *c, int multiplier, int carry, bool is_top) {
    return &c->choices[(multiplier * c->carries + carry) * 2 + is_top];
}

static weight *get_ways(const lh_chains *c, int multiplier, int places_left, int carry, int length, bool is_reached) {
    size_t row =
        ((size_t)multiplier * (size_t)(c->digits + 1) + (size_t)places_left) * (size_t)c->carries + (size_t)carry;
    return &c->ways[(row * (size_t)(c->digits + 1) + (size_t)length) * 2 + is_reached];
}

lh_status lh_chains_open(lh_chains **chains, int base, bool is_product, int digits, lh_error *error) {
    lh_chains *c = *chains = calloc(1, sizeof *c);
    if (c != NULL) {
        *c = (lh_chains){.base = base,
                         .digits = digits,
                         .is_product = is_product,
                         .multipliers = is_product ? base : 1,
                         .carries = is_product ? base : 2};
        size_t combinations = (size_t)c->multipliers * (size_t)c->carries, lengths = (size_t)digits + 1;
        c->choices = calloc(combinations * 2, sizeof *c->choices);
        c->ways = calloc(combinations * lengths * lengths * 2, sizeof *c->ways);
    }
    if (c == NULL || c->choices == NULL || c->ways == NULL)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory to draw numbers by their carries");
    for (int m = 0; m < c->multipliers; m++)
        for (int carry = 0; carry < c->carries; carry++)
            for (int is_top = 0; is_top < 2; is_top++)
                make_choices(&c->choices[(m * c->carries + carry) * 2 + is_top], base, is_product, m, carry, is_top);
    return LH_OK;
}

void lh_chains_close(lh_chains *c) {
    if (c != NULL) {
        free(c->choices);
        free(c->ways);
    }
    free(c);
}

/* The number of ways to choose the digits from a place on, with digits of one group at this place; 0 if the chain would
 * become too long. */
static weight count_group_ways(const lh_chains *c, int multiplier, int places_left, const choices *place_choices,
                               int group, int length, bool is_reached) {
    step s = place_choices->group[group].step;
    int new_length = extend_chain(s.effect, length);
    if (new_length > c->chain) return (weight){0, 0};
    bool is_now_reached = is_reached || new_length == c->chain;
    weight higher_ways = *get_ways(c, multiplier, places_left - 1, s.carry, new_length, is_now_reached);
    return multiply_weight(higher_ways, place_choices->group[group].count);
}

/* The number of ways to choose the remaining digits; 0 if no chain can have the requested length. */
static weight count_ways(const lh_chains *c, int multiplier, int places_left, int carry, int length, bool is_reached) {
    const choices *place_choices = get_choices(c, multiplier, carry, places_left == 1);
    weight sum = {0, 0};
    for (int g = 0; g < place_choices->groups; g++)
        sum = add_weights(sum, count_group_ways(c, multiplier, places_left, place_choices, g, length, is_reached));
    return sum;
}

/* Whether this incoming carry is possible: it is above 0 if and only if a chain includes the place below. */
static bool is_possible(int carry, int length) { return (carry > 0) == (length > 0); }

void lh_chains_set_length(lh_chains *c, int chain) {
    c->chain = chain;
    for (int m = 0; m < c->multipliers; m++)
        for (int places_left = 0; places_left <= c->digits; places_left++)
            for (int carry = 0; carry < c->carries; carry++)
                for (int length = 0; length <= chain; length++)
                    for (int is_reached = 0; is_reached < 2 && is_possible(carry, length); is_reached++)
                        *get_ways(c, m, places_left, carry, length, is_reached) =
                            places_left > 0 ? count_ways(c, m, places_left, carry, length, is_reached)
                                            : normalise((uint64_t)is_reached, 0);
}

static void draw_digits(const lh_chains *c, lh_rng *rng, int multiplier, int digits, uint8_t *x, uint8_t *y) {
    int carry = 0, length = 0;
    bool is_reached = c->chain == 0;
    for (int i = 0; i < digits; i++) {
        weight ways[MAX_GROUPS];
        const choices *place_choices = get_choices(c, multiplier, carry, i + 1 == digits);
        for (int g = 0; g < place_choices->groups; g++)
            ways[g] = count_group_ways(c, multiplier, digits - i, place_choices, g, length, is_reached);
        int g = draw_index(rng, ways, place_choices->groups);
        int first = place_choices->group[g].first, count = place_choices->group[g].count;
        int pair = place_choices->pair[first + (int)lh_rng_below(rng, (uint32_t)count)];
        x[i] = (uint8_t)(pair / c->base);
        y[c->is_product ? 0 : i] = (uint8_t)(pair % c->base);
        carry = place_choices->group[g].step.carry;
        length = extend_chain(place_choices->group[g].step.effect, length);
        is_reached = is_reached || length == c->chain;
    }
}

bool lh_chains_draw(const lh_chains *c, lh_rng *rng, int digits, uint8_t *x, uint8_t *y) {
    weight ways[LH_MAX_BASE];
    bool exists = false;
    for (int m = 0; m < c->multipliers; m++) {
        ways[m] = *get_ways(c, m, digits, 0, 0, c->chain == 0);
        exists = exists || ways[m].value != 0;
    }
    if (exists) draw_digits(c, rng, draw_index(rng, ways, c->multipliers), digits, x, y);
    return exists;
}
