/* See corpus.h. corpus_read.c reads lines, collect.c collects a task's examples, and corpus_sets.c queries a corpus. */
#include "data/datasets/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/datasets/collect.h"
#include "data/datasets/corpus_read.h"
#include "data/datasets/epoch.h"
#include "data/datasets/overlap.h"
#include "data/datasets/pick.h"

static int compare_records(const void *a, const void *b) {
    const lh_record *x = a, *y = b;
    if (x->input != y->input) return x->input < y->input ? -1 : 1;
    if (x->output != y->output) return x->output < y->output ? -1 : 1;
    if (x->passes != y->passes) return x->passes < y->passes ? -1 : 1;
    return x->start < y->start ? -1 : 1; /* the order of the file */
}

static bool has_sizes(const lh_sizes *sizes, const lh_record *record) {
    return sizes->input == record->input && sizes->output == record->output && sizes->passes == record->passes;
}

static int compare_sizes(const void *a, const void *b) {
    const lh_sizes *x = a, *y = b;
    if (x->input != y->input) return x->input < y->input ? -1 : 1;
    if (x->output != y->output) return x->output < y->output ? -1 : 1;
    return (x->passes > y->passes) - (x->passes < y->passes);
}

/* Writes the shapes of all records, each once and in ascending order; sizes must hold as many elements as there are
 * records. The records of each list must be sorted. Returns the number of shapes. */
static int merge_sizes(lh_sizes *sizes, const lh_example_list lists[LH_SETS]) {
    int count = 0, shapes = 0;
    for (int set = 0; set < LH_SETS; set++)
        for (int64_t i = 0; i < lists[set].count; i++) {
            const lh_record *record = &lists[set].records[i];
            if (i == 0 || !has_sizes(&sizes[count - 1], record))
                sizes[count++] = (lh_sizes){record->input, record->output, record->passes};
        }
    if (count > 0) qsort(sizes, (size_t)count, sizeof *sizes, compare_sizes);
    for (int i = 0; i < count; i++)
        if (i == 0 || compare_sizes(&sizes[i], &sizes[shapes - 1]) != 0) sizes[shapes++] = sizes[i];
    return shapes;
}

/* Moves the examples of a list to a set; the records must be sorted. */
static lh_status fill_set(lh_dataset *set, const char *path, lh_example_list *list, const lh_corpus *corpus, int axes,
                          lh_error *error) {
    const lh_sizes *sizes = corpus->sizes;
    int shapes = corpus->shapes;
    *set = (lh_dataset){.path = path,
                        .count = list->count,
                        .tokens = list->tokens,
                        .mask = list->mask,
                        .positions = list->positions,
                        .masked = list->masked,
                        .expand = list->expand,
                        .seed = list->seed,
                        .exclusive_axes = list->exclusive_axes};
    memcpy(set->digest, list->digest, sizeof set->digest);
    memcpy(set->ignored, list->ignored, sizeof set->ignored);
    list->tokens = NULL;
    list->mask = NULL;
    list->positions = NULL;
    set->first = calloc((size_t)shapes + 1, sizeof *set->first);
    set->start = calloc((size_t)set->count + 1, sizeof *set->start);
    set->line = calloc((size_t)set->count + 1, sizeof *set->line);
    set->values = calloc((size_t)set->count * (size_t)axes + 1, sizeof *set->values);
    if (set->first == NULL || set->start == NULL || set->line == NULL || set->values == NULL)
        return lh_fail_examples(error);
    int64_t i = 0;
    for (int n = 1; n <= shapes; n++) {
        set->first[n - 1] = i;
        for (; i < set->count && has_sizes(&sizes[n - 1], &list->records[i]); i++) {
            set->start[i] = list->records[i].start;
            set->line[i] = list->records[i].line;
            for (int a = 0; a < axes; a++) set->values[i * axes + a] = list->values[list->records[i].index * axes + a];
        }
    }
    set->first[shapes] = i;
    return LH_OK;
}

static void close_set(lh_dataset *set) {
    free(set->first);
    free(set->start);
    free(set->line);
    free(set->tokens);
    free(set->mask);
    free(set->positions);
    free(set->values);
    free(set->trained);
}

/* Lists the shapes of the training set and the input lengths of the evaluated set. */
static lh_status list_lengths(lh_corpus *c, lh_error *error) {
    size_t bytes = (size_t)c->shapes * sizeof *c->train_shapes;
    c->train_shapes = malloc(bytes);
    c->lengths = malloc(bytes);
    c->selected = malloc(bytes);
    if (c->train_shapes == NULL || c->lengths == NULL || c->selected == NULL) return lh_fail_examples(error);
    for (int n = 1; n <= c->shapes; n++) {
        int input = c->sizes[n - 1].input;
        if (lh_dataset_count_examples(&c->train, n) > 0) c->train_shapes[c->train_shape_count++] = n;
        if (lh_dataset_count_examples(&c->eval, n) > 0 &&
            (c->length_count == 0 || c->lengths[c->length_count - 1] != input))
            c->lengths[c->length_count++] = input;
    }
    return LH_OK;
}

static lh_status fail_passes(const lh_spec *spec, const char *path, const lh_record *record, int max_passes,
                             lh_error *error) {
    const char *axis = spec->task->axis[spec->pass_axis - 1];
    char value[16] = "missing";
    if (record->passes != LH_NO_VALUE) snprintf(value, sizeof value, "%d", record->passes);
    return lh_fail(error, LH_ERR_INPUT,
                   "%s:%u: %s, the number of passes (model.loops.times), is %s\n"
                   "  expected: from 1 to %d%s",
                   path, record->line, axis, value, max_passes,
                   max_passes == spec->passes ? ", model.loops.max_times" : "");
}

/* Sets the passes of a set's examples to their values on the axis of passes; max_passes: their maximum. LH_ERR_INPUT: a
 * value is below 1 or above the maximum. */
static lh_status set_passes(const lh_spec *spec, const char *path, lh_example_list *list, int max_passes,
                            lh_error *error) {
    for (int64_t i = 0; i < list->count; i++) {
        lh_record *record = &list->records[i];
        record->passes = list->values[record->index * spec->task->axes + spec->pass_axis - 1];
        if (record->passes < 1 || record->passes > max_passes)
            return fail_passes(spec, path, record, max_passes, error);
    }
    return LH_OK;
}

static lh_status set_all_passes(const lh_spec *spec, const char *const paths[LH_SETS], lh_example_list lists[LH_SETS],
                                lh_error *error) {
    lh_status status = LH_OK;
    for (int set = 0; status == LH_OK && spec->pass_axis > 0 && set < LH_SETS; set++)
        status = set_passes(spec, paths[set], &lists[set], set == LH_SET_TRAIN ? spec->passes : LH_MAX_PASSES, error);
    return status;
}

static int64_t count_all(const lh_example_list lists[LH_SETS]) {
    int64_t count = 0;
    for (int set = 0; set < LH_SETS; set++) count += lists[set].count;
    return count;
}

/* Builds shapes and sets from the lists. */
static lh_status build_sets(lh_corpus *c, int axes, const char *const paths[LH_SETS], lh_example_list lists[LH_SETS],
                            lh_error *error) {
    lh_dataset *const sets[LH_SETS] = {&c->train, &c->eval, &c->validation};
    lh_status status = LH_OK;
    for (int i = 0; i < LH_SETS; i++)
        if (lists[i].count > 0) qsort(lists[i].records, (size_t)lists[i].count, sizeof(lh_record), compare_records);
    c->sizes = calloc((size_t)count_all(lists) + 1, sizeof *c->sizes);
    if (c->sizes == NULL) return lh_fail_examples(error);
    c->shapes = merge_sizes(c->sizes, lists);
    c->has_test_set = lists[LH_SET_TEST].count > 0;
    for (int i = 0; status == LH_OK && i < LH_SETS; i++)
        if (i != LH_SET_TEST || c->has_test_set) status = fill_set(sets[i], paths[i], &lists[i], c, axes, error);
    if (status == LH_OK && !c->has_test_set) c->eval = c->train;
    return status == LH_OK ? list_lengths(c, error) : status;
}

static lh_status read_files(const lh_spec *spec, const char *const paths[LH_SETS], lh_example_list lists[LH_SETS],
                            lh_error *error) {
    static const char *const flags[LH_SETS] = {"--data", "--eval-data", "--validation"};
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < LH_SETS; i++)
        if (paths[i] != NULL) status = lh_example_list_read(&lists[i], spec, paths[i], flags[i], error);
    return status;
}

lh_status lh_corpus_open(lh_corpus *corpus, const lh_spec *spec, const lh_corpus_request *request, lh_error *error) {
    const lh_data *data = spec->data;
    const char *paths[LH_SETS] = {data->train, data->eval, data->validation};
    for (int i = 0; request != NULL && i < LH_SETS; i++)
        if (request->path[i] != NULL) paths[i] = request->path[i];
    lh_example_list lists[LH_SETS] = {{0}, {0}, {0}};
    memset(corpus, 0, sizeof *corpus);
    lh_status status = spec->task->collect != NULL ? lh_collect(spec, paths, request, lists, error)
                                                   : read_files(spec, paths, lists, error);
    if (status == LH_OK) status = set_all_passes(spec, paths, lists, error);
    if (status == LH_OK) status = build_sets(corpus, spec->task->axes, paths, lists, error);
    for (int i = 0; i < LH_SETS; i++) lh_example_list_close(&lists[i]);
    if (status != LH_OK) lh_corpus_close(corpus);
    return status;
}

void lh_corpus_close(lh_corpus *corpus) {
    close_set(&corpus->train);
    if (corpus->has_test_set) close_set(&corpus->eval);
    close_set(&corpus->validation);
    lh_groups_close(&corpus->final);
    lh_groups_close(&corpus->during);
    free(corpus->sizes);
    free(corpus->train_shapes);
    free(corpus->lengths);
    free(corpus->selected);
    memset(corpus, 0, sizeof *corpus);
}

/* If a spec counts its intervals in epochs, converts them to steps. */
static void convert_epochs(const lh_corpus *corpus, lh_spec *spec) {
    lh_train_defaults *train = &spec->train;
    if (!train->by_epochs) return;
    int64_t batches = lh_count_epoch_batches(corpus, train->batch);
    train->log_every *= batches;
    train->checkpoint_every *= batches;
    train->keep_unit = batches;
    spec->eval.during_every *= batches;
    train->by_epochs = false;
}

static bool is_grouped_by_trained(const lh_by *by) {
    return by->count > 0 && by->axes[by->count - 1].axis == LH_BY_TRAINED;
}

/* Marks held-out examples that are also training examples, if an evaluation needs it. */
static lh_status mark_trained(lh_corpus *corpus, const lh_spec *spec, lh_error *error) {
    lh_dataset *const sets[LH_SETS] = {NULL, corpus->has_test_set ? &corpus->eval : NULL, &corpus->validation};
    lh_overlap overlap;
    lh_status status = LH_OK;
    if (!is_grouped_by_trained(&spec->eval.by) && !is_grouped_by_trained(&spec->eval.during_by)) return LH_OK;
    for (int i = LH_SET_TEST; status == LH_OK && i < LH_SETS; i++) {
        if (sets[i] == NULL || sets[i]->count == 0 || sets[i]->trained != NULL) continue;
        sets[i]->trained = calloc((size_t)sets[i]->count, 1);
        if (sets[i]->trained == NULL) return lh_fail_examples(error);
        status = lh_overlap_count_examples(corpus, (lh_set)i, &overlap, sets[i]->trained, error);
    }
    return status;
}

lh_status lh_corpus_bind(lh_corpus *corpus, lh_spec *spec, lh_error *error) {
    lh_lengths eval_lengths = {.list = corpus->lengths, .count = corpus->length_count};
    spec->corpus = corpus;
    spec->train.lengths = (lh_lengths){.list = corpus->train_shapes, .count = corpus->train_shape_count};
    if (spec->train.epochs > 0)
        spec->train.steps = spec->train.epochs * lh_count_epoch_batches(corpus, spec->train.batch);
    if (spec->train.steps > UINT32_MAX)
        return lh_fail(error, LH_ERR_INPUT, "%s: %lld epochs are %lld steps\n  expected: at most %u steps",
                       corpus->train.path, (long long)spec->train.epochs, (long long)spec->train.steps, UINT32_MAX);
    convert_epochs(corpus, spec);
    lh_eval_defaults *eval = &spec->eval;
    eval->lengths = eval->during_lengths = eval_lengths;
    lh_groups_close(&corpus->final);
    lh_groups_close(&corpus->during);
    lh_pick choice = {.limit = eval->examples, .seed = LH_EVAL_SEED, .in_order = eval->in_order};
    lh_status status = mark_trained(corpus, spec, error);
    if (status == LH_OK) status = lh_groups_open(&corpus->final, corpus, spec, &eval->by, eval->sets, error);
    if (status == LH_OK) status = lh_pick_examples(&corpus->final, corpus, &choice, error);
    if (status != LH_OK || eval->during_every == 0) return status;
    choice.limit = eval->during_examples;
    choice.preferred_count = spec->format->teacher_forced ? LH_MAX_GREEDY_IN_TRAINING : 0;
    status = lh_groups_open(&corpus->during, corpus, spec, &eval->during_by, eval->during_sets, error);
    return status == LH_OK ? lh_pick_examples(&corpus->during, corpus, &choice, error) : status;
}
