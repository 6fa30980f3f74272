/* The library of scores (spec/encodings) in generated code compared with the closed forms of kernels/ref/score.c.
 * Every preset has random parameters, and is tested on indices and on random distances. Its gradients are compared
 * with differences, and the initial values of learned parameters with those of the papers. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expressions/library.h"
#include "kernels/ref/ref.h"
#include "longhand/rng.h"

enum { MOST_VALUES = 50000 };

/* An entry of the library (a preset), with random inputs, and its results. */
typedef struct entry_case {
    const library_entry *entry;
    double values[MOST_VALUES];      /* values of all parameters; those of one parameter are ordered by layer */
    double gradients[MOST_VALUES];   /* result: gradients of `values` */
    int32_t sampled[LAYERS][TOKENS]; /* random distances, ascending from 0 */
    double logits[PAIRS];
    double score_gradients[PAIRS];
    double scores[PAIRS];          /* result */
    double logit_gradients[PAIRS]; /* result */
} entry_case;

static void randomise(lh_rng *rng, int count, double *out) {
    for (int i = 0; i < count; i++) out[i] = lh_rng_word(rng) / 2147483648.0 - 1;
}

static int count_values(const library_entry *entry) {
    int count = 0;
    for (const library_parameter *p = entry->parameters; p->name; p++) count += p->layers * p->count;
    assert_true(count <= MOST_VALUES);
    return count;
}

/* Returns the index in `values` of a parameter's first value in a layer. */
static int find_index(const entry_case *w, const char *name, int layer) {
    int first = 0;
    for (const library_parameter *p = w->entry->parameters; p->name; p++) {
        if (strcmp(p->name, name) == 0) return first + (p->layers > 1 ? layer * p->count : 0);
        first += p->layers * p->count;
    }
    fail_msg("%s has no parameter %s", w->entry->name, name);
    return -1;
}

static const double *find_parameter(const entry_case *w, const char *name, int layer) {
    return w->values + find_index(w, name, layer);
}

static entry_case *open_entry(const library_entry *entry) {
    entry_case *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->entry = entry;
    lh_rng rng = lh_rng_at(lh_key_of_seed(31), 0, 0, 0);
    randomise(&rng, PAIRS, w->logits);
    randomise(&rng, PAIRS, w->score_gradients);
    randomise(&rng, count_values(entry), w->values);
    if (strncmp(entry->name, "fire", 4) == 0) { /* thresholds below and above TOKENS */
        double *threshold = w->values + find_index(w, "threshold", 0);
        for (int l = 0; l < LAYERS; l++) threshold[l] *= 0.3;
    }
    for (int l = 0; l < LAYERS; l++)
        for (int t = 1; t < TOKENS; t++) w->sampled[l][t] = w->sampled[l][t - 1] + 1 + (int32_t)lh_rng_below(&rng, 7);
    return w;
}

static void run_entry(entry_case *w) {
    w->entry->run(w->values, w->entry->samples_distances ? (const int32_t(*)[TOKENS])w->sampled : NULL, w->logits,
                  w->score_gradients, w->scores, w->logit_gradients, w->gradients);
}

/* ---- the papers' formulas ---- */

typedef struct pair_case {
    const entry_case *w;
    int layer, distance; /* distance: key - query, or the random distance */
    lh_ref_pair indices;
    lh_ref_pair pair; /* indices at this distance; the smaller one is 0 */
} pair_case;

static double get_head_value(const pair_case *c, const char *name) {
    return find_parameter(c->w, name, c->layer)[c->indices.head];
}

static double alibi(const pair_case *c) { return lh_ref_alibi_half_step(c->pair); }

/* For keys to the right, which the mask of the preset hides, the formula gives a positive bias. */
static double alibi_causal(const pair_case *c) {
    return c->distance <= 0 ? lh_ref_alibi(c->pair) : -lh_ref_alibi(c->pair);
}

static double alibi_learned(const pair_case *c) {
    return get_head_value(c, "slope") * lh_ref_alibi_half_step(c->pair) / lh_ref_alibi_slope(c->pair.head, HEADS);
}

static double window(const pair_case *c) { return abs(c->distance) > 8 ? -1e4 : 0; }

static double t5(const pair_case *c) {
    return find_parameter(c->w, "bias", c->layer)[32 * c->pair.head + lh_ref_t5_bucket(c->pair, 32, 128)];
}

static double kerple_log(const pair_case *c) {
    return lh_ref_kerple_log(c->pair, exp(get_head_value(c, "log_p")), exp(get_head_value(c, "log_a")));
}

static double kerple_power(const pair_case *c) {
    return lh_ref_kerple_power(c->pair, exp(get_head_value(c, "log_p")), 2 / (1 + exp(-get_head_value(c, "raw_a"))));
}

/* Computes the paper's formula with input weights times `sign`. normaliser: distance of the farthest key. */
static double compute_fire(const pair_case *c, int normaliser, int sign) {
    double weight[32], output[32 * HEADS], offset[HEADS] = {0};
    int head = c->indices.head;
    for (int k = 0; k < 32; k++) {
        weight[k] = find_parameter(c->w, "weight", c->layer)[k] * sign;
        output[k * HEADS + head] = find_parameter(c->w, "output_weight", c->layer)[32 * head + k];
    }
    offset[head] = get_head_value(c, "output_bias");
    const lh_ref_fire_parameters p = {.c = fabs(*find_parameter(c->w, "scale", c->layer)),
                                      .threshold = fabs(512 * *find_parameter(c->w, "threshold", c->layer)),
                                      .width = 32,
                                      .input_weight = weight,
                                      .input_offset = find_parameter(c->w, "bias", c->layer),
                                      .output_weight = output,
                                      .output_offset = offset};
    return lh_ref_fire((lh_ref_pair){head, HEADS, normaliser, normaliser - abs(c->distance)}, &p);
}

/* The share of a key to the right is negative, which is equivalent to negated input weights. The normaliser is the
 * distance of the farthest token on either side. */
static double fire(const pair_case *c) {
    int query = c->indices.query;
    return compute_fire(c, query > TOKENS - 1 - query ? query : TOKENS - 1 - query, c->distance > 0 ? -1 : 1);
}

static double fire_causal(const pair_case *c) { return compute_fire(c, c->indices.query, 1); }

/* The preset has the frequencies of the authors' code, m = 0 .. 63; the paper's equation has m = 1 .. 64. */
static double sandwich(const pair_case *c) {
    double first = cos(c->distance), last = cos(c->distance / 10000.0);
    return (lh_ref_sandwich(c->pair, 128) + first - last) / (8.0 * (c->pair.head + 1) / HEADS);
}

static double cyclic(const pair_case *c) {
    return find_parameter(c->w, "bias", c->layer)[3 * c->pair.head + (c->distance % 3 + 3) % 3];
}

static double distance_table(const pair_case *c) {
    int row = c->distance < -64 ? 0 : c->distance > 64 ? 128 : c->distance + 64;
    return find_parameter(c->w, "bias", c->layer)[129 * c->pair.head + row];
}

static double pair_table(const pair_case *c) {
    int row = c->indices.query < 64 ? c->indices.query : 63, column = c->indices.key < 64 ? c->indices.key : 63;
    return find_parameter(c->w, "bias", c->layer)[4096 * c->pair.head + 64 * row + column];
}

static double log_length(const pair_case *c) {
    (void)c;
    return log(TOKENS) / log(80);
}

/* Every query of an encoder sees all keys. */
static double ssmax(const pair_case *c) { return find_parameter(c->w, "s", c->layer)[c->pair.head] * log(TOKENS); }

typedef struct formula {
    const char *name;
    double (*bias)(const pair_case *c);   /* added to the logit; NULL: no bias */
    double (*factor)(const pair_case *c); /* factor of the logit; NULL: 1 */
} formula;

static const formula FORMULAS[] = {
    {"alibi", alibi, NULL},
    {"alibi_causal", alibi_causal, NULL},
    {"alibi_learned", alibi_learned, NULL},
    {"window", window, NULL},
    {"t5", t5, NULL},
    {"kerple_log", kerple_log, NULL},
    {"kerple_power", kerple_power, NULL},
    {"fire", fire, NULL},
    {"fire_causal", fire_causal, NULL},
    {"sandwich", sandwich, NULL},
    {"cyclic", cyclic, NULL},
    {"distance_table", distance_table, NULL},
    {"pair_table", pair_table, NULL},
    {"log_length", NULL, log_length},
    {"ssmax", NULL, ssmax},
};
enum { FORMULA_COUNT = sizeof FORMULAS / sizeof *FORMULAS };

static const formula *find_formula(const library_entry *entry) {
    for (int i = 0; i < FORMULA_COUNT; i++)
        if (strcmp(FORMULAS[i].name, entry->name) == 0) return &FORMULAS[i];
    fail_msg("%s has no closed form here", entry->name);
    return NULL;
}

/* The pair of element e of the arrays. */
static pair_case find_pair(const entry_case *w, int e) {
    int query = e % TOKENS, key = e / TOKENS % TOKENS, head = e / (TOKENS * TOKENS) % HEADS;
    pair_case c = {.w = w, .layer = e / (TOKENS * TOKENS * HEADS), .indices = {head, HEADS, query, key}};
    const int32_t *distances = w->sampled[c.layer];
    c.distance = key - query;
    if (w->entry->samples_distances) c.distance = key < query ? -distances[query - key] : distances[key - query];
    c.pair = (lh_ref_pair){head, HEADS, c.distance < 0 ? -c.distance : 0, c.distance < 0 ? 0 : c.distance};
    return c;
}

/* ---- tests ---- */

static void check_scores(const library_entry *entry) {
    const formula *f = find_formula(entry);
    entry_case *w = open_entry(entry);
    double *expected = calloc(2 * PAIRS, sizeof *expected), *factors = expected + PAIRS;
    assert_non_null(expected);
    run_entry(w);
    for (int e = 0; e < PAIRS; e++) {
        pair_case c = find_pair(w, e);
        factors[e] = f->factor ? f->factor(&c) : 1;
        expected[e] = factors[e] * w->logits[e] + (f->bias ? f->bias(&c) : 0);
    }
    lh_assert_close(w->scores, expected, PAIRS, 1e-12, 1e-11); /* sums of 64 cosines of angles up to a thousand */
    for (int e = 0; e < PAIRS; e++) expected[e] = factors[e] * w->score_gradients[e];
    lh_assert_close(w->logit_gradients, expected, PAIRS, 1e-14, 0);
    free(expected);
    free(w);
}

/* Every preset with a score is tested twice, with indices and with random distances. */
static void test_scores_of_every_preset_equal_their_closed_form(void **state) {
    int count = 0;
    for (const library_entry *entry = library_entries; entry->name; entry++, count++) {
        print_message("           %s%s\n", entry->name, entry->samples_distances ? ", drawn" : "");
        check_scores(entry);
    }
    assert_int_equal(count, 2 * FORMULA_COUNT);
}

static double compute_objective(entry_case *w) {
    double sum = 0;
    run_entry(w);
    for (int e = 0; e < PAIRS; e++) sum += w->score_gradients[e] * w->scores[e];
    return sum;
}

/* Moves one parameter along a random direction, in all layers at once. Compares the slope that its gradient gives with
 * a central difference. first: index of the parameter's first value. */
static void check_direction(entry_case *w, const library_parameter *p, int first) {
    static double direction[MOST_VALUES], old_values[MOST_VALUES];
    const double step = 1e-6;
    int count = p->layers * p->count;
    double expected = 0, upper, lower;
    assert_true(count <= MOST_VALUES);
    lh_rng rng = lh_rng_at(lh_key_of_seed(32), (uint32_t)first, 0, 0);
    randomise(&rng, count, direction);
    run_entry(w);
    for (int i = 0; i < count; i++) expected += w->gradients[first + i] * direction[i];
    memcpy(old_values, w->values + first, (size_t)count * sizeof *old_values);
    for (int i = 0; i < count; i++) w->values[first + i] = old_values[i] + step * direction[i];
    upper = compute_objective(w);
    for (int i = 0; i < count; i++) w->values[first + i] = old_values[i] - step * direction[i];
    lower = compute_objective(w);
    memcpy(w->values + first, old_values, (size_t)count * sizeof *old_values);
    double actual = (upper - lower) / (2 * step);
    lh_assert_close(&actual, &expected, 1, 1e-6, 1e-5); /* sums of PAIRS numbers */
}

static void test_gradients_of_every_parameter_match_differences(void **state) {
    int count = 0;
    for (const library_entry *entry = library_entries; entry->name; entry++) {
        entry_case *w = open_entry(entry);
        int first = 0;
        for (const library_parameter *p = entry->parameters; p->name; p++, count++) {
            print_message("           %s%s: %s\n", entry->name, entry->samples_distances ? ", drawn" : "", p->name);
            check_direction(w, p, first);
            first += p->layers * p->count;
        }
        free(w);
    }
    /* alibi_learned, t5, both of kerple, both of fire, cyclic, distance_table, pair_table, ssmax */
    assert_int_equal(count, 2 * (1 + 1 + 2 + 2 + 6 + 6 + 1 + 1 + 1 + 1));
}

/* The expected initial values of a parameter. */
typedef struct initial_value {
    const char *entry, *parameter;
    int layers;
    double number; /* the value, or the middle of random values */
    double spread; /* standard deviation or bound of random values; 0: they are not random */
} initial_value;

/* T5: width^-1/2 at width 64. FIRE: PyTorch's linear layers have uniform weights and biases with the bound
 * fan_in^-1/2. The rows of fire are also those of fire_causal. */
static const initial_value INITIAL_VALUES[] = {
    {"t5", "bias", 1, 0, 0.125},
    {"kerple_log", "log_p", 1, 0, 0.5},
    {"kerple_log", "log_a", 1, 0, 0.5},
    {"kerple_power", "log_p", 1, 0, 0.5},
    {"kerple_power", "raw_a", 1, 0, 0.5},
    {"fire", "scale", LAYERS, 0.1, 0},
    {"fire", "threshold", LAYERS, 1, 0},
    {"fire", "weight", LAYERS, 0, 0.577},
    {"fire", "bias", LAYERS, 0, 0.577},
    {"fire", "output_weight", LAYERS, 0, 0.102},
    {"fire", "output_bias", LAYERS, 0, 0},
    {"cyclic", "bias", 1, 0, 0},
    {"distance_table", "bias", 1, 0, 0},
    {"pair_table", "bias", 1, 0, 0},
    {"ssmax", "s", LAYERS, 0.4342944819032518, 0},
};

static void check_initial_values(const library_entry *entry, const library_parameter *p) {
    for (size_t i = 0; i < sizeof INITIAL_VALUES / sizeof *INITIAL_VALUES; i++) {
        const initial_value *row = &INITIAL_VALUES[i];
        if (strncmp(row->entry, entry->name, strlen(row->entry)) != 0 || strcmp(row->parameter, p->name) != 0) continue;
        assert_null(p->start);
        assert_int_equal(p->layers, row->layers);
        assert_true(p->number == row->number && p->spread == row->spread);
        return;
    }
    assert_string_equal(entry->name, "alibi_learned");
    assert_int_equal(p->count, HEADS);
    assert_non_null(p->start);
    for (int h = 0; h < HEADS; h++) {
        double slope = lh_ref_alibi_slope(h, HEADS);
        lh_assert_close(&p->start[h], &slope, 1, 1e-15, 0);
    }
}

static void test_parameters_have_the_papers_initial_values(void **state) {
    for (const library_entry *entry = library_entries; entry->name; entry++)
        for (const library_parameter *p = entry->parameters; p->name; p++) check_initial_values(entry, p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_of_every_preset_equal_their_closed_form),
        cmocka_unit_test(test_gradients_of_every_parameter_match_differences),
        cmocka_unit_test(test_parameters_have_the_papers_initial_values),
    };
    return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
