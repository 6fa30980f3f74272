/* Writes and rotates checkpoints; see checkpoint.h.
 *
 * Rotation makes these system calls; the process may be killed after each:
 *
 *     write checkpoint.new (temporary, fsync, read back, rename)   current and previous are untouched
 *     link current as checkpoint.old                               current and previous are untouched
 *     rename checkpoint.old to checkpoint.previous                 previous and current are links to one file
 *     rename checkpoint.new to checkpoint                          done
 *
 * So a write never leaves an incomplete current. If current has been damaged since it was written, rotation does not
 * link it, and previous stays.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json_text.h"
#include "engine/checkpoint.h"
#include "engine/checkpoint_parts.h"

/* The least and the greatest number of metadata entries: two entries exist only in some runs. */
enum { MIN_META = LH_IDENTITY_COUNT + 6, MAX_META = MIN_META + 2 };

/* The content of one file: the list of tensors and their names. Data is not copied from the state. */
typedef struct content {
    lh_st_tensor *tensors; /* [count] */
    int count;
    char (*names)[LH_MAX_NAME_BYTES]; /* [count] */
} content;

static void close_content(content *c) {
    free(c->tensors);
    free(c->names);
}

static lh_status open_content(content *c, const char *path, const lh_spec *spec, lh_error *error) {
    size_t capacity = (1 + LH_MAX_STATES) * (size_t)spec->tensor_count;
    memset(c, 0, sizeof *c);
    c->tensors = calloc(capacity + 1, sizeof *c->tensors);
    c->names = calloc(capacity + 1, sizeof *c->names);
    if (c->tensors && c->names) return LH_OK;
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: not enough memory to write it", path);
}

/* Adds one tensor that lies in `vector`, a flat array of all parameters or of one of the optimizer's states; its rows
 * may have gaps between them. The caller has written its name. */
static void add_tensor(content *c, const lh_tensor *tensor, const void *vector, int real_bytes) {
    lh_st_tensor *entry = &c->tensors[c->count];
    size_t real = (size_t)real_bytes;
    *entry = (lh_st_tensor){.name = c->names[c->count], .dtype = real_bytes == 8 ? "F64" : "F32", .rank = tensor->rank};
    for (int i = 0; i < tensor->rank; i++) entry->shape[i] = tensor->shape[i];
    entry->data = (const char *)vector + (size_t)tensor->offset * real;
    entry->bytes = (size_t)lh_count_tensor_elements(tensor) * real;
    if (tensor->rank == 2 && tensor->stride != tensor->shape[1]) entry->stride = (size_t)tensor->stride * real;
    c->count++;
}

static void list_tensors(content *c, const lh_spec *spec, const lh_state *state) {
    for (int t = 0; t < spec->tensor_count; t++) {
        const lh_tensor *tensor = &spec->tensors[t];
        snprintf(c->names[c->count], LH_MAX_NAME_BYTES, "%s", tensor->name);
        add_tensor(c, tensor, state->parameters, state->real_bytes);
        for (int s = 0; tensor->learned && s < spec->optimizer.states; s++) {
            if (!state->optimizer[s]) continue;
            lh_checkpoint_name_state(c->names[c->count], spec, s, tensor);
            add_tensor(c, tensor, state->optimizer[s], state->real_bytes);
        }
    }
}

static uint64_t compute_checksum(const content *c, const lh_st_meta *meta, int count) {
    uint64_t sum = 0;
    for (int i = 0; i < c->count; i++) sum += lh_checkpoint_hash_tensor(&c->tensors[i]);
    for (int i = 0; i < count; i++) sum += lh_checkpoint_hash_meta(&meta[i]);
    return sum;
}

void lh_write_identity(const lh_spec *spec, const char *level, const char *compiler,
                       lh_st_meta meta[LH_IDENTITY_COUNT]) {
    const lh_st_meta identity[LH_IDENTITY_COUNT] = {
        {"id", spec->id},
        {"plan_digest", spec->plan_digest},
        {"model_digest", spec->model_digest},
        {"source_digest", spec->source_digest},
        {"level", level},
        {"compiler", compiler},
        {"precision", spec->precision},
    };
    memcpy(meta, identity, sizeof identity);
}

static lh_status write_content(const char *path, const content *c, const lh_spec *spec,
                               const lh_checkpoint_facts *facts, lh_error *error) {
    char step[32], seed[32], rate[LH_NUMBER_TEXT], sum[24] = "";
    snprintf(step, sizeof step, "%" PRId64, facts->step);
    snprintf(seed, sizeof seed, "%" PRIu64, facts->seed);

    lh_st_meta meta[MAX_META] = {
        {"format", LH_CHECKPOINT_FORMAT},
        [1 + LH_IDENTITY_COUNT] = {"step", step},
        {"seed", seed},
        {"learning_rate", lh_write_shortest(facts->learning_rate, rate)},
        {LH_OPTIMIZER_KEY, spec->optimizer.kind},
        {LH_CHECKSUM_KEY, sum},
    };
    int count = MIN_META;
    if (spec->corpus != NULL) meta[count++] = (lh_st_meta){LH_DATA_KEY, spec->corpus->train.digest};

    if (facts->separate_seeds_text[0] != 0) meta[count++] = (lh_st_meta){LH_SEEDS_KEY, facts->separate_seeds_text};
    lh_write_identity(spec, facts->level, facts->compiler, meta + 1);
    snprintf(sum, sizeof sum, "%016" PRIx64, compute_checksum(c, meta, count));
    return lh_st_write(path, c->tensors, c->count, meta, count, error);
}

lh_status lh_checkpoint_write(const char *path, const lh_spec *spec, const lh_state *state,
                              const lh_checkpoint_facts *facts, lh_error *error) {
    content c;
    lh_status status = open_content(&c, path, spec, error);
    if (status == LH_OK) {
        list_tensors(&c, spec, state);
        status = write_content(path, &c, spec, facts, error);
    }
    close_content(&c);
    return status;
}

/* Whether the file is a complete checkpoint. */
static bool is_complete_checkpoint(const char *path) {
    lh_st_file *file;
    if (lh_checkpoint_open(path, true, &file, NULL) != LH_OK) return false;
    lh_st_free(file);
    return true;
}

/* Links current, if it is complete, as previous; renames it if the file system has no hard links. */
static lh_status keep_previous(const char *directory, const char *current, lh_error *error) {
    char old_path[PATH_MAX], previous[PATH_MAX];
    lh_status status = lh_checkpoint_make_path(old_path, directory, ".old", error);
    if (status == LH_OK) status = lh_checkpoint_make_path(previous, directory, ".previous", error);
    if (status != LH_OK || !is_complete_checkpoint(current)) return status;
    unlink(old_path);
    if (link(current, old_path) != 0) return lh_rename_file(current, previous, error);
    status = lh_rename_file(old_path, previous, error);
    unlink(old_path); /* still exists if previous was a link to current: such a rename does nothing */
    return status;
}

lh_status lh_checkpoint_rotate(const char *directory, const lh_spec *spec, const lh_state *state,
                               const lh_checkpoint_facts *facts, lh_error *error) {
    char new_path[PATH_MAX], current[PATH_MAX];
    lh_status status = lh_checkpoint_make_path(new_path, directory, ".new", error);
    if (status == LH_OK) status = lh_checkpoint_make_path(current, directory, "", error);
    if (status == LH_OK) status = lh_checkpoint_write(new_path, spec, state, facts, error);
    if (status == LH_OK) status = keep_previous(directory, current, error);
    if (status == LH_OK) status = lh_rename_file(new_path, current, error);
    return status;
}
