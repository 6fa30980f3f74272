/* Latin Square Task (Birney et al. 2006; Ito et al. 2024): the symbol of one cell of a 4 x 4 Latin square.
 *
 * input symbols:  . 1 2 3 4 ?
 * blank:          .
 * probe:          ?
 * output symbols: 1 2 3 4
 * input length:   16
 * output length:  1
 * chance:         0.25
 * grid:           4
 * sets:           train test validation
 * axis vectors:   1 to 3; number of rows and columns that the step to the answer combines
 * axis puzzle:    1 to 1200; number of a validation puzzle; 1 to 3, 4 to 6, ... are a puzzle and its two rotated copies
 * option puzzles: 30 to 10000 = 3000; puzzles for each number of vectors; a tenth of them is the test set
 * option strict:  no yes; yes: without puzzles of three vectors that a step of two vectors also solves
 */
#include <stdlib.h>

#include "latin_validation.h"

lh_task_collect lh_task_latin_square;

enum { PUZZLES, STRICT };             /* options */
enum { TRAINING, VALIDATION, SPLIT }; /* purposes of random numbers */
enum {
    BASES = 12,            /* validation puzzles per number of vectors, without their rotated copies */
    PATIENCE = 30000000,   /* maximum number of rejected puzzles between two accepted ones */
    REPORT_EVERY = 1 << 16 /* random puzzles between two reports of progress */
};

typedef struct items {
    latin_puzzle *puzzle; /* [count] */
    latin_answer *answer; /* [count] */
    int count;
} items;

typedef struct collection_state {
    lh_collection *c;
    uint64_t squares[LATIN_SQUARES];
    items validation, puzzles;
    int counts[LATIN_VECTORS]; /* drawn puzzles for each number of vectors */
} collection_state;

static lh_rng make_stream(const collection_state *s, int purpose) {
    return lh_rng_at(lh_key_of_seed(s->c->seed), 0, (uint32_t)purpose, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
}

static bool is_strict(const collection_state *s) { return s->c->options[STRICT] == 1; }

static bool is_among(const items *list, const latin_puzzle *p) {
    for (int i = 0; i < list->count; i++)
        if (latin_are_equal(&list->puzzle[i], p)) return true;
    return false;
}

static bool is_similar(const items *list, const latin_puzzle *p) {
    for (int i = 0; i < list->count; i++)
        if (latin_are_similar(&list->puzzle[i], p)) return true;
    return false;
}

static void add_puzzle(items *list, const latin_puzzle *p, bool is_strict) {
    list->puzzle[list->count] = *p;
    list->answer[list->count++] = latin_classify(p, is_strict);
}

/* Draws a validation set in the order of the published file: by number of vectors, each puzzle before its copies. */
static void draw_validation(collection_state *s) {
    lh_rng rng = make_stream(s, VALIDATION);
    for (int vectors = 1; vectors <= LATIN_VECTORS; vectors++)
        for (int base = 0; base < BASES;) {
            latin_puzzle p[3] = {latin_draw(&rng, s->squares)};
            bool is_accepted = latin_classify(p, is_strict(s)).vectors == vectors;
            for (int i = 1; i < 3; i++) p[i] = latin_rotate(&p[i - 1]);
            for (int i = 0; i < 3; i++) is_accepted = is_accepted && !is_among(&s->validation, &p[i]);
            for (int i = 0; is_accepted && i < 3; i++) add_puzzle(&s->validation, &p[i], false);
            base += is_accepted;
        }
}

static lh_status fail_count(const collection_state *s, lh_error *error) {
    return lh_fail(
        error, LH_ERR_INPUT,
        "latin_square: found only %d, %d and %d puzzles of one, two and three vectors whose distance from all %d "
        "validation puzzles exceeds 0.8\n  expected: %d of each (task.options.puzzles)",
        s->counts[0], s->counts[1], s->counts[2], s->validation.count, s->c->options[PUZZLES]);
}

/* Draws puzzles until there are enough for each number of vectors, without duplicates and without puzzles similar to
 * a validation puzzle. */
static lh_status draw_puzzles(collection_state *s, lh_error *error) {
    lh_rng rng = make_stream(s, TRAINING);
    int puzzles_per_count = s->c->options[PUZZLES];
    for (int64_t draw = 1, last = 0; s->puzzles.count < LATIN_VECTORS * puzzles_per_count; draw++) {
        latin_puzzle p = latin_draw(&rng, s->squares);
        int vectors = latin_classify(&p, is_strict(s)).vectors;
        if (draw % REPORT_EVERY == 0)
            s->c->progress(s->c, (double)s->puzzles.count / (LATIN_VECTORS * puzzles_per_count));
        if (draw - last > PATIENCE) return fail_count(s, error);
        if (vectors == 0 || s->counts[vectors - 1] == puzzles_per_count || is_similar(&s->validation, &p) ||
            is_among(&s->puzzles, &p))
            continue;
        add_puzzle(&s->puzzles, &p, is_strict(s));
        s->counts[vectors - 1]++;
        last = draw;
    }
    return LH_OK;
}

/* Adds puzzle i to a set; number: its value on the axis `puzzle`. */
static lh_status add_example(const collection_state *s, lh_set set, const items *list, int i, int number,
                             lh_error *error) {
    const latin_puzzle *p = &list->puzzle[i];
    uint16_t input[LATIN_CELLS], target = (uint16_t)(list->answer[i].symbol - 1);
    uint8_t mask = 1;
    for (int cell = 0; cell < LATIN_CELLS; cell++) {
        int symbols = latin_get_symbol_bit(p->givens, cell);
        input[cell] = (uint16_t)(cell == p->probe ? LATIN_PROBE : symbols != 0 ? latin_get_symbol(symbols) : 0);
    }
    lh_example example = {.input_length = LATIN_CELLS,
                          .output_length = 1,
                          .input = input,
                          .target = &target,
                          .mask = &mask,
                          .options = s->c->options};
    const int32_t axes[] = {list->answer[i].vectors, number};
    return s->c->add(s->c, set, &example, axes, error);
}

/* Adds all sets. The test set is a random tenth of the puzzles of each number of vectors. */
static lh_status add_split(const collection_state *s, lh_error *error) {
    lh_rng rng = make_stream(s, SPLIT);
    int remaining[LATIN_VECTORS]; /* puzzles that are in no set yet */
    int test[LATIN_VECTORS];      /* puzzles that the test set still needs */
    lh_status status = LH_OK;
    for (int v = 0; v < LATIN_VECTORS; v++) {
        remaining[v] = s->counts[v];
        test[v] = s->counts[v] / 10;
    }
    for (int i = 0; status == LH_OK && i < s->puzzles.count; i++) {
        int v = s->puzzles.answer[i].vectors - 1;
        bool is_held_out = (int)lh_rng_below(&rng, (uint32_t)remaining[v]--) < test[v];
        test[v] -= is_held_out;
        status = add_example(s, is_held_out ? LH_SET_TEST : LH_SET_TRAIN, &s->puzzles, i, LH_NO_VALUE, error);
    }
    for (int i = 0; status == LH_OK && i < s->validation.count; i++)
        status = add_example(s, LH_SET_VALIDATION, &s->validation, i, i + 1, error);
    return status;
}

static lh_status make_all(collection_state *s, lh_error *error) {
    lh_status status = LH_OK;
    items *validation = &s->validation;
    latin_list_squares(s->squares);
    if (s->c->validation == NULL) draw_validation(s);
    else status = latin_read_file(s->c, s->squares, validation->puzzle, validation->answer, &validation->count, error);
    if (status == LH_OK) status = draw_puzzles(s, error);
    return status == LH_OK ? add_split(s, error) : status;
}

static bool open_items(items *list, int capacity) {
    list->puzzle = calloc((size_t)capacity, sizeof *list->puzzle);
    list->answer = calloc((size_t)capacity, sizeof *list->answer);
    return list->puzzle != NULL && list->answer != NULL;
}

static void close_items(items *list) {
    free(list->puzzle);
    free(list->answer);
}

lh_status lh_task_latin_square(lh_collection *collection, lh_error *error) {
    collection_state *s = calloc(1, sizeof *s);
    lh_status status = LH_ERR_ENVIRONMENT;
    if (s != NULL) s->c = collection;
    if (s != NULL && open_items(&s->validation, LATIN_MAX_ITEMS) &&
        open_items(&s->puzzles, LATIN_VECTORS * collection->options[PUZZLES]))
        status = make_all(s, error);
    else lh_fail(error, status, "latin_square: no memory for the puzzles");
    if (s != NULL) close_items(&s->validation);
    if (s != NULL) close_items(&s->puzzles);
    free(s);
    return status;
}
