/* Reads checkpoints, and defines functions that reader and writer share; see checkpoint.h. */
#include "engine/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/real.h"
#include "engine/checkpoint_parts.h"

void lh_checkpoint_name_state(char name[LH_MAX_NAME_BYTES], const lh_spec *spec, int state, const lh_tensor *tensor) {
    snprintf(name, LH_MAX_NAME_BYTES, "optimizer.%s.%s", spec->optimizer.state_name[state], tensor->name);
}

lh_status lh_checkpoint_make_path(char path[PATH_MAX], const char *directory, const char *suffix, lh_error *error) {
    int length = snprintf(path, PATH_MAX, "%s/checkpoint%s.safetensors", directory, suffix);
    if (length >= 0 && length < PATH_MAX) return LH_OK;
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: the path is too long", directory);
}

/* FNV-1a, 64 bits. Each step is a bijection of the hash, so one changed byte always changes the result. */
static const uint64_t HASH_START = 0xcbf29ce484222325u;

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *next = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ next[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text) { return hash_bytes(hash, text, strlen(text) + 1); }

uint64_t lh_checkpoint_hash_tensor(const lh_st_tensor *tensor) {
    uint64_t hash = hash_text(hash_text(HASH_START, tensor->name), tensor->dtype);
    hash = hash_bytes(hash, tensor->shape, (size_t)tensor->rank * sizeof tensor->shape[0]);
    size_t piece, pieces = lh_st_count_pieces(tensor, &piece);
    for (size_t i = 0; i < pieces; i++) hash = hash_bytes(hash, (const char *)tensor->data + i * tensor->stride, piece);
    return hash;
}

uint64_t lh_checkpoint_hash_meta(const lh_st_meta *meta) {
    if (strcmp(meta->key, LH_CHECKSUM_KEY) == 0) return 0;
    return hash_text(hash_text(HASH_START, meta->key), meta->value);
}

static lh_status verify_checksum(const char *path, const lh_st_file *file, const char *expected, lh_error *error) {
    uint64_t sum = 0;
    char text[24];
    for (int i = 0; i < lh_st_count(file); i++) sum += lh_checkpoint_hash_tensor(lh_st_get(file, i));
    for (int i = 0; i < lh_st_metadata_count(file); i++) sum += lh_checkpoint_hash_meta(lh_st_metadata_get(file, i));
    snprintf(text, sizeof text, "%016" PRIx64, sum);
    if (strcmp(text, expected) == 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "%s: damaged: its checksum is %s, expected %.40s", path, text, expected);
}

/* Whether a trainer wrote the file. One of two metadata entries suffices, in case the other one is damaged. */
static bool is_checkpoint(const lh_st_file *file) {
    const char *format = lh_st_find_metadata(file, "format");
    return lh_st_find_metadata(file, LH_CHECKSUM_KEY) != NULL ||
           (format != NULL && strcmp(format, LH_CHECKPOINT_FORMAT) == 0);
}

lh_status lh_checkpoint_open(const char *path, bool needs_checksum, lh_st_file **file, lh_error *error) {
    lh_status status = lh_st_read(path, file, error);
    if (status != LH_OK || (!needs_checksum && !is_checkpoint(*file))) return status;
    const char *expected = lh_st_find_metadata(*file, LH_CHECKSUM_KEY);
    if (expected != NULL) status = verify_checksum(path, *file, expected, error);
    else
        status =
            lh_fail(error, LH_ERR_INPUT, "%s: damaged: there is no checksum in its metadata%s", path,
                    needs_checksum
                        ? ""
                        : "\n  hint: a file of parameters needs no checksum if its metadata has no entry \"format\"");
    if (status == LH_OK) return LH_OK;
    lh_st_free(*file);
    *file = NULL;
    return status;
}

/* ---- parameters ---- */

/* Element `index` of a file's tensor of F32 or F64 numbers, with any alignment. */
static double read_element(const lh_st_tensor *file_tensor, size_t index) {
    const char *data = file_tensor->data;
    double wide_value;
    float narrow_value;
    if (file_tensor->dtype[1] == '6') {
        memcpy(&wide_value, data + index * sizeof wide_value, sizeof wide_value);
        return wide_value;
    }
    memcpy(&narrow_value, data + index * sizeof narrow_value, sizeof narrow_value);
    return narrow_value;
}

/* Copies a file's tensor to its place in a vector, [parameter_storage]. */
static void copy_tensor(const lh_tensor *tensor, const lh_st_tensor *file_tensor, int real_bytes, void *vector) {
    int64_t columns = lh_count_tensor_columns(tensor);
    for (int64_t r = 0; r < lh_count_tensor_rows(tensor); r++)
        for (int64_t c = 0; c < columns; c++)
            lh_real_write(vector, real_bytes, tensor->offset + r * tensor->stride + c,
                          read_element(file_tensor, (size_t)(r * columns + c)));
}

/* The file's tensor `name`, if its type is F32 or F64 and it has the shape of `tensor`; else NULL and a message. */
static const lh_st_tensor *find_matching_tensor(const char *path, const lh_st_file *file, const lh_tensor *tensor,
                                                const char *name, lh_error *error) {
    const lh_st_tensor *file_tensor = lh_st_find(file, name);
    if (!file_tensor) {
        lh_fail(error, LH_ERR_INPUT, "%s: %s is missing", path, name);
        return NULL;
    }
    if (strcmp(file_tensor->dtype, "F32") != 0 && strcmp(file_tensor->dtype, "F64") != 0) {
        lh_fail(error, LH_ERR_INPUT, "%s: %s: type %s, expected F32 or F64", path, name, file_tensor->dtype);
        return NULL;
    }
    bool is_match = file_tensor->rank == tensor->rank;
    for (int i = 0; is_match && i < tensor->rank; i++) is_match = file_tensor->shape[i] == tensor->shape[i];
    if (is_match) return file_tensor;
    char actual[96] = "", expected[48] = "";
    for (int i = 0, index = 0; i < file_tensor->rank && index < 90; i++)
        index +=
            snprintf(actual + index, sizeof actual - (size_t)index, "%s%" PRId64, i ? ", " : "", file_tensor->shape[i]);
    for (int i = 0, index = 0; i < tensor->rank; i++)
        index +=
            snprintf(expected + index, sizeof expected - (size_t)index, "%s%" PRId64, i ? ", " : "", tensor->shape[i]);
    lh_fail(error, LH_ERR_INPUT, "%s: %s: shape [%s], expected [%s]", path, name, actual, expected);
    return NULL;
}

/* Whether a checkpoint of the model may have a tensor of this name. */
static bool is_expected_tensor(const lh_spec *spec, const char *name) {
    if (strncmp(name, "optimizer.", 10) == 0) return true;
    for (int t = 0; t < spec->tensor_count; t++)
        if (strcmp(spec->tensors[t].name, name) == 0) return true;
    return false;
}

static lh_status check_parameters(const char *path, const lh_st_file *file, const lh_spec *spec, lh_error *error) {
    const char *digest = lh_st_find_metadata(file, "model_digest");
    for (int t = 0; t < spec->tensor_count; t++)
        if (!find_matching_tensor(path, file, &spec->tensors[t], spec->tensors[t].name, error)) return LH_ERR_INPUT;
    for (int i = 0; i < lh_st_count(file); i++)
        if (!is_expected_tensor(spec, lh_st_get(file, i)->name))
            return lh_fail(error, LH_ERR_INPUT, "%s: %s: the model %s has no such tensor", path,
                           lh_st_get(file, i)->name, spec->id);
    if (digest && strcmp(digest, spec->model_digest) != 0)
        return lh_fail(
            error, LH_ERR_INPUT,
            "%s: model digest %s, expected %s (%s): names and shapes of the tensors match, but the encoding (such as "
            "the buckets of t5), the network or the vocabulary differs",
            path, digest, spec->model_digest, spec->id);
    return LH_OK;
}

/* Sets the vector of all parameters from a checked file. */
static void read_vector(const lh_st_file *file, const lh_spec *spec, int real_bytes, void *parameters) {
    memset(parameters, 0, (size_t)spec->parameter_storage * (size_t)real_bytes);
    for (int t = 0; t < spec->tensor_count; t++)
        copy_tensor(&spec->tensors[t], lh_st_find(file, spec->tensors[t].name), real_bytes, parameters);
}

/* Parses a decimal integer without other characters. */
static bool parse_count(const char *text, uint64_t *value) {
    if (!text || text[0] < '0' || text[0] > '9') return false;
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == 0;
}

lh_status lh_checkpoint_read_parameters(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                        int64_t *step, lh_error *error) {
    lh_st_file *file;
    uint64_t count = 0;
    lh_status status = lh_checkpoint_open(path, false, &file, error);
    if (status != LH_OK) return status;
    status = check_parameters(path, file, spec, error);
    const char *text = lh_st_find_metadata(file, "step");
    if (status == LH_OK && text && (!parse_count(text, &count) || count > INT64_MAX))
        status = lh_fail(error, LH_ERR_INPUT, "%s: step \"%s\", expected a whole number", path, text);
    if (status == LH_OK) {
        read_vector(file, spec, real_bytes, parameters);
        *step = (int64_t)count;
    }
    lh_st_free(file);
    return status;
}

/* Checks that the file has the checksum of the plan, if the plan has one. */
static lh_status check_init_checksum(const char *path, const lh_st_file *file, const lh_spec *spec, lh_error *error) {
    const char *planned = spec->train.init_checksum, *checksum = lh_st_find_metadata(file, LH_CHECKSUM_KEY);
    if (planned == NULL || (checksum != NULL && strcmp(checksum, planned) == 0)) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: cannot start from this file: its checksum is %.40s\n"
                   "  expected: %s, the checksum of %s, for which this trainer was built\n"
                   "  hint: ./longhand train SPEC --set init=FILE starts another run, from another file",
                   path, checksum != NULL ? checksum : "missing", planned, spec->train.init);
}

lh_status lh_checkpoint_read_init(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                  lh_error *error) {
    lh_st_file *file;
    lh_status status = lh_checkpoint_open(path, false, &file, error);
    if (status != LH_OK) return status;
    status = check_init_checksum(path, file, spec, error);
    if (status == LH_OK) status = check_parameters(path, file, spec, error);
    if (status == LH_OK && parameters != NULL) read_vector(file, spec, real_bytes, parameters);
    lh_st_free(file);
    return status;
}

/* ---- resuming ---- */

/* The result of reading a file; REFUSED: by check_origin. */
typedef enum outcome { VALID, REFUSED, DAMAGED, UNREADABLE, ABSENT } outcome;

static lh_status check_entry(const char *path, const lh_st_file *file, const char *key, const char *expected,
                             lh_error *error) {
    const char *actual = lh_st_find_metadata(file, key);
    if (actual && strcmp(actual, expected) == 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "%s: cannot resume from this file: its %s is \"%s\", expected \"%s\"", path,
                   key, actual ? actual : "", expected);
}

/* Checks the optimiser. The plan digest covers it, too, but this message is more specific. */
static lh_status check_optimizer(const char *path, const lh_st_file *file, const lh_spec *spec, lh_error *error) {
    const char *actual = lh_st_find_metadata(file, LH_OPTIMIZER_KEY), *expected = spec->optimizer.kind;
    if (actual != NULL && strcmp(actual, expected) == 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: cannot resume from this file: its optimiser is \"%.40s\", this run's is \"%s\"\n"
                   "  hint: --init FILE starts a run from its parameters",
                   path, actual != NULL ? actual : "", expected);
}

/* Checks all properties of the file that determine the bits of the resumed run. */
static lh_status check_origin(const char *path, const lh_st_file *file, const lh_spec *spec,
                              const lh_checkpoint_facts *facts, lh_error *error) {
    lh_status status = check_entry(path, file, "format", LH_CHECKPOINT_FORMAT, error);
    if (status == LH_OK) status = check_optimizer(path, file, spec, error);
    if (status == LH_OK) status = check_entry(path, file, "plan_digest", spec->plan_digest, error);
    if (status == LH_OK) status = check_entry(path, file, "source_digest", spec->source_digest, error);
    if (status == LH_OK) status = check_entry(path, file, "level", facts->level, error);
    if (status == LH_OK) status = check_entry(path, file, "compiler", facts->compiler, error);
    if (status == LH_OK) status = check_entry(path, file, "precision", spec->precision, error);
    if (status == LH_OK && spec->corpus != NULL)
        status = check_entry(path, file, LH_DATA_KEY, spec->corpus->train.digest, error);
    return status;
}

/* Reads step, seeds and learning rate from the metadata. */
static lh_status read_counters(const char *path, const lh_st_file *file, lh_checkpoint_facts *facts, lh_error *error) {
    uint64_t step;
    char *end;
    const char *rate = lh_st_find_metadata(file, "learning_rate"), *seeds = lh_st_find_metadata(file, LH_SEEDS_KEY);
    if (!parse_count(lh_st_find_metadata(file, "step"), &step) || step > INT64_MAX ||
        !parse_count(lh_st_find_metadata(file, "seed"), &facts->seed))
        return lh_fail(error, LH_ERR_INPUT, "%s: step and seed: expected whole numbers", path);
    facts->step = (int64_t)step;
    snprintf(facts->separate_seeds_text, sizeof facts->separate_seeds_text, "%s", seeds != NULL ? seeds : "");
    facts->learning_rate = rate ? strtod(rate, &end) : 0;
    if (!rate || end == rate || *end || !isfinite(facts->learning_rate))
        return lh_fail(error, LH_ERR_INPUT, "%s: learning_rate: expected a number", path);
    return LH_OK;
}

/* Checks that the file has every state of the optimiser, and the precision of the training. */
static lh_status check_state(const char *path, const lh_st_file *file, const lh_spec *spec, int real_bytes,
                             lh_error *error) {
    char name[LH_MAX_NAME_BYTES];
    const char *dtype = real_bytes == 8 ? "F64" : "F32";
    for (int t = 0; t < spec->tensor_count; t++) {
        for (int s = 0; spec->tensors[t].learned && s < spec->optimizer.states; s++) {
            lh_checkpoint_name_state(name, spec, s, &spec->tensors[t]);
            if (!find_matching_tensor(path, file, &spec->tensors[t], name, error)) return LH_ERR_INPUT;
        }
    }
    for (int i = 0; i < lh_st_count(file); i++)
        if (strcmp(lh_st_get(file, i)->dtype, dtype) != 0)
            return lh_fail(error, LH_ERR_INPUT, "%s: %s: type %s, expected %s", path, lh_st_get(file, i)->name,
                           lh_st_get(file, i)->dtype, dtype);
    return LH_OK;
}

static void read_state(const lh_st_file *file, const lh_spec *spec, lh_state *state) {
    char name[LH_MAX_NAME_BYTES];
    read_vector(file, spec, state->real_bytes, state->parameters);
    for (int s = 0; s < spec->optimizer.states; s++) {
        if (!state->optimizer[s]) continue;
        memset(state->optimizer[s], 0, (size_t)spec->parameter_storage * (size_t)state->real_bytes);
        for (int t = 0; t < spec->tensor_count; t++) {
            if (!spec->tensors[t].learned) continue;
            lh_checkpoint_name_state(name, spec, s, &spec->tensors[t]);
            copy_tensor(&spec->tensors[t], lh_st_find(file, name), state->real_bytes, state->optimizer[s]);
        }
    }
}

/* Reads one file; state and facts change only if the file is valid. */
static outcome try_file(const char *path, const lh_spec *spec, lh_state *state, lh_checkpoint_facts *facts,
                        lh_error *error) {
    struct stat attributes;
    lh_st_file *file;
    lh_checkpoint_facts stored_facts = *facts;
    if (stat(path, &attributes) != 0 && errno == ENOENT) {
        lh_fail(error, LH_ERR_INPUT, "%s: is missing", path);
        return ABSENT;
    }
    lh_status status = lh_checkpoint_open(path, true, &file, error);
    if (status != LH_OK) return status == LH_ERR_ENVIRONMENT ? UNREADABLE : DAMAGED;
    outcome result = DAMAGED;
    if (read_counters(path, file, &stored_facts, error) == LH_OK) {
        if (check_origin(path, file, spec, facts, error) != LH_OK) result = REFUSED;
        else if (check_parameters(path, file, spec, error) == LH_OK &&
                 check_state(path, file, spec, state->real_bytes, error) == LH_OK)
            result = VALID;
    }
    if (result == VALID) {
        read_state(file, spec, state);
        *facts = stored_facts;
    }
    lh_st_free(file);
    return result;
}

lh_status lh_checkpoint_resume(const char *directory, const lh_spec *spec, lh_state *state, lh_checkpoint_facts *facts,
                               int *is_found, lh_error *note, lh_error *error) {
    char current[PATH_MAX], previous[PATH_MAX];
    lh_error current_error, previous_error;
    *is_found = 0;
    if (note) note->text[0] = 0;
    lh_status status = lh_checkpoint_make_path(current, directory, "", error);
    if (status == LH_OK) status = lh_checkpoint_make_path(previous, directory, ".previous", error);
    if (status != LH_OK) return status;
    outcome current_outcome = try_file(current, spec, state, facts, &current_error);
    if (current_outcome == REFUSED) return lh_fail(error, LH_ERR_INPUT, "%s", current_error.text);
    if (current_outcome == UNREADABLE) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s", current_error.text);
    outcome previous_outcome =
        current_outcome == VALID ? ABSENT : try_file(previous, spec, state, facts, &previous_error);
    if (previous_outcome == UNREADABLE) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s", previous_error.text);
    if (current_outcome == ABSENT && previous_outcome == ABSENT) return LH_OK;
    *is_found = 1;
    if (current_outcome == VALID) return LH_OK;
    if (previous_outcome != VALID)
        return lh_fail(error, LH_ERR_INPUT, "%.500s\n%.500s", current_error.text, previous_error.text);
    lh_fail(note, LH_OK, "%.480s; resuming from %.480s, step %lld", current_error.text, previous,
            (long long)facts->step);
    return LH_OK;
}
