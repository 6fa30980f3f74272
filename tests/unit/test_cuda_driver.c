/* The search for the CUDA driver: every failure has its own message. The tests compile a replacement for the driver.
 * Searches run in processes of their own, except in the last two tests, since an opened driver remains open. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lh_fake_cuda.h"
#include "runtime/cuda/driver.h"

static const char LIBRARY[] = "LONGHAND_CUDA_DRIVER";
static const char *const VARIABLES[] = {LIBRARY, "CUDA_VISIBLE_DEVICES", "FAKE_CUDA_INIT", "FAKE_CUDA_COUNT"};

/* *state: a directory with the replacement fake.so, and with old.so, which lacks a function. */
static int make_fakes(void **state) {
    if (lh_test_make_directory(state) != 0) return -1;
    lh_compile_fake_cuda("driver", "", *state, "fake.so");
    lh_compile_fake_cuda("driver", "-DFAKE_CUDA_OLD", *state, "old.so");
    return 0;
}

static int clear_variables(void **state) {
    for (size_t i = 0; i < sizeof VARIABLES / sizeof VARIABLES[0]; i++) unsetenv(VARIABLES[i]);
    return 0;
}

/* Calls lh_cuda_driver_open in a new process; returns its status and its error. */
static lh_status open_driver_in_child(lh_error *error) {
    int ends[2], status;
    const lh_cuda_driver *driver = NULL;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        memset(error, 0, sizeof *error);
        status = lh_cuda_driver_open(&driver, error);
        if ((status == LH_OK) != (driver != NULL)) _exit(98);
        _exit(write(ends[1], error, sizeof *error) == (ssize_t)sizeof *error ? status : 99);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], error, sizeof *error), sizeof *error);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (lh_status)WEXITSTATUS(status);
}

static void set_library(const char *library) { assert_int_equal(setenv(LIBRARY, library, 1), 0); }

static void test_missing_library_is_reported(void **state) {
    lh_error error;
    set_library(lh_test_path(*state, "none.so"));
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, "no CUDA driver on this machine");
    assert_non_null(strstr(error.text, "none.so: cannot open shared object file"));
    assert_non_null(strstr(error.text, "LONGHAND_CUDA_DRIVER"));
}

/* Without the variable the driver's own name is used. An installed driver is found. */
static void test_default_name_is_the_system_s(void **state) {
    static const char words[] = "libcuda.so.1: cannot open";
    lh_error error;
    bool is_installed = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != NULL;
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        if (is_empty) set_library("");
        if (is_installed) assert_true(open_driver_in_child(&error) == LH_OK || !strstr(error.text, words));
        else lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, words);
    }
}

static void test_missing_function_is_named(void **state) {
    lh_error error;
    set_library(lh_test_path(*state, "old.so"));
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error,
                    "has no function cuLaunchCooperativeKernel");
    assert_non_null(strstr(error.text, "old.so"));
    set_library("libm.so.6");
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, "libm.so.6 has no function cuInit");
}

static void test_stub_is_recognised(void **state) {
    lh_error error;
    set_library(lh_test_path(*state, "fake.so"));
    setenv("FAKE_CUDA_INIT", "34", 1);
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, "stub library");
    assert_non_null(strstr(error.text, "fake.so"));
    assert_non_null(strstr(error.text, "LD_LIBRARY_PATH"));
}

/* The toolkit's stub, if there is a toolkit, has all functions under the searched names, and is refused. */
static void test_stub_of_the_toolkit_is_recognised(void **state) {
    static const char stub[] = "/usr/local/cuda/lib64/stubs/libcuda.so";
    lh_error error;
    if (!lh_test_exists(stub)) skip();
    set_library(stub);
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, "stub library");
}

static void test_missing_device_is_reported(void **state) {
    lh_error error;
    set_library(lh_test_path(*state, "fake.so"));
    setenv("FAKE_CUDA_INIT", "100", 1);
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, "finds no device on this machine\n");
    setenv("FAKE_CUDA_INIT", "0", 1);
    setenv("FAKE_CUDA_COUNT", "0", 1);
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error,
                    "(CUDA_VISIBLE_DEVICES=\"-1\" may hide them)");
}

static void test_failure_has_the_driver_s_message(void **state) {
    lh_error error;
    set_library(lh_test_path(*state, "fake.so"));
    setenv("FAKE_CUDA_INIT", "2", 1);
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, "cannot start");
    assert_non_null(strstr(error.text, "cuInit: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory"));
    setenv("FAKE_CUDA_INIT", "803", 1);
    lh_assert_error(open_driver_in_child(&error), LH_ERR_ENVIRONMENT, &error, "(803)");
}

static void test_usable_driver_is_opened(void **state) {
    lh_error error;
    set_library(lh_test_path(*state, "fake.so"));
    lh_assert_ok(open_driver_in_child(&error), &error);
}

static void *open_in_thread(void *out) {
    const lh_cuda_driver **driver = out;
    lh_error error;
    return lh_cuda_driver_open(driver, &error) == LH_OK ? out : NULL;
}

/* After a failure, the next call searches again. After a success, all calls return the opened driver, for any value of
 * the variable and from any number of threads at once. */
static void test_many_threads_start_the_driver_once(void **state) {
    enum { THREADS = 8 };
    const lh_cuda_driver *drivers[THREADS] = {NULL}, *driver;
    pthread_t threads[THREADS];
    lh_error error;
    set_library(lh_test_path(*state, "none.so"));
    assert_int_equal(lh_cuda_driver_open(&driver, &error), LH_ERR_ENVIRONMENT);
    assert_null(driver);
    set_library(lh_test_path(*state, "fake.so"));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_in_thread, &drivers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
        assert_ptr_equal(drivers[i], drivers[0]);
    }
    set_library(lh_test_path(*state, "none.so"));
    lh_assert_ok(lh_cuda_driver_open(&driver, &error), &error);
    assert_ptr_equal(driver, drivers[0]);
    void *library = dlopen(lh_test_path(*state, "fake.so"), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    assert_int_equal(*(int *)dlsym(library, "fake_inits"), 1);
}

static void test_check_names_the_call_and_the_error(void **state) {
    const lh_cuda_driver *driver;
    lh_error error = {"untouched"};
    set_library(lh_test_path(*state, "fake.so"));
    lh_assert_ok(lh_cuda_driver_open(&driver, &error), &error);
    assert_int_equal(lh_cuda_check(driver, 0, "cuMemAlloc", &error), LH_OK);
    assert_string_equal(error.text, "untouched");
    lh_assert_error(lh_cuda_check(driver, 2, "cuMemAlloc", &error), LH_ERR_ENVIRONMENT, &error,
                    "in cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory");
    lh_assert_error(lh_cuda_check(driver, 4242, "cuMemFree", &error), LH_ERR_ENVIRONMENT, &error, "cuMemFree");
    assert_non_null(strstr(error.text, "(4242)"));
}

#define without_variables(test) cmocka_unit_test_setup_teardown(test, clear_variables, clear_variables)

int main(void) {
    const struct CMUnitTest tests[] = {
        without_variables(test_missing_library_is_reported),
        without_variables(test_default_name_is_the_system_s),
        without_variables(test_missing_function_is_named),
        without_variables(test_stub_is_recognised),
        without_variables(test_stub_of_the_toolkit_is_recognised),
        without_variables(test_missing_device_is_reported),
        without_variables(test_failure_has_the_driver_s_message),
        without_variables(test_usable_driver_is_opened),
        without_variables(test_many_threads_start_the_driver_once),
        without_variables(test_check_names_the_call_and_the_error),
    };
    return cmocka_run_group_tests_name("cuda_driver", tests, make_fakes, lh_test_remove_directory);
}
