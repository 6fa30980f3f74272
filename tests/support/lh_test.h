/* Common header of all unit tests: cmocka with the headers it needs, array comparison, and a temporary directory. */
#ifndef LH_TEST_H
#define LH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "longhand/status.h"

/* Fails unless |actual[i] - expected[i]| <= atol + rtol |expected[i]| for all i < n; reports the worst index, both
 * values, and the largest absolute and relative error. A NaN never agrees. */
#define lh_assert_close(actual, expected, n, rtol, atol) \
    lh_test_assert_close((actual), (expected), (size_t)(n), (rtol), (atol), __FILE__, __LINE__)
#define lh_assert_close_float(actual, expected, n, rtol, atol) \
    lh_test_assert_close_float((actual), (expected), (size_t)(n), (rtol), (atol), __FILE__, __LINE__)

void lh_test_assert_close(const double *actual, const double *expected, size_t n, double rtol, double atol,
                          const char *file, int line);
void lh_test_assert_close_float(const float *actual, const float *expected, size_t n, double rtol, double atol,
                                const char *file, int line);

/* Fails unless the call returns LH_OK; reports the error's text. */
#define lh_assert_ok(call, error) lh_test_assert_ok((call), (error), __FILE__, __LINE__)

/* Fails unless the call returns the given status and the error's text contains expected_text. */
#define lh_assert_error(call, status, error, expected_text) \
    lh_test_assert_error((call), (status), (error), (expected_text), __FILE__, __LINE__)

void lh_test_assert_ok(int status, const lh_error *error, const char *file, int line);
void lh_test_assert_error(int status, int expected, const lh_error *error, const char *expected_text, const char *file,
                          int line);

/* A fixture: *state is the path of a new directory, which teardown removes with its content. */
int lh_test_make_directory(void **state);
int lh_test_remove_directory(void **state);
#define lh_test_in_directory(test) \
    cmocka_unit_test_setup_teardown(test, lh_test_make_directory, lh_test_remove_directory)

/* Returns directory/name in a static buffer; the last eight results stay valid. */
const char *lh_test_path(const char *directory, const char *name);

/* Functions that write and read whole files; an error fails the running test. */
void lh_test_write(const char *path, const void *data, size_t bytes);
const char *lh_test_write_text(const char *directory, const char *name, const char *text); /* returns the path */
char *lh_test_read(const char *path, size_t *bytes); /* malloc'ed, with a 0 after the last byte */
int lh_test_exists(const char *path);
int lh_test_count_files(const char *directory); /* entries except . and .. */

/* Returns chi-square for equal expected counts: the sum over categories of (seen - expected)^2 / expected. */
double lh_test_compute_chi_square(const long *counts, int categories);

#endif
