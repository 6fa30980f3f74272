/* base/safetensors.h: written files are read; files with any error are refused, without a crash. */
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/safetensors.h"
#include "engine/checkpoint_parts.h"

/* ---- files with any header ---- */

/* Writes a file with the given header length, or the true length if it is negative. */
static void write_file(const char *path, long long length, const char *header, const void *data, size_t bytes) {
    size_t size = strlen(header);
    char *text = malloc(8 + size + bytes + 1);
    uint64_t stated = length < 0 ? size : (uint64_t)length;
    for (int i = 0; i < 8; i++) text[i] = (char)(stated >> 8 * i & 0xff);
    memcpy(text + 8, header, size);
    if (bytes) memcpy(text + 8 + size, data, bytes);
    lh_test_write(path, text, 8 + size + bytes);
    free(text);
}

/* Checks that a file with this header and `bytes` zeros as data is refused with `message`. */
static void check_refused(const char *directory, const char *header, size_t bytes, const char *message) {
    static const char zeros[64];
    lh_error error;
    lh_st_file *file;
    const char *path = lh_test_path(directory, "bad.safetensors");
    write_file(path, -1, header, zeros, bytes);
    lh_assert_error(lh_st_read(path, &file, &error), LH_ERR_INPUT, &error, message);
    assert_non_null(strstr(error.text, "bad.safetensors: "));
    assert_null(file);
}

/* ---- writing and reading back ---- */

static const float matrix[6] = {1, 2, 3, 4, 5, 6};
static const double vector[2] = {0.5, -0.25};
static const int32_t scalar[1] = {7};

/* Fields: name, type, rank, shape, data, bytes, bytes from row to row (0: the rows are dense). */
static const lh_st_tensor tensors[] = {
    {"scalar", "I32", 0, {0}, scalar, 4, 0},       {"b.matrix", "F32", 2, {2, 3}, matrix, 24, 0},
    {"empty", "U8", 2, {0, 4}, NULL, 0, 0},        {"vector", "F64", 1, {2}, vector, 16, 0},
    {"a.matrix", "F32", 2, {3, 2}, matrix, 24, 0},
};
static const lh_st_meta meta[] = {{"format", "test"}, {"quoted", "\"\\\n\xc3\xa9"}};

static void write_sample(const char *path) {
    lh_error error;
    lh_assert_ok(lh_st_write(path, tensors, 5, meta, 2, &error), &error);
}

static void test_written_file_is_read_back(void **state) {
    lh_error error;
    lh_st_file *file;
    const char *path = lh_test_path(*state, "good.safetensors");
    write_sample(path);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    assert_int_equal(lh_st_count(file), 5);
    for (int i = 0; i < 5; i++) {
        const lh_st_tensor *found = lh_st_find(file, tensors[i].name);
        assert_non_null(found);
        assert_string_equal(found->dtype, tensors[i].dtype);
        assert_int_equal(found->rank, tensors[i].rank);
        assert_int_equal(found->bytes, tensors[i].bytes);
        assert_memory_equal(found->shape, tensors[i].shape, (size_t)found->rank * sizeof found->shape[0]);
        if (found->bytes) assert_memory_equal(found->data, tensors[i].data, found->bytes);
    }
    assert_null(lh_st_find(file, "none"));
    assert_string_equal(lh_st_find_metadata(file, "format"), "test");
    assert_string_equal(lh_st_find_metadata(file, "quoted"), meta[1].value);
    assert_null(lh_st_find_metadata(file, "none"));
    lh_st_free(file);
}

/* Tensors are sorted by the size of an element, largest first, then by name, so that each is aligned; the header ends
 * at a multiple of 8. */
static void test_written_tensors_are_aligned_and_sorted(void **state) {
    static const char *const order[] = {"vector", "a.matrix", "b.matrix", "scalar", "empty"};
    lh_error error;
    lh_st_file *file;
    size_t bytes;
    const char *path = lh_test_path(*state, "good.safetensors");
    write_sample(path);
    char *text = lh_test_read(path, &bytes);
    assert_int_equal((unsigned char)text[0] % 8, 0);
    assert_int_equal(text[8], '{');
    free(text);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    for (int i = 0; i < 5; i++) assert_string_equal(lh_st_get(file, i)->name, order[i]);
    lh_st_free(file);
}

/* Rows with gaps, more than any buffer holds, give the same file and the same sum as dense rows. */
static void test_rows_with_gaps_are_written_as_dense_rows(void **state) {
    enum { ROWS = 5000, COLUMNS = 3, STRIDE = 7 };
    static float strided[ROWS][STRIDE], dense[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < STRIDE; c++) {
            strided[r][c] = (float)(r * STRIDE + c);
            if (c < COLUMNS) dense[r][c] = strided[r][c];
        }
    const lh_st_tensor copies[2] = {
        {"rows", "F32", 2, {ROWS, COLUMNS}, strided, sizeof dense, sizeof strided[0]},
        {"rows", "F32", 2, {ROWS, COLUMNS}, dense, sizeof dense, 0},
    };
    char *text[2];
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        lh_error error;
        const char *path = lh_test_path(*state, "rows.safetensors");
        lh_assert_ok(lh_st_write(path, &copies[i], 1, meta, 2, &error), &error);
        text[i] = lh_test_read(path, &bytes[i]);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(text[0], text[1], bytes[0]);
    assert_int_equal(lh_checkpoint_hash_tensor(&copies[0]), lh_checkpoint_hash_tensor(&copies[1]));
    free(text[0]);
    free(text[1]);
}

static void test_file_without_tensors_is_read_as_empty(void **state) {
    lh_error error;
    lh_st_file *file;
    const char *path = lh_test_path(*state, "none.safetensors");
    lh_assert_ok(lh_st_write(path, NULL, 0, NULL, 0, &error), &error);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    assert_int_equal(lh_st_count(file), 0);
    assert_null(lh_st_find_metadata(file, "format"));
    lh_st_free(file);
}

static void check_write_refused(const char *directory, lh_st_tensor invalid_tensor, const char *message) {
    lh_error error;
    lh_st_tensor with_bad[2] = {tensors[0], invalid_tensor};
    lh_status status = lh_st_write(lh_test_path(directory, "x"), with_bad, 2, NULL, 0, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, message);
    assert_int_equal(lh_test_count_files(directory), 0);
}

static void test_bad_tensor_is_not_written(void **state) {
    lh_error error;
    lh_st_meta twice[2] = {{"k", "1"}, {"k", "2"}};
    check_write_refused(*state, (lh_st_tensor){"scalar", "I32", 0, {0}, scalar, 4, 0}, "scalar: given twice");
    check_write_refused(*state, (lh_st_tensor){"x", "F33", 0, {0}, scalar, 4, 0}, "unknown type F33");
    check_write_refused(*state, (lh_st_tensor){"x", "F32", 1, {2}, scalar, 4, 0}, "4 bytes do not fit");
    check_write_refused(*state, (lh_st_tensor){"x", "F32", 1, {-1}, scalar, 4, 0}, "do not fit");
    check_write_refused(*state, (lh_st_tensor){"__metadata__", "F32", 1, {1}, scalar, 4, 0}, "cannot have the name");
    check_write_refused(*state, (lh_st_tensor){"\xff", "F32", 1, {1}, scalar, 4, 0}, "UTF-8");
    lh_status status = lh_st_write(lh_test_path(*state, "x"), NULL, 0, twice, 2, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, "k: given twice");
}

/* ---- files of other programs ---- */

static void test_header_in_any_order_is_read(void **state) {
    static const float data[3] = {1, 2, 3};
    lh_error error;
    lh_st_file *file;
    float first;
    const char *path = lh_test_path(*state, "other.safetensors");
    write_file(path, -1,
               "{\"b\":{\"data_offsets\":[4,12],\"shape\":[2],\"dtype\":\"F32\"},"
               "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}   ",
               data, sizeof data);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    assert_string_equal(lh_st_get(file, 0)->name, "a");
    memcpy(&first, lh_st_find(file, "b")->data, sizeof first);
    assert_true(first == 2);
    lh_st_free(file);
}

#define ENTRY(name, dtype, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

static void test_bad_offsets_are_refused(void **state) {
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "4") "," ENTRY("b", "F32", "1", "0", "4") "}", 8,
                  "begins at");
    check_refused(*state, "{" ENTRY("a", "F32", "2", "0", "8") "," ENTRY("b", "F32", "1", "4", "8") "}", 8,
                  "begins at");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "4") "," ENTRY("b", "F32", "1", "8", "12") "}", 12,
                  "b: data begins at 8, expected 4");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "4", "8") "}", 8, "a: data begins at 4, expected 0");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "4") "}", 8, "8 bytes of data, but the tensors have 4");
    check_refused(*state, "{" ENTRY("a", "F32", "2", "0", "8") "}", 4, "the file has 4 bytes of data");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "4", "0") "}", 4, "data_offsets 4 to 0");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "-4") "}", 4, "two non-negative integers");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "4,8") "}", 4, "two non-negative integers");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "4.0") "}", 4, "two non-negative integers");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "9223372036854775807") "}", 4, "the file has 4 bytes");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "99999999999999999999") "}", 4, "header, byte");
    check_refused(*state, "{}", 4, "4 bytes of data, but the tensors have 0");
}

static void test_bad_shapes_and_types_are_refused(void **state) {
    check_refused(*state, "{" ENTRY("a", "F32", "2", "0", "4") "}", 4, "4 bytes do not fit the shape");
    check_refused(*state, "{" ENTRY("a", "F32", "-1", "0", "4") "}", 4, "shape: expected");
    check_refused(*state, "{" ENTRY("a", "F32", "1.5", "0", "4") "}", 4, "shape: expected");
    check_refused(*state, "{" ENTRY("a", "F32", "1,1,1,1,1,1,1,1,1", "0", "4") "}", 4, "at most 8");
    check_refused(*state, "{" ENTRY("a", "F32", "4294967296,4294967296", "0", "4") "}", 4, "do not fit the shape");
    check_refused(*state, "{" ENTRY("a", "F32", "4611686018427387905", "0", "4") "}", 4, "do not fit the shape");
    check_refused(*state, "{" ENTRY("a", "f32", "1", "0", "4") "}", 4, "unknown type f32");
    check_refused(*state, "{" ENTRY("a", "", "1", "0", "4") "}", 4, "unknown type");
}

static void test_bad_json_is_refused(void **state) {
    check_refused(*state, "", 0, "does not begin with {");
    check_refused(*state, " {}", 0, "does not begin with {");
    check_refused(*state, "[]", 0, "does not begin with {");
    check_refused(*state, "{", 0, "header, byte");
    check_refused(*state, "{} {}", 0, "header, byte");
    check_refused(*state, "{\"a\":1}", 0, "a: expected dtype, shape and data_offsets");
    check_refused(*state, "{\"a\":{\"dtype\":1,\"shape\":[],\"data_offsets\":[0,4]}}", 4, "expected dtype");
    check_refused(*state, "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4],\"extra\":0}}", 4,
                  "expected dtype");
    check_refused(*state, "{" ENTRY("a", "F32", "1", "0", "4") "," ENTRY("a", "F32", "1", "4", "8") "}", 8,
                  "duplicate object key");
    check_refused(*state, "{\"a\\u0000b\":{}}", 0, "header, byte");
    check_refused(*state, "{\"\xff\":{}}", 0, "header, byte");
}

static void test_bad_metadata_is_refused(void **state) {
    check_refused(*state, "{\"__metadata__\":{\"step\":1}}", 0, "step: expected a string");
    check_refused(*state, "{\"__metadata__\":[]}", 0, "expected an object");
    check_refused(*state, "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "duplicate object key");
    check_refused(*state, "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate object key");
}

static void test_bad_header_length_is_refused(void **state) {
    static const long long lengths[] = {3, 100000000, 100000001, 0x7fffffffffffffff};
    static const char *const messages[] = {"but only 2 follow", "but only 2 follow", "at most 100000000", "at most"};
    lh_error error;
    lh_st_file *file;
    const char *path = lh_test_path(*state, "bad.safetensors");
    for (int i = 0; i < 4; i++) {
        write_file(path, lengths[i], "{}", NULL, 0);
        lh_assert_error(lh_st_read(path, &file, &error), LH_ERR_INPUT, &error, messages[i]);
    }
    lh_test_write(path, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    lh_assert_error(lh_st_read(path, &file, &error), LH_ERR_INPUT, &error, "at most 100000000");
}

static void test_missing_file_is_refused(void **state) {
    lh_error error;
    lh_st_file *file;
    lh_status status = lh_st_read(lh_test_path(*state, "none"), &file, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, "none: cannot open");
}

/* ---- damage ---- */

static void test_file_truncated_anywhere_is_refused(void **state) {
    lh_error error;
    lh_st_file *file;
    size_t bytes;
    const char *path = lh_test_path(*state, "good.safetensors"), *cut = lh_test_path(*state, "cut.safetensors");
    write_sample(path);
    char *text = lh_test_read(path, &bytes);
    for (size_t length = 0; length < bytes; length++) {
        lh_test_write(cut, text, length);
        assert_int_equal(lh_st_read(cut, &file, &error), LH_ERR_INPUT);
    }
    free(text);
}

/* Any byte of length or header is changed, in several ways: the file is refused, or its tensors lie inside it. */
static void test_change_of_any_header_byte_does_no_harm(void **state) {
    static const unsigned char changes[] = {0x01, 0x10, 0x80, 0xff};
    lh_st_file *file;
    size_t bytes, sum = 0;
    const char *path = lh_test_path(*state, "good.safetensors"), *changed = lh_test_path(*state, "changed.safetensors");
    write_sample(path);
    char *text = lh_test_read(path, &bytes);
    size_t data_offset = 8 + (unsigned char)text[0] + 256u * (unsigned char)text[1];
    for (size_t offset = 0; offset < data_offset; offset++) {
        for (size_t c = 0; c < sizeof changes; c++) {
            text[offset] = (char)(text[offset] ^ changes[c]);
            lh_test_write(changed, text, bytes);
            if (lh_st_read(changed, &file, NULL) == LH_OK) {
                for (int i = 0; i < lh_st_count(file); i++) {
                    const unsigned char *data = lh_st_get(file, i)->data;
                    for (size_t b = 0; b < lh_st_get(file, i)->bytes; b++) sum += data[b];
                }
            }
            lh_st_free(file);
            text[offset] = (char)(text[offset] ^ changes[c]);
        }
    }
    free(text);
    assert_true(sum > 0); /* names may change, so some changed files are valid */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_written_file_is_read_back),
        lh_test_in_directory(test_written_tensors_are_aligned_and_sorted),
        lh_test_in_directory(test_rows_with_gaps_are_written_as_dense_rows),
        lh_test_in_directory(test_file_without_tensors_is_read_as_empty),
        lh_test_in_directory(test_bad_tensor_is_not_written),
        lh_test_in_directory(test_header_in_any_order_is_read),
        lh_test_in_directory(test_bad_offsets_are_refused),
        lh_test_in_directory(test_bad_shapes_and_types_are_refused),
        lh_test_in_directory(test_bad_json_is_refused),
        lh_test_in_directory(test_bad_metadata_is_refused),
        lh_test_in_directory(test_bad_header_length_is_refused),
        lh_test_in_directory(test_missing_file_is_refused),
        lh_test_in_directory(test_file_truncated_anywhere_is_refused),
        lh_test_in_directory(test_change_of_any_header_byte_does_no_harm),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
