/* See overlap.h. */
#include "data/datasets/overlap.h"

#include <stdlib.h>
#include <string.h>

/* An example with the hashes of its input and of the whole; examples are sorted by hashes. */
typedef struct hashed {
    uint64_t input, whole;
    uint32_t place, line;
} hashed;

typedef struct hashed_set {
    const lh_corpus *corpus;
    const lh_dataset *set;
    hashed *list;
    int64_t count;
} hashed_set;

/* One round of splitmix64. */
static uint64_t mix_bits(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t hash_tokens(uint64_t hash, const uint16_t *tokens, int count) {
    hash = mix_bits(hash ^ (uint64_t)count);
    for (int i = 0; i < count; i++) hash = mix_bits(hash ^ tokens[i]);
    return hash;
}

static const lh_sizes *get_sizes(const hashed_set *hashes, int64_t place) {
    return &hashes->corpus->sizes[lh_dataset_shape(hashes->set, hashes->corpus->shapes, place) - 1];
}

static int compare(const void *a, const void *b) {
    const hashed *x = a, *y = b;
    if (x->input != y->input) return x->input < y->input ? -1 : 1;
    if (x->whole != y->whole) return x->whole < y->whole ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static lh_status hash_set(hashed_set *hashes, const lh_corpus *corpus, const lh_dataset *set, lh_error *error) {
    *hashes = (hashed_set){corpus, set, malloc((size_t)set->count * sizeof *hashes->list + 1), set->count};
    if (hashes->list == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory to compare %s", set->path);
    for (int n = 1; n <= corpus->shapes; n++)
        for (int64_t place = set->first[n - 1]; place < set->first[n]; place++) {
            const uint16_t *tokens = set->tokens + set->start[place];
            hashed *one = &hashes->list[place];
            one->input = hash_tokens(0, tokens, corpus->sizes[n - 1].input);
            one->whole = hash_tokens(one->input, tokens + corpus->sizes[n - 1].input, corpus->sizes[n - 1].output);
            one->place = (uint32_t)place;
            one->line = set->line[place];
        }
    qsort(hashes->list, (size_t)hashes->count, sizeof *hashes->list, compare);
    return LH_OK;
}

/* Whether two examples have the same input, and with `whole` the same target. */
static bool are_equal(const hashed_set *a, uint32_t first, const hashed_set *b, uint32_t second, bool whole) {
    const lh_sizes *x = get_sizes(a, first), *y = get_sizes(b, second);
    if (x->input != y->input || (whole && x->output != y->output)) return false;
    size_t tokens = (size_t)(whole ? x->input + x->output : x->input);
    return memcmp(a->set->tokens + a->set->start[first], b->set->tokens + b->set->start[second],
                  tokens * sizeof(uint16_t)) == 0;
}

/* The index of the first element that is not before (input, whole). */
static int64_t find(const hashed_set *hashes, uint64_t input, uint64_t whole) {
    int64_t low = 0, high = hashes->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        const hashed *one = &hashes->list[middle];
        if (one->input < input || (one->input == input && one->whole < whole)) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool has(const hashed_set *train, const hashed_set *set, const hashed *one, bool whole) {
    int64_t slot = find(train, one->input, whole ? one->whole : 0);
    if (slot == train->count || train->list[slot].input != one->input) return false;
    if (whole && train->list[slot].whole != one->whole) return false;
    return are_equal(set, one->place, train, train->list[slot].place, whole);
}

/* Counts a line, and keeps the first few in ascending order. */
static void add_line(lh_overlap_count *hashes, uint32_t line) {
    int slot = hashes->count < LH_OVERLAP_LINES ? (int)hashes->count : LH_OVERLAP_LINES;
    hashes->count++;
    if (slot == LH_OVERLAP_LINES && hashes->line[slot - 1] < line) return;
    if (slot == LH_OVERLAP_LINES) slot--;
    for (; slot > 0 && hashes->line[slot - 1] > line; slot--) hashes->line[slot] = hashes->line[slot - 1];
    hashes->line[slot] = line;
}

lh_status lh_overlap_count_examples(const lh_corpus *corpus, lh_set which, lh_overlap *overlap, uint8_t *trained,
                                    lh_error *error) {
    hashed_set train = {.list = NULL}, set = {.list = NULL};
    memset(overlap, 0, sizeof *overlap);
    lh_status status = hash_set(&train, corpus, &corpus->train, error);
    if (status == LH_OK) status = hash_set(&set, corpus, lh_corpus_set(corpus, which), error);
    for (int64_t i = 0; status == LH_OK && i < set.count; i++) {
        const hashed *one = &set.list[i], *last = i > 0 ? &set.list[i - 1] : NULL;
        bool is_trained = has(&train, &set, one, true);
        if (is_trained) add_line(&overlap->trained, one->line);
        else if (has(&train, &set, one, false)) add_line(&overlap->input, one->line);
        if (last != NULL && last->whole == one->whole && are_equal(&set, one->place, &set, last->place, true))
            add_line(&overlap->twice, one->line);
        if (trained != NULL) trained[one->place] = is_trained;
    }
    free(train.list);
    free(set.list);
    return status;
}
