/* See data_files.h. */
#include "cli/data_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/data_paths.h"
#include "data/datasets/overlap.h"

/* The generator also reads this table, to refuse wrong flags before a build. So every row must begin a line, as
 * {"--name", LH_OPTION_KIND, value, min, max, ...}. */
static const lh_option options[] = {
    {"--data", LH_OPTION_TEXT, NULL, 0, 0, NULL, "FILE", "training examples, in place of the spec's file"},
    {"--eval-data", LH_OPTION_TEXT, NULL, 0, 0, NULL, "FILE", "examples to evaluate, in place of the spec's file"},
    {"--validation", LH_OPTION_TEXT, NULL, 0, 0, NULL, "FILE", "examples for validation, in place of the spec's file"},
};
enum { OPTIONS = LH_SETS }; /* number of options, one for each set, in the order of lh_set */

/* The index of the first option that trainers of a spec have. For a task that makes its examples, only the last option
 * exists, for a validation file. */
static int get_first_option(const lh_spec *spec) {
    return spec->task->collect != NULL ? LH_SET_VALIDATION : LH_SET_TRAIN;
}

static bool requests_help(const lh_cli *cli) {
    for (int i = 0; i < cli->argc; i++)
        if (strcmp(cli->argv[i], "--help") == 0 || strcmp(cli->argv[i], "-h") == 0) return true;
    return false;
}

/* Reads the data flag "NAME VALUE" or "NAME=VALUE" at word *i, and moves *i to its last word; false: the word is no
 * data flag. A missing value becomes "". */
static bool take_flag(const lh_cli *cli, int *i, const char *paths[OPTIONS]) {
    const char *word = cli->argv[*i];
    for (int o = get_first_option(cli->spec); o < OPTIONS; o++) {
        size_t bytes = strlen(options[o].name);
        if (strncmp(word, options[o].name, bytes) != 0 || (word[bytes] != 0 && word[bytes] != '=')) continue;
        if (word[bytes] == '=') paths[o] = word + bytes + 1;
        else paths[o] = *i + 1 < cli->argc ? cli->argv[++*i] : "";
        return true;
    }
    return false;
}

/* Refuses flags without a value. */
static lh_status check_paths(const char *paths[OPTIONS], lh_error *error) {
    for (int o = 0; o < OPTIONS; o++)
        if (paths[o] != NULL && paths[o][0] == 0)
            return lh_fail(error, LH_ERR_USAGE, "%s: the value is missing\n  expected: %s %s", options[o].name,
                           options[o].name, options[o].word);
    return LH_OK;
}

/* The value of the flag --checkpoint; NULL: there is none. */
static const char *find_checkpoint(const lh_cli *cli) {
    static const char name[] = "--checkpoint";
    for (int i = 0; i < cli->argc; i++) {
        if (strncmp(cli->argv[i], name, sizeof name - 1) != 0) continue;
        const char *suffix = cli->argv[i] + sizeof name - 1;
        if (*suffix == '=') return suffix + 1;
        if (*suffix == 0) return i + 1 < cli->argc ? cli->argv[i + 1] : NULL;
    }
    return NULL;
}

/* Finds each file that no flag gives, by its path in the spec and the folders of the checkpoint's run. */
static lh_status find_paths(lh_data_files *files, const lh_cli *cli, const char *paths[OPTIONS], lh_error *error) {
    const lh_data *data = cli->spec->data;
    const char *const spec_paths[LH_SETS] = {data->train, data->eval, data->validation};
    const char *checkpoint = find_checkpoint(cli);
    lh_status status = LH_OK;
    for (int set = get_first_option(cli->spec); status == LH_OK && set < LH_SETS; set++) {
        if (paths[set] != NULL || spec_paths[set] == NULL) continue;
        paths[set] = files->path[set];
        status = lh_find_data(spec_paths[set], (lh_set)set, checkpoint, files->path[set], error);
    }
    return status;
}

static void show_progress(void *context, double share) {
    char bar[32];
    lh_progress *progress = context;
    if (lh_progress_get_seconds(progress) > (progress->is_live ? 0.5 : 5.0) && lh_progress_is_due(progress, 5.0))
        lh_progress_print(progress, "making examples %s", lh_progress_write_bar(share, bar));
}

static lh_status open_corpus(lh_data_files *files, const lh_spec *spec, const char *const paths[OPTIONS],
                             lh_error *error) {
    lh_progress progress;
    lh_corpus_request request = {.progress = show_progress, .context = &progress};
    memcpy(request.path, paths, sizeof request.path);
    lh_progress_start(&progress);
    lh_status status = lh_corpus_open(&files->corpus, spec, &request, error);
    lh_progress_erase(&progress);
    return status;
}

/* Reports keys in the lines of the files that have no meaning for the task. */
static void report_ignored(const lh_corpus *corpus, const lh_spec *spec) {
    const lh_dataset *const sets[] = {&corpus->train, corpus->has_test_set ? &corpus->eval : NULL, &corpus->validation};
    for (int i = 0; i < LH_SETS; i++)
        if (sets[i] != NULL && sets[i]->ignored[0] != 0)
            fprintf(stderr, "%s: %s: ignores %s, which are neither input, target, mask nor in task.axes\n", spec->id,
                    sets[i]->path, sets[i]->ignored);
}

lh_status lh_data_files_open(lh_data_files *files, lh_cli *cli, lh_error *error) {
    const char *paths[OPTIONS] = {NULL};
    int remaining = 0;
    memset(files, 0, sizeof *files);
    if (cli->spec->data == NULL || requests_help(cli)) return LH_OK;
    files->argv = calloc((size_t)cli->argc + 1, sizeof *files->argv);
    if (files->argv == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the flags");
    for (int i = 0; i < cli->argc; i++)
        if (!take_flag(cli, &i, paths)) files->argv[remaining++] = cli->argv[i];
    cli->argv = files->argv;
    cli->argc = remaining;
    lh_status status = check_paths(paths, error);
    if (status == LH_OK) status = find_paths(files, cli, paths, error);
    if (status == LH_OK) status = open_corpus(files, cli->spec, paths, error);
    if (status != LH_OK) return status;
    files->is_open = true;
    report_ignored(&files->corpus, cli->spec);
    files->spec = *cli->spec;
    cli->spec = &files->spec;
    return lh_corpus_bind(&files->corpus, &files->spec, error);
}

void lh_data_files_close(lh_data_files *files) {
    if (files->is_open) lh_corpus_close(&files->corpus);
    free(files->argv);
}

void lh_data_files_print_help(FILE *out, const lh_spec *spec) {
    lh_options_print_rows(out, options + get_first_option(spec), OPTIONS - get_first_option(spec));
}

/* Writes text such as ", 3 repeated within the file (lines 1, 7, 9, ...)" if the count is not 0. Writes no comma if the
 * character before `text` is a colon. description: "repeated within the file". Returns the number of bytes. */
static size_t put_overlap(char *text, size_t size, const char *description, const lh_overlap_count *overlap) {
    if (overlap->count == 0) return 0;
    size_t used = (size_t)snprintf(text, size, "%s%lld %s (line%s", text[-1] == ':' ? " " : ", ",
                                   (long long)overlap->count, description, overlap->count > 1 ? "s" : "");
    for (int i = 0; i < LH_OVERLAP_LINES && i < overlap->count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s %u", i > 0 ? "," : "", overlap->line[i]);
    return used + (size_t)snprintf(text + used, size - used, "%s)", overlap->count > LH_OVERLAP_LINES ? ", ..." : "");
}

lh_status lh_data_files_compare(const lh_spec *spec, lh_error *error) {
    const lh_corpus *corpus = spec->corpus;
    bool has_training_file = corpus != NULL && spec->data->train != NULL;
    for (int i = LH_SET_TEST; has_training_file && i < LH_SETS; i++) {
        const lh_dataset *set = lh_corpus_get_set(corpus, (lh_set)i);
        lh_overlap overlap;
        char text[640] = ":";
        size_t used = 1;
        if (set == NULL) continue;
        lh_status status = lh_overlap_count_examples(corpus, (lh_set)i, &overlap, NULL, error);
        if (status != LH_OK) return status;
        used += put_overlap(text + used, sizeof text - used, "also in the training set", &overlap.trained);
        used += put_overlap(text + used, sizeof text - used, "whose input is in the training set with another target",
                            &overlap.input);
        used += put_overlap(text + used, sizeof text - used, "repeated within the file", &overlap.duplicates);
        if (used > 1) fprintf(stderr, "%s: %s has %lld examples%s\n", spec->id, set->path, (long long)set->count, text);
    }
    return LH_OK;
}

lh_status lh_data_files_find_set(const lh_spec *spec, const char *name, const lh_dataset **set, lh_error *error) {
    *set = NULL;
    if (name == NULL) return LH_OK;
    if (spec->corpus == NULL)
        return lh_fail(error, LH_ERR_USAGE,
                       "--split: this trainer samples its examples and has no sets of examples; leave out the flag");
    for (int i = 0; i < LH_SETS; i++)
        if (strcmp(name, lh_set_name[i]) == 0) *set = lh_corpus_get_set(spec->corpus, (lh_set)i);
    if (*set != NULL) return LH_OK;
    return lh_fail(error, LH_ERR_USAGE, "--split: there are no examples of '%.40s'\n  expected: train%s%s", name,
                   lh_corpus_get_set(spec->corpus, LH_SET_TEST) != NULL ? ", test" : "",
                   lh_corpus_get_set(spec->corpus, LH_SET_VALIDATION) != NULL ? ", validation" : "");
}

lh_status lh_data_files_select(const lh_spec *spec, const lh_dataset *set, lh_lengths *requested, lh_error *error) {
    const lh_corpus *corpus = spec->corpus;
    const lh_lengths any_length = {.first = 1, .last = INT_MAX};
    if (corpus == NULL) return LH_OK;
    if (set == NULL) set = &corpus->eval;
    *requested = lh_corpus_select(corpus, set, requested);
    if (lh_lengths_count(requested) > 0) return LH_OK;
    lh_lengths available = lh_corpus_select(corpus, set, &any_length);
    return lh_fail(error, LH_ERR_INPUT,
                   "--lengths: %s has no example with an input of these lengths\n  expected: lengths from %d to %d",
                   set->path, lh_lengths_get(&available, 0), lh_lengths_get(&available, available.count - 1));
}

lh_status lh_data_files_read_order(const lh_spec *spec, const char *word, bool *in_order, lh_error *error) {
    *in_order = spec->eval.in_order;
    if (word == NULL) return LH_OK;
    if (spec->corpus == NULL)
        return lh_fail(error, LH_ERR_USAGE,
                       "--order: this trainer samples its examples, which have no order; leave out the flag");
    *in_order = strcmp(word, "file") == 0;
    if (*in_order || strcmp(word, "hash") == 0) return LH_OK;
    return lh_fail(error, LH_ERR_USAGE,
                   "--order: %.40s\n  expected: hash (the seed chooses examples) or file (the first examples)", word);
}

/* Finds the shape with this input length that has the most training examples. */
static lh_status find_shape(const lh_corpus *corpus, int length, int32_t *shape, lh_error *error) {
    *shape = lh_corpus_find_shape(corpus, length);
    if (*shape > 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "--lengths: %s has no example with an input of %d tokens", corpus->train.path,
                   length);
}

lh_status lh_data_files_choose_shapes(const lh_spec *spec, lh_option_lengths *requested, bool is_given,
                                      lh_error *error) {
    const lh_corpus *corpus = spec->corpus;
    if (corpus == NULL) return LH_OK;
    lh_option_lengths shapes;
    int count = lh_lengths_count(&requested->lengths);
    lh_status status = LH_OK;
    if (is_given && count > LH_OPTION_MAX_LENGTHS)
        return lh_fail(error, LH_ERR_USAGE, "--lengths: %d lengths\n  expected: at most %d", count,
                       LH_OPTION_MAX_LENGTHS);
    for (int i = 0; is_given && status == LH_OK && i < count; i++)
        status = find_shape(corpus, lh_lengths_get(&requested->lengths, i), &shapes.list[i], error);
    if (!is_given) {
        shapes.list[0] = corpus->train_shapes[0];
        shapes.list[1] = corpus->train_shapes[corpus->train_shape_count - 1];
        count = shapes.list[0] == shapes.list[1] ? 1 : 2;
    }
    memcpy(requested->list, shapes.list, (size_t)count * sizeof *shapes.list);
    requested->lengths = (lh_lengths){.list = requested->list, .count = count};
    return status;
}
