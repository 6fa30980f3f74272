/* See overlap.h. */
#include "data/datasets/overlap.h"

#include <stdlib.h>
#include <string.h>

/* The hashes of an example and of its input; examples are sorted by hashes. */
typedef struct hashed_example {
    uint64_t input_hash, example_hash;
    uint32_t index, line;
} hashed_example;

typedef struct hashed_set {
    const lh_corpus *corpus;
    const lh_dataset *set;
    hashed_example *list; /* [count] */
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

static const lh_sizes *get_sizes(const hashed_set *hashes, int64_t index) {
    return &hashes->corpus->sizes[lh_dataset_find_shape(hashes->set, hashes->corpus->shapes, index) - 1];
}

static int compare_hashes(const void *a, const void *b) {
    const hashed_example *x = a, *y = b;
    if (x->input_hash != y->input_hash) return x->input_hash < y->input_hash ? -1 : 1;
    if (x->example_hash != y->example_hash) return x->example_hash < y->example_hash ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static lh_status hash_set(hashed_set *hashes, const lh_corpus *corpus, const lh_dataset *set, lh_error *error) {
    *hashes = (hashed_set){.corpus = corpus,
                           .set = set,
                           .list = malloc((size_t)set->count * sizeof *hashes->list + 1),
                           .count = set->count};
    if (hashes->list == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory to compare %s", set->path);
    for (int n = 1; n <= corpus->shapes; n++)
        for (int64_t index = set->first[n - 1]; index < set->first[n]; index++) {
            const uint16_t *tokens = set->tokens + set->start[index];
            hashed_example *entry = &hashes->list[index];
            entry->input_hash = hash_tokens(0, tokens, corpus->sizes[n - 1].input);
            entry->example_hash =
                hash_tokens(entry->input_hash, tokens + corpus->sizes[n - 1].input, corpus->sizes[n - 1].output);
            entry->index = (uint32_t)index;
            entry->line = set->line[index];
        }
    qsort(hashes->list, (size_t)hashes->count, sizeof *hashes->list, compare_hashes);
    return LH_OK;
}

/* Whether example a_index of set a and example b_index of set b have the same input and, with compares_target, the same
 * target. */
static bool are_equal(const hashed_set *a, uint32_t a_index, const hashed_set *b, uint32_t b_index,
                      bool compares_target) {
    const lh_sizes *x = get_sizes(a, a_index), *y = get_sizes(b, b_index);
    if (x->input != y->input || (compares_target && x->output != y->output)) return false;
    size_t tokens = (size_t)(compares_target ? x->input + x->output : x->input);
    return memcmp(a->set->tokens + a->set->start[a_index], b->set->tokens + b->set->start[b_index],
                  tokens * sizeof(uint16_t)) == 0;
}

/* The index of the first element of the sorted list whose hashes are not less than (input_hash, example_hash). */
static int64_t find_first(const hashed_set *hashes, uint64_t input_hash, uint64_t example_hash) {
    int64_t low = 0, high = hashes->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        const hashed_example *entry = &hashes->list[middle];
        if (entry->input_hash < input_hash || (entry->input_hash == input_hash && entry->example_hash < example_hash))
            low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Whether the training set has an example with the input of `entry` and, if compares_target is set, also its target. */
static bool has_example(const hashed_set *train, const hashed_set *set, const hashed_example *entry,
                        bool compares_target) {
    int64_t first = find_first(train, entry->input_hash, compares_target ? entry->example_hash : 0);
    if (first == train->count || train->list[first].input_hash != entry->input_hash) return false;
    if (compares_target && train->list[first].example_hash != entry->example_hash) return false;
    return are_equal(set, entry->index, train, train->list[first].index, compares_target);
}

/* Counts a line, and keeps the lowest line numbers in ascending order. */
static void add_line(lh_overlap_count *total, uint32_t line) {
    int i = total->count < LH_OVERLAP_LINES ? (int)total->count : LH_OVERLAP_LINES;
    total->count++;
    if (i == LH_OVERLAP_LINES && total->line[i - 1] < line) return;
    if (i == LH_OVERLAP_LINES) i--;
    for (; i > 0 && total->line[i - 1] > line; i--) total->line[i] = total->line[i - 1];
    total->line[i] = line;
}

lh_status lh_overlap_count_examples(const lh_corpus *corpus, lh_set set_index, lh_overlap *overlap, uint8_t *trained,
                                    lh_error *error) {
    hashed_set train = {.list = NULL}, set = {.list = NULL};
    memset(overlap, 0, sizeof *overlap);
    lh_status status = hash_set(&train, corpus, &corpus->train, error);
    if (status == LH_OK) status = hash_set(&set, corpus, lh_corpus_get_set(corpus, set_index), error);
    for (int64_t i = 0; status == LH_OK && i < set.count; i++) {
        const hashed_example *entry = &set.list[i], *previous = i > 0 ? &set.list[i - 1] : NULL;
        bool is_trained = has_example(&train, &set, entry, true);
        if (is_trained) add_line(&overlap->trained, entry->line);
        else if (has_example(&train, &set, entry, false)) add_line(&overlap->input, entry->line);
        if (previous != NULL && previous->example_hash == entry->example_hash &&
            are_equal(&set, entry->index, &set, previous->index, true))
            add_line(&overlap->duplicates, entry->line);
        if (trained != NULL) trained[entry->index] = is_trained;
    }
    free(train.list);
    free(set.list);
    return status;
}
