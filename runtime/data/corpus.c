/* See corpus.h. Lines are read in corpus_read.c. */
#include "data/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "data/corpus_read.h"
#include "data/epoch.h"

static int compare_records(const void *a, const void *b) {
    const lh_record *x = a, *y = b;
    if (x->input != y->input) return x->input < y->input ? -1 : 1;
    if (x->output != y->output) return x->output < y->output ? -1 : 1;
    return x->start < y->start ? -1 : 1; /* the order of the file */
}

static bool same(const lh_sizes *sizes, const lh_record *record) {
    return sizes->input == record->input && sizes->output == record->output;
}

/* The shapes of two sorted lists of records, each once; room for all is there. */
static int merge_sizes(lh_sizes *sizes, const lh_reading *a, const lh_reading *b) {
    int count = 0;
    for (int64_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool left = j == b->count || (i < a->count && compare_records(&a->records[i], &b->records[j]) < 0);
        const lh_record *record = left ? &a->records[i++] : &b->records[j++];
        if (count == 0 || !same(&sizes[count - 1], record)) sizes[count++] = (lh_sizes){record->input, record->output};
    }
    return count;
}

static lh_status no_memory(lh_error *error) { return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the examples"); }

/* Takes over what was read; the records must be sorted. */
static lh_status fill_set(lh_dataset *set, const char *path, lh_reading *reading, const lh_sizes *sizes, int shapes,
                          lh_error *error) {
    *set = (lh_dataset){.path = path, .count = reading->count, .tokens = reading->tokens, .mask = reading->mask};
    memcpy(set->digest, reading->digest, sizeof set->digest);
    reading->tokens = NULL;
    reading->mask = NULL;
    set->first = calloc((size_t)shapes + 1, sizeof *set->first);
    set->start = calloc((size_t)set->count + 1, sizeof *set->start);
    if (set->first == NULL || set->start == NULL) return no_memory(error);
    int64_t i = 0;
    for (int n = 1; n <= shapes; n++) {
        set->first[n - 1] = i;
        for (; i < set->count && same(&sizes[n - 1], &reading->records[i]); i++)
            set->start[i] = reading->records[i].start;
    }
    set->first[shapes] = i;
    return LH_OK;
}

static void close_set(lh_dataset *set) {
    free(set->first);
    free(set->start);
    free(set->tokens);
    free(set->mask);
}

static lh_status list_lengths(lh_corpus *c, lh_error *error) {
    size_t bytes = (size_t)c->shapes * sizeof *c->trained;
    c->trained = malloc(bytes);
    c->lengths = malloc(bytes);
    c->selected = malloc(bytes);
    if (c->trained == NULL || c->lengths == NULL || c->selected == NULL) return no_memory(error);
    for (int n = 1; n <= c->shapes; n++) {
        int input = c->sizes[n - 1].input;
        if (lh_dataset_count(&c->train, n) > 0) c->trained[c->trained_count++] = n;
        if (lh_dataset_count(&c->eval, n) > 0 && (c->length_count == 0 || c->lengths[c->length_count - 1] != input))
            c->lengths[c->length_count++] = input;
    }
    return LH_OK;
}

/* Shapes and sets from what was read. */
static lh_status build(lh_corpus *c, const char *paths[2], lh_reading readings[2], lh_error *error) {
    for (int i = 0; i < 2; i++)
        if (readings[i].count > 0)
            qsort(readings[i].records, (size_t)readings[i].count, sizeof(lh_record), compare_records);
    c->sizes = calloc((size_t)(readings[0].count + readings[1].count), sizeof *c->sizes);
    if (c->sizes == NULL) return no_memory(error);
    c->shapes = merge_sizes(c->sizes, &readings[0], &readings[1]);
    lh_status status = fill_set(&c->train, paths[0], &readings[0], c->sizes, c->shapes, error);
    if (status == LH_OK && c->separate) status = fill_set(&c->eval, paths[1], &readings[1], c->sizes, c->shapes, error);
    if (status == LH_OK && !c->separate) c->eval = c->train;
    return status == LH_OK ? list_lengths(c, error) : status;
}

lh_status lh_corpus_open(lh_corpus *corpus, const lh_spec *spec, const char *train, const char *eval, lh_error *error) {
    const char *paths[2] = {train != NULL ? train : spec->data->train, eval != NULL ? eval : spec->data->eval};
    lh_reading readings[2] = {{0}, {0}};
    memset(corpus, 0, sizeof *corpus);
    corpus->separate = paths[1] != NULL;
    lh_status status = lh_reading_open(&readings[0], spec, paths[0], "--data", error);
    if (status == LH_OK && corpus->separate)
        status = lh_reading_open(&readings[1], spec, paths[1], "--eval-data", error);
    if (status == LH_OK) status = build(corpus, paths, readings, error);
    lh_reading_close(&readings[0]);
    lh_reading_close(&readings[1]);
    if (status != LH_OK) lh_corpus_close(corpus);
    return status;
}

void lh_corpus_close(lh_corpus *corpus) {
    close_set(&corpus->train);
    if (corpus->separate) close_set(&corpus->eval);
    free(corpus->sizes);
    free(corpus->trained);
    free(corpus->lengths);
    free(corpus->selected);
    memset(corpus, 0, sizeof *corpus);
}

static bool is_wanted(const lh_lengths *wanted, int length) {
    if (wanted->list == NULL)
        return length >= wanted->first && length <= wanted->last && (length - wanted->first) % wanted->step == 0;
    for (int i = 0; i < wanted->count; i++)
        if (wanted->list[i] == length) return true;
    return false;
}

lh_lengths lh_corpus_select(const lh_corpus *corpus, const lh_lengths *wanted) {
    lh_lengths found = {.list = corpus->selected};
    for (int i = 0; i < corpus->length_count; i++)
        if (is_wanted(wanted, corpus->lengths[i])) corpus->selected[found.count++] = corpus->lengths[i];
    return found;
}

int lh_corpus_shape_of(const lh_corpus *corpus, int input) {
    int best = 0;
    for (int n = 1; n <= corpus->shapes; n++) {
        int64_t most = best > 0 ? lh_dataset_count(&corpus->train, best) : 0;
        if (corpus->sizes[n - 1].input == input && lh_dataset_count(&corpus->train, n) > most) best = n;
    }
    return best;
}

lh_status lh_corpus_bind(lh_corpus *corpus, lh_spec *spec, lh_error *error) {
    lh_lengths all = {.list = corpus->lengths, .count = corpus->length_count};
    spec->corpus = corpus;
    spec->train.lengths = (lh_lengths){.list = corpus->trained, .count = corpus->trained_count};
    if (spec->train.epochs > 0) spec->train.steps = spec->train.epochs * lh_epoch_batches(corpus, spec->train.batch);
    if (spec->train.steps > UINT32_MAX)
        return lh_fail(error, LH_ERR_INPUT, "%s: %lld epochs are %lld steps\n  expected: at most %u steps",
                       corpus->train.path, (long long)spec->train.epochs, (long long)spec->train.steps, UINT32_MAX);
    spec->eval.lengths = spec->eval.during_lengths = all;
    return LH_OK;
}

void lh_dataset_copy(const lh_dataset *set, int n, int64_t index, lh_example *example) {
    int64_t start = set->start[set->first[n - 1] + index];
    memcpy(example->input, set->tokens + start, (size_t)example->input_length * sizeof *example->input);
    start += example->input_length;
    memcpy(example->target, set->tokens + start, (size_t)example->output_length * sizeof *example->target);
    memcpy(example->mask, set->mask + start, (size_t)example->output_length);
}
