/* base/files.h: complete files or none, also on full and read-only disks and under kill -9. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json_lines.h"
#include "data/datasets/unpack.h"
#include "lh_disk.h"

static void check_content(const char *path, const char *text) {
    size_t bytes;
    char *data = lh_test_read(path, &bytes);
    assert_string_equal(data, text);
    free(data);
}

static void write_text(const char *path, const char *text) { lh_test_write(path, text, strlen(text)); }

/* ---- directories ---- */

static void test_nested_directories_are_made(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "a//b/c/");
    lh_assert_ok(lh_make_directories(path, &error), &error);
    lh_assert_ok(lh_make_directories(path, &error), &error);
    assert_true(lh_test_exists(lh_test_path(*state, "a/b/c")));
}

static void test_relative_directories_are_made(void **state) {
    lh_error error;
    char *working_folder = getcwd(NULL, 0);
    assert_int_equal(chdir(*state), 0);
    lh_assert_ok(lh_make_directories("x/y", &error), &error);
    lh_assert_ok(lh_make_directories(".", &error), &error);
    assert_int_equal(chdir(working_folder), 0);
    free(working_folder);
    assert_true(lh_test_exists(lh_test_path(*state, "x/y")));
}

static void test_file_in_the_way_of_a_directory_is_named(void **state) {
    lh_error error;
    write_text(lh_test_path(*state, "file"), "");
    lh_status status = lh_make_directories(lh_test_path(*state, "file/deeper"), &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "/file: is a file, expected a directory");
}

static int make_directory_below(void *argument, const char *directory) {
    lh_error error;
    lh_status status = lh_make_directories(lh_test_path(directory, "new/deeper"), &error);
    return status == LH_ERR_ENVIRONMENT && strstr(error.text, "/new: ") && strstr(error.text, "denied") ? 0 : 1;
}

static void test_read_only_parent_is_named(void **state) {
    int result = lh_disk_run_read_only(*state, make_directory_below, NULL);
    if (result == LH_DISK_ABSENT) skip();
    assert_int_equal(result, 0);
}

/* ---- replacing ---- */

static void test_new_and_old_files_are_replaced(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "out");
    lh_assert_ok(lh_replace_file(path, "first", 5, &error), &error);
    check_content(path, "first");
    lh_assert_ok(lh_replace_file(path, "", 0, &error), &error);
    check_content(path, "");
    lh_assert_ok(lh_replace_file(path, "second", 6, &error), &error);
    check_content(path, "second");
    assert_int_equal(lh_test_count_files(*state), 1);
}

static void test_permissions_of_a_replaced_file_follow_umask(void **state) {
    lh_error error;
    struct stat found;
    mode_t old = umask(027);
    lh_assert_ok(lh_replace_file(lh_test_path(*state, "out"), "x", 1, &error), &error);
    umask(old);
    assert_int_equal(stat(lh_test_path(*state, "out"), &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
}

static void test_file_with_the_longest_name_is_replaced(void **state) {
    lh_error error;
    char name[257];
    memset(name, 'n', sizeof name);
    name[255] = 0;
    lh_assert_ok(lh_replace_file(lh_test_path(*state, name), "x", 1, &error), &error);
    name[255] = 'n';
    name[256] = 0;
    lh_status status = lh_replace_file(lh_test_path(*state, name), "x", 1, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "File name too long");
    assert_int_equal(lh_test_count_files(*state), 1);
}

static void test_directory_in_the_way_of_a_file_is_refused(void **state) {
    lh_error error;
    lh_assert_ok(lh_make_directories(lh_test_path(*state, "out/full"), &error), &error);
    lh_status status = lh_replace_file(lh_test_path(*state, "out"), "x", 1, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "cannot rename");
    assert_int_equal(lh_test_count_files(*state), 1);
}

static void test_missing_directory_is_named(void **state) {
    lh_error error;
    lh_status status = lh_replace_file(lh_test_path(*state, "none/out"), "x", 1, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error,
                    "none/out: cannot make a temporary file in its folder: No such file");
}

enum { BIG_FILE = 200000 };

/* The first file fits, the second does not: the first is kept, and no other file remains. */
static int replace_on_full_disk(void *argument, const char *directory) {
    const char *expected = argument, *path = lh_test_path(directory, "out");
    lh_error error;
    char *big = calloc(1, BIG_FILE), *now = NULL;
    size_t bytes = 0;
    int result = 0;
    if (!big || lh_replace_file(path, "old", 3, &error) != LH_OK) result = 1;
    if (result == 0 && lh_replace_file(path, big, BIG_FILE, &error) != LH_ERR_ENVIRONMENT) result = 2;
    if (result == 0 && !strstr(error.text, expected)) result = 3;
    if (result == 0 && (lh_read_file(path, &now, &bytes, &error) != LH_OK || bytes != 3)) result = 4;
    if (result == 0 && lh_test_count_files(directory) != 1) result = 5;
    free(now);
    free(big);
    return result;
}

static void test_old_file_stays_on_a_full_disk(void **state) {
    char expected[] = "out: cannot write: No space left";
    int result = lh_disk_run_small(*state, 65536, replace_on_full_disk, expected);
    if (result == LH_DISK_ABSENT) skip();
    assert_int_equal(result, 0);
}

static void test_old_file_stays_at_a_limit_of_file_size(void **state) {
    char expected[] = "out: cannot write: File too large";
    assert_int_equal(lh_disk_run_limited(*state, 65536, replace_on_full_disk, expected), 0);
}

static int replace_below(void *argument, const char *directory) {
    lh_error error;
    lh_status status = lh_replace_file(lh_test_path(directory, "out"), "new", 3, &error);
    return status == LH_ERR_ENVIRONMENT && strstr(error.text, "denied") ? 0 : 1;
}

static void test_old_file_stays_in_a_read_only_directory(void **state) {
    write_text(lh_test_path(*state, "out"), "old");
    int result = lh_disk_run_read_only(*state, replace_below, NULL);
    if (result == LH_DISK_ABSENT) skip();
    assert_int_equal(result, 0);
    check_content(lh_test_path(*state, "out"), "old");
}

static int replace_for_ever(void *argument, const char *directory) {
    char *data = argument;
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK; i++) {
        memset(data, 'a' + i % 2, BIG_FILE);
        status = lh_replace_file(lh_test_path(directory, "out"), data, BIG_FILE, NULL);
    }
    return 1;
}

static void test_file_is_whole_after_a_kill_at_any_time(void **state) {
    lh_error error;
    char *data = malloc(BIG_FILE);
    int handle;
    bool is_exclusive;
    memset(data, 'a', BIG_FILE);
    lh_assert_ok(lh_replace_file(lh_test_path(*state, "out"), data, BIG_FILE, &error), &error);
    for (unsigned i = 0; i < 20; i++) {
        size_t bytes;
        assert_int_equal(lh_disk_run_killed(*state, 3000 + 731 * i, replace_for_ever, data), 0);
        char *now = lh_test_read(lh_test_path(*state, "out"), &bytes);
        assert_int_equal(bytes, BIG_FILE);
        for (int byte = 1; byte < BIG_FILE; byte++) assert_int_equal(now[byte], now[0]);
        free(now);
    }
    free(data);
    lh_assert_ok(lh_lock_directory(*state, &handle, &is_exclusive, &error), &error); /* removes temporary files */
    assert_int_equal(lh_test_count_files(*state), 2);                                /* out, lock */
    lh_unlock_directory(handle);
}

/* ---- reading ---- */

static void test_read_content_ends_with_0(void **state) {
    lh_error error;
    char *data;
    size_t bytes;
    lh_test_write(lh_test_path(*state, "in"), "a\0b", 3);
    lh_assert_ok(lh_read_file(lh_test_path(*state, "in"), &data, &bytes, &error), &error);
    assert_int_equal(bytes, 3);
    assert_memory_equal(data, "a\0b", 4);
    free(data);
}

static void test_file_of_unknown_size_is_read(void **state) {
    lh_error error;
    char *data;
    size_t bytes;
    lh_assert_ok(lh_read_file("/proc/self/status", &data, &bytes, &error), &error);
    assert_true(bytes > 100 && strlen(data) == bytes);
    free(data);
}

static void test_missing_file_or_directory_is_refused(void **state) {
    lh_error error;
    char *data;
    size_t bytes;
    lh_status status = lh_read_file(lh_test_path(*state, "none"), &data, &bytes, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, "none: cannot open: No such file");
    assert_null(data);
    lh_assert_error(lh_read_file(*state, &data, &bytes, &error), LH_ERR_INPUT, &error, "is a directory");
    assert_null(data);
    lh_assert_error(lh_read_file("/dev/full", &data, &bytes, &error), LH_ERR_INPUT, &error, "is a device");
    assert_null(data);
}

/* No process writes to the pipe, so an ordinary open would block. */
static void test_pipe_or_link_is_refused_at_once(void **state) {
    lh_error error;
    char *data;
    size_t bytes;
    int handle;
    bool is_exclusive;
    lh_truncation cut;
    const char *pipe = lh_test_path(*state, "pipe"), *lock = lh_test_path(*state, "lock");
    const char *link = lh_test_path(*state, "link"), *elsewhere = lh_test_path(*state, "elsewhere");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(mkfifo(lock, 0600), 0);
    assert_int_equal(symlink(elsewhere, link), 0);
    alarm(20);
    lh_assert_error(lh_read_file(pipe, &data, &bytes, &error), LH_ERR_INPUT, &error, "pipe: is a pipe");
    lh_assert_error(lh_append_line(pipe, "x", &error), LH_ERR_ENVIRONMENT, &error, "pipe: is a pipe");
    lh_assert_error(lh_truncate_lines(pipe, "step", 1, &cut, &error), LH_ERR_INPUT, &error, "pipe: is a pipe");
    lh_assert_error(lh_lock_directory(*state, &handle, &is_exclusive, &error), LH_ERR_ENVIRONMENT, &error,
                    "lock: is a pipe");
    lh_assert_error(lh_append_line("/dev/full", "x", &error), LH_ERR_ENVIRONMENT, &error, "/dev/full: is a device");
    lh_assert_error(lh_append_line(link, "x", &error), LH_ERR_ENVIRONMENT, &error, "link: is a symbolic link");
    assert_false(lh_test_exists(elsewhere));
    lh_test_write(elsewhere, "text", 4);
    lh_assert_ok(lh_read_file(link, &data, &bytes, &error), &error);
    assert_int_equal(bytes, 4);
    free(data);
    alarm(0);
}

/* ---- unpacking ---- */

/* The output of `gzip -n` for "a\tb\n" and for "c\td". */
static const unsigned char PACKED[] = {
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0xe4, 0x4c, 0xe2, 2, 0,    0xce, 0x94, 0x11, 0x1a, 4, 0, 0, 0,
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0xe6, 0x4c, 1,    0, 0x63, 0xb2, 0xcd, 0x2e, 3,    0, 0, 0};

/* Unpacks the bytes as the content of in.gz; after an error, the content must be unchanged. */
static lh_status unpack(const void *bytes, size_t count, size_t max_bytes, char **data, size_t *found,
                        lh_error *error) {
    char *copy = malloc(count);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    *data = copy;
    *found = count;
    lh_status status = lh_unpack("in.gz", max_bytes, data, found, error);
    if (status == LH_OK) return status;
    assert_ptr_equal(*data, copy);
    assert_int_equal(*found, count);
    free(copy);
    return status;
}

static void test_unpack_reads_all_parts_of_a_file_of_gzip(void **state) {
    (void)state;
    lh_error error;
    char *data;
    size_t bytes;
    lh_assert_ok(unpack(PACKED, sizeof PACKED, 7, &data, &bytes, &error), &error);
    assert_int_equal(bytes, 7);
    assert_string_equal(data, "a\tb\nc\td");
    free(data);
    lh_assert_ok(unpack("\x1f", 1, 0, &data, &bytes, &error), &error); /* no file of gzip */
    assert_int_equal(bytes, 1);
    free(data);
}

static void test_unpack_refuses_damaged_or_long_content_or_a_missing_gzip(void **state) {
    lh_error error;
    char *data, *path = strdup(getenv("PATH"));
    size_t bytes;
    unsigned char damaged[sizeof PACKED];
    memcpy(damaged, PACKED, sizeof PACKED);
    damaged[17] ^= 1; /* a bit of the first part's checksum */
    for (size_t count = 2; count < sizeof PACKED; count += 5)
        lh_assert_error(unpack(PACKED, count, 99, &data, &bytes, &error), LH_ERR_INPUT, &error,
                        "in.gz: is truncated or damaged: gzip -dc has exit code 1");
    lh_assert_error(unpack(damaged, sizeof damaged, 99, &data, &bytes, &error), LH_ERR_INPUT, &error,
                    "in.gz: is truncated or damaged");
    lh_assert_error(unpack(PACKED, sizeof PACKED, 6, &data, &bytes, &error), LH_ERR_INPUT, &error,
                    "in.gz: is longer than 6 bytes");
    assert_int_equal(setenv("PATH", *state, 1), 0);
    lh_assert_error(unpack(PACKED, sizeof PACKED, 99, &data, &bytes, &error), LH_ERR_ENVIRONMENT, &error,
                    "in.gz: is compressed, and this machine has no program gzip\n  hint: install the package gzip");
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
}

/* ---- lines ---- */

static void test_appended_lines_are_in_order(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "lines");
    lh_assert_ok(lh_append_line(path, "{\"step\":1}", &error), &error);
    lh_assert_ok(lh_append_line(path, "{\"step\":2}", &error), &error);
    check_content(path, "{\"step\":1}\n{\"step\":2}\n");
}

static void check_appended(const char *path, const char *old_text, const char *new_text) {
    lh_error error;
    write_text(path, old_text);
    lh_assert_ok(lh_append_line(path, "{\"step\":2}", &error), &error);
    check_content(path, new_text);
}

static void test_torn_line_is_removed(void **state) {
    const char *path = lh_test_path(*state, "lines");
    check_appended(path, "{\"step\":1}\n{\"st", "{\"step\":1}\n{\"step\":2}\n");
    check_appended(path, "{\"step\":1", "{\"step\":2}\n");
    check_appended(path, "\n{\"by\":{\"length\":1}", "\n{\"step\":2}\n");
    check_appended(path, "12", "{\"step\":2}\n");                         /* may be the beginning of 123 */
    check_appended(path, "{\"step\":1}", "{\"step\":1}\n{\"step\":2}\n"); /* the line lacks only its newline */
    lh_test_write(path, "{\"step\":1}\n\0\0\0", 14);                      /* bytes of value 0 after a loss of power */
    lh_error error;
    lh_assert_ok(lh_append_line(path, "{\"step\":2}", &error), &error);
    check_content(path, "{\"step\":1}\n{\"step\":2}\n");
}

/* The search for the beginning of the torn line reads more than one piece of the file. */
static void test_long_torn_line_is_removed(void **state) {
    char text[20000] = "{\"step\":1}\n{";
    const char *path = lh_test_path(*state, "lines");
    for (size_t from = strlen(text), end = from; end < sizeof text - 1; end += 997) {
        memset(text + from, 'x', end - from);
        check_appended(path, text, "{\"step\":1}\n{\"step\":2}\n");
    }
}

/* Lines of 9 bytes under a limit of 20: the third does not fit, and no part of it is left. */
static int append_to_full_disk(void *argument, const char *directory) {
    lh_error error;
    const char *path = lh_test_path(directory, "lines");
    if (lh_append_line(path, "12345678", &error) != LH_OK) return 1;
    if (lh_append_line(path, "12345678", &error) != LH_OK) return 2;
    if (lh_append_line(path, "12345678", &error) != LH_ERR_ENVIRONMENT) return 3;
    return strstr(error.text, "lines: wrote 2 of 9 bytes") ? 0 : 4;
}

static void test_line_on_a_full_disk_is_undone(void **state) {
    assert_int_equal(lh_disk_run_limited(*state, 20, append_to_full_disk, NULL), 0);
    check_content(lh_test_path(*state, "lines"), "12345678\n12345678\n");
}

/* Removes lines after step 20 from a file. new_text: the expected content; expected_torn: the expected number of torn
 * lines. */
static void check_truncation(const char *directory, const char *old_text, const char *new_text, int expected_torn) {
    lh_error error;
    lh_truncation cut;
    const char *path = lh_test_path(directory, "lines");
    write_text(path, old_text);
    lh_assert_ok(lh_truncate_lines(path, "step", 20, &cut, &error), &error);
    check_content(path, new_text);
    assert_int_equal(cut.torn_lines, expected_torn);
    int lines = 0;
    for (const char *character = new_text; *character; character++) lines += *character == '\n';
    assert_true(cut.exists && cut.kept_lines == lines);
}

static void test_truncate_lines_drops_later_and_torn_lines(void **state) {
    check_truncation(*state, "{\"step\":10}\n{\"step\":20}\n{\"step\":30}\n", "{\"step\":10}\n{\"step\":20}\n", 0);
    check_truncation(*state, "{\"step\":10}\n{\"step\":3", "{\"step\":10}\n", 1);
    check_truncation(*state, "{\"step\":30}\n{\"step\":20}\n", "{\"step\":20}\n", 0);
    check_truncation(*state, "{\"step\":10}\n{\"st\n{\"step\":12}\n", "{\"step\":10}\n{\"step\":12}\n", 1);
    check_truncation(*state, "{\"step\":10}", "{\"step\":10}\n", 0);
    check_truncation(*state, "{\"step\":\"10\"}\n{\"other\":1}\n[1]\n", "", 3);
    check_truncation(*state, "", "", 0);
}

static void test_truncate_lines_without_later_lines_changes_nothing(void **state) {
    lh_error error;
    struct stat old_stat, new_stat;
    lh_truncation cut;
    const char *path = lh_test_path(*state, "lines");
    write_text(path, "{\"step\": 1, \"loss\": 0.5}\n");
    assert_int_equal(stat(path, &old_stat), 0);
    lh_assert_ok(lh_truncate_lines(path, "step", 1, &cut, &error), &error);
    assert_int_equal(stat(path, &new_stat), 0);
    assert_int_equal(old_stat.st_ino, new_stat.st_ino);
}

static void test_truncate_lines_of_a_missing_file_succeeds(void **state) {
    lh_error error;
    lh_truncation cut;
    lh_assert_ok(lh_truncate_lines(lh_test_path(*state, "none"), "step", 1, &cut, &error), &error);
    assert_false(cut.exists);
    assert_false(lh_test_exists(lh_test_path(*state, "none")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_nested_directories_are_made),
        lh_test_in_directory(test_relative_directories_are_made),
        lh_test_in_directory(test_file_in_the_way_of_a_directory_is_named),
        lh_test_in_directory(test_read_only_parent_is_named),
        lh_test_in_directory(test_new_and_old_files_are_replaced),
        lh_test_in_directory(test_permissions_of_a_replaced_file_follow_umask),
        lh_test_in_directory(test_file_with_the_longest_name_is_replaced),
        lh_test_in_directory(test_directory_in_the_way_of_a_file_is_refused),
        lh_test_in_directory(test_missing_directory_is_named),
        lh_test_in_directory(test_old_file_stays_on_a_full_disk),
        lh_test_in_directory(test_old_file_stays_at_a_limit_of_file_size),
        lh_test_in_directory(test_old_file_stays_in_a_read_only_directory),
        lh_test_in_directory(test_file_is_whole_after_a_kill_at_any_time),
        lh_test_in_directory(test_read_content_ends_with_0),
        cmocka_unit_test(test_file_of_unknown_size_is_read),
        lh_test_in_directory(test_pipe_or_link_is_refused_at_once),
        lh_test_in_directory(test_missing_file_or_directory_is_refused),
        cmocka_unit_test(test_unpack_reads_all_parts_of_a_file_of_gzip),
        lh_test_in_directory(test_unpack_refuses_damaged_or_long_content_or_a_missing_gzip),
        lh_test_in_directory(test_appended_lines_are_in_order),
        lh_test_in_directory(test_torn_line_is_removed),
        lh_test_in_directory(test_long_torn_line_is_removed),
        lh_test_in_directory(test_line_on_a_full_disk_is_undone),
        lh_test_in_directory(test_truncate_lines_drops_later_and_torn_lines),
        lh_test_in_directory(test_truncate_lines_without_later_lines_changes_nothing),
        lh_test_in_directory(test_truncate_lines_of_a_missing_file_succeeds),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
