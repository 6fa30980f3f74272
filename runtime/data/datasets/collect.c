/* See collect.h. */
#include "data/datasets/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "data/lengths.h"

enum {
    LARGEST_FILE = 1 << 20, /* maximum bytes of a validation file */
    DIGEST = 16             /* digits of a validation file's digest */
};

/* The state of a collection. The task sees only the member `task`, which must be the first. */
typedef struct collection_state {
    lh_collection task;
    const lh_spec *spec;
    const lh_corpus_request *request;
    lh_example_list *lists; /* [LH_SETS] */
} collection_state;

static lh_status fail_token(const lh_spec *spec, const char *list_name, int token, int symbols, lh_error *error) {
    return lh_fail(error, LH_ERR_INPUT, "%s: made an example with token %d in its %s\n  expected: 0 to %d",
                   spec->task->kind, token, list_name, symbols - 1);
}

static lh_status fail_length(const lh_spec *spec, int inputs, int outputs, lh_error *error) {
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: made an example with %d input and %d target tokens\n  expected: at most %d together",
                   spec->task->kind, inputs, outputs, spec->data->longest);
}

static lh_status check_example(const lh_spec *spec, const lh_example *example, lh_error *error) {
    const lh_task *task = spec->task;
    for (int i = 0; i < example->input_length; i++)
        if (example->input[i] >= task->input_symbols)
            return fail_token(spec, "input", example->input[i], task->input_symbols, error);
    for (int i = 0; i < example->output_length; i++)
        if (example->target[i] >= task->output_symbols)
            return fail_token(spec, "target", example->target[i], task->output_symbols, error);
    if (example->input_length + example->output_length <= spec->data->longest) return LH_OK;
    return fail_length(spec, example->input_length, example->output_length, error);
}

static lh_status add_example(lh_collection *c, lh_set set, const lh_example *example, const int32_t *axis_values,
                             lh_error *error) {
    const collection_state *state = (const collection_state *)c;
    int inputs = example->input_length, outputs = example->output_length, axes = state->spec->task->axes;
    lh_example_storage storage;
    lh_status status = check_example(state->spec, example, error);
    if (status == LH_OK)
        status = lh_example_list_add(&state->lists[set], inputs, outputs, inputs + outputs, axes, &storage, error);
    if (status != LH_OK) return status;
    memcpy(storage.tokens, example->input, (size_t)inputs * sizeof *storage.tokens);
    memcpy(storage.tokens + inputs, example->target, (size_t)outputs * sizeof *storage.tokens);
    memset(storage.mask, 0, (size_t)inputs);
    memcpy(storage.mask + inputs, example->mask, (size_t)outputs);
    memcpy(storage.values, axis_values, (size_t)axes * sizeof *storage.values);
    return LH_OK;
}

static lh_status check_encoding_limit(const lh_spec *spec, const lh_item *item, lh_error *error) {
    lh_shape shape = {.sequences = 1};
    spec->format->shape(item->input_length, item->output_length, &shape);
    for (int s = 0; spec->limit.tokens > 0 && s < spec->format->streams; s++)
        if (shape.length[s] > spec->limit.tokens)
            return lh_fail(error, LH_ERR_INPUT,
                           "eval.by: %s makes test examples of %d tokens, the encoding allows %d (%s)\n"
                           "  hint: smaller values in eval.by, or a spec with a higher limit",
                           spec->task->kind, shape.length[s], spec->limit.tokens, spec->limit.because);
    return LH_OK;
}

static lh_status add_item(lh_collection *c, lh_set set, const lh_item *item, const int32_t *axis_values,
                          lh_error *error) {
    const collection_state *state = (const collection_state *)c;
    int axes = state->spec->task->axes;
    const lh_token_positions *positions = state->spec->format->positions;
    lh_example_storage storage;
    if (positions != NULL && positions->digit == NULL && item->greatest_position > positions->greatest)
        return lh_fail(error, LH_ERR_INPUT,
                       "%s makes an example with a token at position %d\n"
                       "  expected: at most encoding.positions.max_position = %d\n"
                       "  hint: smaller numbers in eval.by and task.options, or a greater max_position",
                       state->spec->task->kind, item->greatest_position, positions->greatest);
    if (item->input_length + item->output_length > state->spec->data->longest) {
        lh_status status = set == LH_SET_TEST /* only the encoding limits test examples */
                               ? check_encoding_limit(state->spec, item, error)
                               : fail_length(state->spec, item->input_length, item->output_length, error);
        if (status != LH_OK) return status;
    }
    lh_status status = lh_example_list_add(&state->lists[set], item->input_length, item->output_length, item->words,
                                           axes, &storage, error);
    if (status != LH_OK) return status;
    memcpy(storage.tokens, item->word, (size_t)item->words * sizeof *storage.tokens);
    memset(storage.mask, 0, (size_t)item->words);
    memcpy(storage.values, axis_values, (size_t)axes * sizeof *storage.values);
    return LH_OK;
}

/* Whether an evaluation is grouped by an axis.
 * value: the evaluation must also request this value; NULL: any values. */
static bool is_grouped_by(const lh_collection *c, int axis, const int *value) {
    const lh_eval_defaults *eval = &((const collection_state *)c)->spec->eval;
    const lh_by *const evaluations[] = {&eval->by, &eval->during_by};
    for (int e = 0; e < (eval->during_every > 0 ? 2 : 1); e++)
        for (int i = 0; i < evaluations[e]->count; i++)
            if (evaluations[e]->axes[i].axis == axis && (value == NULL || evaluations[e]->axes[i].all ||
                                                         lh_lengths_have(&evaluations[e]->axes[i].values, *value)))
                return true;
    return false;
}

static bool groups_by(const lh_collection *c, int axis) { return is_grouped_by(c, axis, NULL); }

static bool requests(const lh_collection *c, int axis, int value) { return is_grouped_by(c, axis, &value); }

static void report_progress(lh_collection *c, double share) {
    const lh_corpus_request *request = ((const collection_state *)c)->request;
    if (request != NULL && request->progress != NULL) request->progress(request->context, share);
}

/* Checks that the validation file has the digest of the plan. */
static lh_status check_validation_digest(const lh_spec *spec, const char *path, const char *digest, lh_error *error) {
    const char *expected = spec->data->validation_digest;
    if (spec->data->validation == NULL)
        return lh_fail(error, LH_ERR_INPUT,
                       "--validation: this trainer's spec has no validation file, so the trainer makes all examples\n"
                       "  expected: task.validation in the spec");
    if (expected == NULL || strncmp(expected, digest, DIGEST) == 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: its SHA-256 begins with %.*s\n  expected: %s, of the file that this trainer was built for\n"
                   "  hint: ./longhand build makes a trainer for another validation file",
                   path, DIGEST, digest, expected);
}

/* Reads the validation file and checks its SHA-256. The caller frees *text, also after an error. */
static lh_status read_validation(const lh_spec *spec, const char *path, char **text, char digest[LH_SHA256_TEXT],
                                 lh_error *error) {
    size_t bytes;
    lh_error problem;
    lh_status status = lh_read_text(path, LARGEST_FILE, text, &bytes, &problem);
    if (status != LH_OK)
        return lh_fail(error, status,
                       "%.1500s\n  hint: --validation FILE; paths in a spec are relative to the spec's folder",
                       problem.text);
    if (strlen(*text) != bytes)
        return lh_fail(error, LH_ERR_INPUT, "%s: byte %zu is 0\n  expected: text", path, strlen(*text));
    lh_sha256(*text, bytes, digest);
    return check_validation_digest(spec, path, digest, error);
}

lh_status lh_collect(const lh_spec *spec, const char *paths[LH_SETS], const lh_corpus_request *request,
                     lh_example_list lists[LH_SETS], lh_error *error) {
    collection_state state = {
        .task = {.seed = spec->data->seed,
                 .options = spec->task->options,
                 .add = add_example,
                 .add_item = add_item,
                 .groups_by = groups_by,
                 .requests = requests,
                 .progress = report_progress},
        .spec = spec,
        .request = request,
        .lists = lists,
    };
    char *text = NULL, digest[LH_SHA256_TEXT];
    lh_status status = LH_OK;
    if (paths[LH_SET_VALIDATION] != NULL)
        status = read_validation(spec, paths[LH_SET_VALIDATION], &text, digest, error);
    state.task.validation = text;
    state.task.path = paths[LH_SET_VALIDATION];
    if (status == LH_OK) status = spec->task->collect(&state.task, error);
    for (int set = 0; set < LH_SETS; set++) {
        lh_example_list *list = &lists[set];
        const void *tokens = list->tokens != NULL ? (const void *)list->tokens : "";
        list->expand = state.task.expand;
        list->seed = state.task.seed;
        list->exclusive_axes = state.task.exclusive_axes[set];
        lh_sha256(tokens, (size_t)list->used * sizeof *list->tokens, list->digest);
        if (set != LH_SET_VALIDATION || text == NULL) paths[set] = spec->task->kind;
        else memcpy(list->digest, digest, sizeof digest);
    }
    free(text);
    if (status == LH_OK && lists[LH_SET_TRAIN].count == 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: made no examples to train on", spec->task->kind);
    return status;
}
