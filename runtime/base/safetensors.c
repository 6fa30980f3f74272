/* See safetensors.h. The reader trusts nothing: every number is checked before it is used. */
#define _GNU_SOURCE
#include "base/safetensors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"

static const size_t MAX_HEADER_BYTES = 100000000; /* the limit of the format */
static const char METADATA[] = "__metadata__";

struct lh_st_file {
    char *text;            /* the whole file */
    json_t *header;        /* owns names, types and metadata */
    lh_st_tensor *tensors; /* [count], in the order of their data */
    int count;
    lh_st_meta *metadata; /* [metadata_count] */
    int metadata_count;
};

static const struct {
    const char *name;
    int bytes;
} types[] = {{"F64", 8}, {"I64", 8},  {"U64", 8},  {"F32", 4}, {"I32", 4}, {"U32", 4},     {"F16", 2},    {"I16", 2},
             {"U16", 2}, {"BF16", 2}, {"BOOL", 1}, {"I8", 1},  {"U8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}};

int lh_st_get_element_bytes(const char *dtype) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, dtype) == 0) return types[i].bytes;
    return 0;
}

/* Computes the bytes of a tensor of this type and shape; false: a dimension is negative, or the number overflows. */
static bool compute_shape_bytes(const char *dtype, int rank, const int64_t *shape, size_t *bytes) {
    int64_t product = lh_st_get_element_bytes(dtype);
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(product, shape[i], &product)) return false;
    *bytes = (size_t)product;
    return true;
}

size_t lh_st_count_pieces(const lh_st_tensor *tensor, size_t *piece_bytes) {
    *piece_bytes = tensor->bytes;
    if (tensor->stride == 0 || tensor->rank == 0 || tensor->bytes == 0) return 1;
    *piece_bytes = (size_t)tensor->shape[tensor->rank - 1] * (size_t)lh_st_get_element_bytes(tensor->dtype);
    return tensor->bytes / *piece_bytes;
}

/* ---- writing ---- */

static int compare_sizes_and_names(const void *left, const void *right) {
    const lh_st_tensor *a = *(const lh_st_tensor *const *)left, *b = *(const lh_st_tensor *const *)right;
    int difference = lh_st_get_element_bytes(b->dtype) - lh_st_get_element_bytes(a->dtype);
    return difference ? difference : strcmp(a->name, b->name);
}

static lh_status check_tensor(const char *path, const lh_st_tensor *tensor, lh_error *error) {
    size_t bytes;
    if (strcmp(tensor->name, METADATA) == 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: a tensor cannot have the name %s", path, METADATA);
    if (lh_st_get_element_bytes(tensor->dtype) == 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: unknown type %s", path, tensor->name, tensor->dtype);
    if (tensor->rank < 0 || tensor->rank > LH_ST_MAX_RANK ||
        !compute_shape_bytes(tensor->dtype, tensor->rank, tensor->shape, &bytes) || bytes != tensor->bytes)
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: %zu bytes do not fit the shape", path, tensor->name,
                       tensor->bytes);
    return LH_OK;
}

/* Makes {"dtype":...,"shape":[...],"data_offsets":[begin,end]}; NULL: out of memory. */
static json_t *describe_tensor(const lh_st_tensor *tensor, size_t begin) {
    json_t *shape = json_array();
    for (int i = 0; i < tensor->rank; i++) json_array_append_new(shape, json_integer(tensor->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensor->dtype, "shape", shape, "data_offsets", (json_int_t)begin,
                     (json_int_t)(begin + tensor->bytes));
}

/* Adds a key and its value, which this function consumes. kind: "tensor" or "metadata", for messages. */
static lh_status add_entry(json_t *object, const char *path, const char *kind, const char *key, json_t *value,
                           lh_error *error) {
    bool is_repeated = json_object_get(object, key) != NULL;
    if (json_object_set_new(object, key, value) == 0 && !is_repeated) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "%s: %s %s: %s", path, kind, key,
                   is_repeated ? "given twice" : "not text in UTF-8, or too little memory");
}

static lh_status fill_header(json_t *header, const char *path, const lh_st_tensor *const *sorted, int count,
                             const lh_st_meta *meta, int meta_count, lh_error *error) {
    lh_status status = LH_OK;
    if (meta_count > 0) {
        json_t *pairs = json_object();
        for (int i = 0; status == LH_OK && i < meta_count; i++)
            status = add_entry(pairs, path, "metadata", meta[i].key, json_string(meta[i].value), error);
        json_object_set_new(header, METADATA, pairs);
    }
    size_t begin = 0;
    for (int i = 0; status == LH_OK && i < count; begin += sorted[i++]->bytes)
        status = add_entry(header, path, "tensor", sorted[i]->name, describe_tensor(sorted[i], begin), error);
    return status;
}

/* Writes an unsigned integer of 8 bytes, lowest byte first. */
static void put_length(char *text, uint64_t value) {
    for (int i = 0; i < 8; i++) text[i] = (char)(value >> 8 * i & 0xff);
}

/* Makes the start of the file, which the caller frees: the header's length and the header. NULL: out of memory. */
static char *make_file_start(const char *header, size_t *bytes) {
    size_t length = strlen(header), padded = (length + 7) / 8 * 8;
    char *text = malloc(8 + padded);
    if (!text) return NULL;
    put_length(text, padded);
    memset(text + 8, ' ', padded);
    memcpy(text + 8, header, length);
    *bytes = 8 + padded;
    return text;
}

/* Lists the pieces of a file; the caller frees the list. The first piece is empty, and the caller sets it to the start
 * of the file; then come the pieces of the tensors in their order. *piece_count: the number of pieces, the empty one
 * included. NULL: out of memory. */
static lh_piece *list_pieces(const lh_st_tensor *const *sorted, int count, size_t *piece_count) {
    size_t bytes, capacity = 1;
    for (int i = 0; i < count; i++) capacity += lh_st_count_pieces(sorted[i], &bytes);
    lh_piece *pieces = calloc(capacity, sizeof *pieces);
    *piece_count = 1;
    for (int i = 0; pieces && i < count; i++) {
        size_t tensor_pieces = lh_st_count_pieces(sorted[i], &bytes);
        for (size_t j = 0; j < tensor_pieces; j++)
            pieces[(*piece_count)++] = (lh_piece){(const char *)sorted[i]->data + j * sorted[i]->stride, bytes};
    }
    return pieces;
}

static lh_status write_pieces(const char *path, const char *header, const lh_st_tensor *const *sorted, int count,
                              lh_error *error) {
    size_t bytes = 0, piece_count;
    char *text = header ? make_file_start(header, &bytes) : NULL;
    lh_piece *pieces = list_pieces(sorted, count, &piece_count);
    lh_status status;
    if (text && pieces) {
        pieces[0] = (lh_piece){text, bytes};
        status = lh_replace_file_by_pieces(path, pieces, piece_count, error);
    } else {
        status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: not enough memory to write the file", path);
    }
    free(text);
    free(pieces);
    return status;
}

static lh_status write_sorted(const char *path, const lh_st_tensor *const *sorted, int count, const lh_st_meta *meta,
                              int meta_count, lh_error *error) {
    json_t *header = json_object();
    lh_status status = fill_header(header, path, sorted, count, meta, meta_count, error);
    char *printed = status == LH_OK ? json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    if (status == LH_OK) status = write_pieces(path, printed, sorted, count, error);
    free(printed);
    json_decref(header);
    return status;
}

lh_status lh_st_write(const char *path, const lh_st_tensor *tensors, int count, const lh_st_meta *meta, int meta_count,
                      lh_error *error) {
    for (int i = 0; i < count; i++) {
        lh_status status = check_tensor(path, &tensors[i], error);
        if (status != LH_OK) return status;
    }
    const lh_st_tensor **sorted = calloc((size_t)count + 1, sizeof *sorted);
    if (!sorted) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: not enough memory to write the file", path);
    for (int i = 0; i < count; i++) sorted[i] = &tensors[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_sizes_and_names);
    lh_status status = write_sorted(path, sorted, count, meta, meta_count, error);
    free(sorted);
    return status;
}

/* ---- reading ---- */

static uint64_t get_length(const char *text) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | (unsigned char)text[i];
    return value;
}

/* Parses the header; *start: the offset of the first byte after it, where the tensors' data begins. */
static lh_status parse_header(const char *path, const char *text, size_t bytes, size_t *start, json_t **header,
                              lh_error *error) {
    if (bytes < 8) return lh_fail(error, LH_ERR_INPUT, "%s: %zu bytes, expected at least 8", path, bytes);
    uint64_t length = get_length(text);
    if (length > MAX_HEADER_BYTES)
        return lh_fail(error, LH_ERR_INPUT, "%s: header of %llu bytes, expected at most %zu", path,
                       (unsigned long long)length, MAX_HEADER_BYTES);
    if (length > bytes - 8)
        return lh_fail(error, LH_ERR_INPUT, "%s: header of %llu bytes, but only %zu follow", path,
                       (unsigned long long)length, bytes - 8);
    if (length == 0 || text[8] != '{')
        return lh_fail(error, LH_ERR_INPUT, "%s: the header does not begin with {", path);
    json_error_t problem;
    *header = json_loadb(text + 8, (size_t)length, JSON_REJECT_DUPLICATES, &problem);
    if (!*header) return lh_fail(error, LH_ERR_INPUT, "%s: header, byte %d: %s", path, problem.position, problem.text);
    *start = 8 + (size_t)length;
    return LH_OK;
}

static lh_status read_metadata(const char *path, lh_st_file *file, lh_error *error) {
    const char *key;
    json_t *value, *metadata = json_object_get(file->header, METADATA);
    if (metadata && !json_is_object(metadata))
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: expected an object", path, METADATA);
    file->metadata = calloc(json_object_size(metadata) + 1, sizeof *file->metadata);
    if (!file->metadata) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: not enough memory to read the file", path);
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return lh_fail(error, LH_ERR_INPUT, "%s: %s: %s: expected a string", path, METADATA, key);
        file->metadata[file->metadata_count++] = (lh_st_meta){key, json_string_value(value)};
    }
    return LH_OK;
}

/* Copies an array of non-negative integers into out; false: the array has other values or more than max_count, or it
 * is not an array. */
static bool read_integers(json_t *array, int64_t *out, int max_count, int *count) {
    if (!json_is_array(array) || json_array_size(array) > (size_t)max_count) return false;
    *count = (int)json_array_size(array);
    for (int i = 0; i < *count; i++) {
        json_t *value = json_array_get(array, (size_t)i);
        if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
        out[i] = json_integer_value(value);
    }
    return true;
}

/* Reads one entry of the header. data: the part of the file after the header, of `bytes` bytes; offsets count from its
 * start. */
static lh_status read_entry(const char *path, const char *name, json_t *entry, const char *data, size_t bytes,
                            lh_st_tensor *tensor, lh_error *error) {
    int64_t offsets[2];
    int offset_count;
    size_t expected;
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype || json_object_size(entry) != 3)
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: expected dtype, shape and data_offsets", path, name);
    if (lh_st_get_element_bytes(dtype) == 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: unknown type %s", path, name, dtype);
    if (!read_integers(json_object_get(entry, "shape"), tensor->shape, LH_ST_MAX_RANK, &tensor->rank))
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: shape: expected at most %d non-negative integers", path, name,
                       LH_ST_MAX_RANK);
    if (!read_integers(json_object_get(entry, "data_offsets"), offsets, 2, &offset_count) || offset_count != 2)
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: data_offsets: expected two non-negative integers", path, name);
    if (offsets[1] < offsets[0] || (uint64_t)offsets[1] > bytes)
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: data_offsets %lld to %lld, but the file has %zu bytes of data",
                       path, name, (long long)offsets[0], (long long)offsets[1], bytes);
    if (!compute_shape_bytes(dtype, tensor->rank, tensor->shape, &expected) ||
        expected != (size_t)(offsets[1] - offsets[0]))
        return lh_fail(error, LH_ERR_INPUT, "%s: %s: %lld bytes do not fit the shape", path, name,
                       (long long)(offsets[1] - offsets[0]));
    tensor->name = name;
    tensor->dtype = dtype;
    tensor->data = data + offsets[0];
    tensor->bytes = expected;
    return LH_OK;
}

static int compare_addresses(const void *a_pointer, const void *b_pointer) {
    const lh_st_tensor *a = a_pointer, *b = b_pointer;
    const char *p = a->data, *q = b->data;
    if (p != q) return p < q ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes); /* an empty tensor precedes the tensor with the same offset */
}

/* Checks that the tensors fill the data without gaps. */
static lh_status check_contiguous(const char *path, const lh_st_file *file, const char *data, size_t bytes,
                                  lh_error *error) {
    const char *next = data;
    for (int i = 0; i < file->count; i++) {
        const lh_st_tensor *tensor = &file->tensors[i];
        if ((const char *)tensor->data != next)
            return lh_fail(error, LH_ERR_INPUT, "%s: %s: data begins at %td, expected %td", path, tensor->name,
                           (const char *)tensor->data - data, next - data);
        next += tensor->bytes;
    }
    if (next != data + bytes)
        return lh_fail(error, LH_ERR_INPUT, "%s: %zu bytes of data, but the tensors have %td", path, bytes,
                       next - data);
    return LH_OK;
}

static lh_status read_entries(const char *path, lh_st_file *file, const char *data, size_t bytes, lh_error *error) {
    const char *name;
    json_t *entry;
    lh_status status = read_metadata(path, file, error);
    if (status != LH_OK) return status;
    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: not enough memory to read the file", path);
    json_object_foreach(file->header, name, entry) {
        if (strcmp(name, METADATA) == 0) continue;
        status = read_entry(path, name, entry, data, bytes, &file->tensors[file->count], error);
        if (status != LH_OK) return status;
        file->count++;
    }
    qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, compare_addresses);
    return check_contiguous(path, file, data, bytes, error);
}

lh_status lh_st_read(const char *path, lh_st_file **file, lh_error *error) {
    size_t bytes, start;
    lh_st_file *new_file = *file = NULL;
    new_file = calloc(1, sizeof *new_file);
    if (!new_file) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: not enough memory to read the file", path);
    lh_status status = lh_read_file(path, &new_file->text, &bytes, error);
    if (status == LH_OK) status = parse_header(path, new_file->text, bytes, &start, &new_file->header, error);
    if (status == LH_OK) status = read_entries(path, new_file, new_file->text + start, bytes - start, error);
    if (status == LH_OK) *file = new_file;
    else lh_st_free(new_file);
    return status;
}

void lh_st_free(lh_st_file *file) {
    if (!file) return;
    json_decref(file->header);
    free(file->metadata);
    free(file->tensors);
    free(file->text);
    free(file);
}

int lh_st_count(const lh_st_file *file) { return file->count; }

const lh_st_tensor *lh_st_get(const lh_st_file *file, int index) { return &file->tensors[index]; }

const lh_st_tensor *lh_st_find(const lh_st_file *file, const char *name) {
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

int lh_st_metadata_count(const lh_st_file *file) { return file->metadata_count; }

const lh_st_meta *lh_st_metadata_get(const lh_st_file *file, int index) { return &file->metadata[index]; }

const char *lh_st_find_metadata(const lh_st_file *file, const char *key) {
    return json_string_value(json_object_get(json_object_get(file->header, METADATA), key));
}
