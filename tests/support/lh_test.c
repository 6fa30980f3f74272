/* See lh_test.h. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- arrays ---- */

typedef struct comparison {
    size_t worst;              /* the element with the largest `excess` */
    double excess;             /* its error divided by the allowed error */
    double actual, expected;   /* its values */
    double absolute, relative; /* largest errors of all elements */
    size_t failures;           /* number of elements whose error is not allowed */
} comparison;

static void compare(comparison *c, size_t i, double actual, double expected, double rtol, double atol) {
    double error = fabs(actual - expected), allowed = atol + rtol * fabs(expected);
    if (actual == expected) error = 0; /* infinities of equal sign agree */
    if (isnan(error)) error = INFINITY;
    double relative = error == 0 ? 0 : error / fabs(expected);
    double excess = error == 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;
    if (error > c->absolute) c->absolute = error;
    if (relative > c->relative) c->relative = relative;
    if (!(error <= allowed)) c->failures++;
    if (i > 0 && excess <= c->excess) return;
    c->worst = i;
    c->excess = excess;
    c->actual = actual;
    c->expected = expected;
}

static void report_failures(const comparison *c, size_t n, double rtol, double atol, const char *file, int line) {
    if (c->failures == 0) return;
    print_error("%zu of %zu differ; worst at [%zu]: got %.17g, expected %.17g\n"
                "largest error: absolute %.3g, relative %.3g; allowed: %.3g + %.3g |expected|\n",
                c->failures, n, c->worst, c->actual, c->expected, c->absolute, c->relative, atol, rtol);
    _fail(file, line);
}

void lh_test_assert_close(const double *actual, const double *expected, size_t n, double rtol, double atol,
                          const char *file, int line) {
    comparison c = {0};
    for (size_t i = 0; i < n; i++) compare(&c, i, actual[i], expected[i], rtol, atol);
    report_failures(&c, n, rtol, atol, file, line);
}

void lh_test_assert_close_float(const float *actual, const float *expected, size_t n, double rtol, double atol,
                                const char *file, int line) {
    comparison c = {0};
    for (size_t i = 0; i < n; i++) compare(&c, i, (double)actual[i], (double)expected[i], rtol, atol);
    report_failures(&c, n, rtol, atol, file, line);
}

/* ---- statuses ---- */

void lh_test_assert_ok(int status, const lh_error *error, const char *file, int line) {
    if (status == LH_OK) return;
    print_error("status %d: %s\n", status, error ? error->text : "");
    _fail(file, line);
}

void lh_test_assert_error(int status, int expected, const lh_error *error, const char *expected_text, const char *file,
                          int line) {
    if (status == expected && strstr(error->text, expected_text)) return;
    print_error("status %d, expected %d with \"%s\": %s\n", status, expected, expected_text, status ? error->text : "");
    _fail(file, line);
}

/* ---- files ---- */

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *where) {
    return remove(path);
}

int lh_test_make_directory(void **state) {
    const char *parent = getenv("TMPDIR");
    char *path;
    if (asprintf(&path, "%s/longhand-test-XXXXXX", parent && parent[0] ? parent : "/tmp") < 0) return -1;
    *state = path;
    return mkdtemp(path) ? 0 : -1;
}

int lh_test_remove_directory(void **state) {
    int status = nftw(*state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return status;
}

const char *lh_test_path(const char *directory, const char *name) {
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    assert_true(snprintf(path, sizeof paths[0], "%s/%s", directory, name) < (int)sizeof paths[0]);
    return path;
}

void lh_test_write(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

const char *lh_test_write_text(const char *directory, const char *name, const char *text) {
    const char *path = lh_test_path(directory, name);
    lh_test_write(path, text, strlen(text));
    return path;
}

char *lh_test_read(const char *path, size_t *bytes) {
    struct stat found;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &found), 0);
    *bytes = (size_t)found.st_size;
    char *data = calloc(1, *bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    assert_int_equal(fclose(file), 0);
    return data;
}

int lh_test_exists(const char *path) { return access(path, F_OK) == 0; }

int lh_test_count_files(const char *directory) {
    int count = 0;
    DIR *list = opendir(directory);
    assert_non_null(list);
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) count++;
    closedir(list);
    return count;
}

double lh_test_compute_chi_square(const long *counts, int categories) {
    double total = 0, sum = 0;
    for (int i = 0; i < categories; i++) total += (double)counts[i];
    double expected = total / categories;
    for (int i = 0; i < categories; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}
