/* Checkpoints with any content; see fuzz.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/safetensors.h"
#include "fuzz/fuzz.h"
#include "toy_spec.h"
#include "engine/checkpoint.h"
#include "engine/checkpoint_parts.h"

static const lh_checkpoint_facts facts = {"x86-64-v3", "gcc 12.2.0", 10, UINT64_MAX, 3e-4, ""};

static float values[3][TOY_STORAGE];

/* Bytes of data in a checkpoint of the toy spec: its parameters, and two moments of learned ones. */
static size_t count_data_bytes(void) {
    size_t bytes = 0;
    for (int t = 0; t < lh_toy_spec.tensor_count; t++) {
        const lh_tensor *tensor = &lh_toy_spec.tensors[t];
        bytes +=
            (tensor->learned ? 3 : 1) * (size_t)(lh_count_tensor_rows(tensor) * lh_count_tensor_columns(tensor)) * 4;
    }
    return bytes;
}

uint8_t *lh_fuzz_checkpoint_seed(int index, size_t *bytes) {
    static uint8_t *contents;
    static size_t size;
    lh_state state = {4, values[0], {values[1], values[2]}};
    if (index > 3) return NULL;
    if (contents == NULL) {
        const char *path = lh_fuzz_path("checkpoint.safetensors");
        lh_fuzz_require(lh_checkpoint_write(path, &lh_toy_spec, &state, &facts, NULL) == LH_OK, "writes", path);
        contents = lh_fuzz_read(path, &size);
    }
    uint8_t *data = malloc(size + 1);
    lh_fuzz_require(data != NULL, "memory", "for a seed");
    data[0] = (uint8_t)index;
    memcpy(data + 1, contents, size);
    *bytes = size + 1;
    return data;
}

/* Writes the length of a header that ends at the data, so that a header of another length is parsed. */
static void repair_length(uint8_t *file, size_t bytes) {
    size_t data = count_data_bytes();
    if (bytes < 8 + data) return;
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)(bytes - 8 - data) >> 8 * i);
}

/* Writes the file again with a valid checksum, so that later checks are reached. */
static void repair_checksum(const char *path, const lh_st_file *file) {
    char text[24];
    uint64_t sum = 0;
    int count = lh_st_count(file), pairs = lh_st_metadata_count(file);
    lh_st_tensor *tensors = calloc((size_t)count + 1, sizeof *tensors);
    lh_st_meta *meta = calloc((size_t)pairs + 1, sizeof *meta);
    lh_fuzz_require(tensors && meta, "memory", "for a checkpoint");
    for (int i = 0; i < count; i++) tensors[i] = *lh_st_get(file, i);
    for (int i = 0; i < pairs; i++) meta[i] = *lh_st_metadata_get(file, i);
    for (int i = 0; i < count; i++) sum += lh_checkpoint_hash_tensor(&tensors[i]);
    for (int i = 0; i < pairs; i++) sum += lh_checkpoint_hash_meta(&meta[i]);
    snprintf(text, sizeof text, "%016" PRIx64, sum);
    for (int i = 0; i < pairs; i++)
        if (strcmp(meta[i].key, LH_CHECKSUM_KEY) == 0) meta[i].value = text;
    lh_error error = {""};
    lh_status status = lh_st_write(path, tensors, count, meta, pairs, &error);
    lh_fuzz_require(status == LH_OK, "what was read can be written", error.text);
    free(tensors);
    free(meta);
}

/* Reads every byte of every tensor, which must be inside the file. */
static void read_all_elements(const lh_st_file *file) {
    volatile uint8_t sum = 0;
    for (int i = 0; i < lh_st_count(file); i++) {
        const lh_st_tensor *tensor = lh_st_get(file, i);
        for (size_t b = 0; b < tensor->bytes; b++) sum = (uint8_t)(sum + ((const uint8_t *)tensor->data)[b]);
        lh_fuzz_require(lh_st_find(file, tensor->name) == tensor, "a name finds its tensor", tensor->name);
    }
}

/* Checks that a refusal has the status for wrong input and names the file. */
static void check_status(lh_status status, const lh_error *error, const char *path) {
    if (status == LH_OK) return;
    const char *path_in_message = strstr(error->text, path);
    lh_fuzz_require(status == LH_ERR_INPUT && path_in_message && strlen(path_in_message) > strlen(path) + 2,
                    "a message", error->text);
}

void lh_fuzz_checkpoint(const uint8_t *data, size_t bytes) {
    if (bytes == 0) return;
    lh_error error = {""}, note;
    lh_st_file *file;
    char path[PATH_MAX], folder[PATH_MAX];
    snprintf(path, sizeof path, "%s", lh_fuzz_path("checkpoint.safetensors"));
    snprintf(folder, sizeof folder, "%s", lh_fuzz_path(""));
    uint8_t *copy = malloc(bytes);
    lh_fuzz_require(copy != NULL, "memory", "for a copy");
    memcpy(copy, data + 1, bytes - 1);
    if (data[0] & 1) repair_length(copy, bytes - 1);
    lh_fuzz_write(path, copy, bytes - 1);
    free(copy);
    lh_status status = lh_st_read(path, &file, &error);
    check_status(status, &error, path);
    if (status == LH_OK) read_all_elements(file);
    if (status == LH_OK && data[0] & 2) repair_checksum(path, file);
    lh_st_free(file);
    int64_t step;
    int found;
    lh_checkpoint_facts current_facts = {.level = facts.level, .compiler = facts.compiler};
    lh_state state = {4, values[0], {values[1], values[2]}};
    memset(values, 0, sizeof values);
    check_status(lh_checkpoint_read_parameters(path, &lh_toy_spec, 4, values[0], &step, &error), &error, path);
    check_status(lh_checkpoint_resume(folder, &lh_toy_spec, &state, &current_facts, &found, &note, &error), &error,
                 path);
    memset(values, 0, sizeof values);
}
