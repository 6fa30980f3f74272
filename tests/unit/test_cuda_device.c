/* The choice of a CUDA device and its image, with a replacement for the driver (tests/support/fake_cuda). */
#define _GNU_SOURCE
#include "lh_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lh_fake_cuda.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/image.h"

static const char *const VARIABLES[] = {"CUDA_VISIBLE_DEVICES",   "FAKE_CUDA_COUNT",        "FAKE_CUDA_VERSION",
                                        "FAKE_CUDA_ARCHITECTURE", "FAKE_CUDA_BLOCK_MEMORY", "FAKE_CUDA_COOPERATIVE",
                                        "FAKE_CUDA_RESIDENT",     "FAKE_CUDA_CARVED",       "FAKE_CUDA_RETAIN",
                                        "FAKE_CUDA_LOAD",         "FAKE_CUDA_FUNCTION",     "FAKE_CUDA_ATTRIBUTE",
                                        "LONGHAND_CUDA_ROOT",     "LONGHAND_CACHE"};

static int make_fake(void **state) {
    if (lh_test_make_directory(state) != 0) return -1;
    lh_compile_fake_cuda("driver", "", *state, "fake.so");
    return setenv("LONGHAND_CUDA_DRIVER", lh_test_path(*state, "fake.so"), 1);
}

static int clear_variables(void **state) {
    for (size_t i = 0; i < sizeof VARIABLES / sizeof VARIABLES[0]; i++) unsetenv(VARIABLES[i]);
    return 0;
}

static void set_variable(const char *variable, const char *value) { assert_int_equal(setenv(variable, value, 1), 0); }

/* ---- images ---- */

static void test_kind_of_an_image_is_read_from_its_name(void **state) {
    lh_cuda_kind kind;
    assert_true(lh_cuda_parse_kind("sm_90", &kind));
    assert_true(kind.is_machine_code && kind.architecture == 90 && kind.suffix == 0);
    assert_true(lh_cuda_parse_kind("sm_90a", &kind));
    assert_true(kind.is_machine_code && kind.architecture == 90 && kind.suffix == 'a');
    assert_true(lh_cuda_parse_kind("compute_103f", &kind));
    assert_true(!kind.is_machine_code && kind.architecture == 103 && kind.suffix == 'f');
    const char *const invalid_names[] = {"",        "90",       "sm_",  "sm_9",   "sm_90b",
                                         "sm_90aa", "compute_", "sm90", "lto_90", "sm_90909"};
    for (size_t i = 0; i < sizeof invalid_names / sizeof invalid_names[0]; i++)
        assert_false(lh_cuda_parse_kind(invalid_names[i], &kind));
}

static void test_image_runs_on_the_devices_that_its_name_allows(void **state) {
    static const struct {
        const char *image;
        int architecture, runs;
    } cases[] = {
        {"sm_80", 80, 1},       {"sm_80", 86, 1},       {"sm_86", 80, 0},         {"sm_80", 75, 0},
        {"sm_80", 90, 0},       {"sm_75", 80, 0},       {"sm_90a", 90, 1},        {"sm_90a", 91, 0},
        {"sm_100f", 100, 1},    {"sm_100f", 103, 1},    {"sm_103f", 100, 0},      {"sm_100f", 110, 0},
        {"sm_100f", 120, 0},    {"sm_100a", 103, 0},    {"sm_120", 121, 1},       {"compute_75", 75, 1},
        {"compute_75", 121, 1}, {"compute_80", 75, 0},  {"compute_90a", 90, 1},   {"compute_90a", 100, 0},
        {"compute_100", 90, 0}, {"compute_90", 100, 1}, {"compute_100f", 103, 1}, {"compute_100f", 120, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lh_cuda_kind kind;
        assert_true(lh_cuda_parse_kind(cases[i].image, &kind));
        if (lh_cuda_runs_image(&kind, cases[i].architecture) != cases[i].runs)
            fail_msg("%s on sm_%d: expected %d", cases[i].image, cases[i].architecture, cases[i].runs);
    }
}

/* Makes images; the bytes of an image are its name. */
static const lh_cuda_image *make_images(const char *names) {
    static lh_cuda_image images[8];
    static char text[256];
    int count = 0;
    snprintf(text, sizeof text, "%s", names);
    for (char *cursor, *name = strtok_r(text, " ", &cursor); name; name = strtok_r(NULL, " ", &cursor)) {
        assert_true(count < 7);
        images[count++] = (lh_cuda_image){name, (unsigned char *)name, (unsigned char *)name + strlen(name)};
    }
    images[count] = (lh_cuda_image){0};
    return images;
}

static void test_best_image_that_fits_is_chosen(void **state) {
    static const struct {
        const char *images, *toolkit;
        int architecture, driver;
        const char *best;
    } cases[] = {
        {"sm_80 sm_86 sm_90 compute_90", "13.0", 80, 13000, "sm_80"},
        {"sm_80 sm_86 sm_90 compute_90", "13.0", 89, 13000, "sm_86"},
        {"sm_90 sm_90a compute_90", "13.0", 90, 13000, "sm_90a"},
        {"sm_100 sm_100f", "13.0", 103, 13000, "sm_100f"},
        {"sm_80 compute_75 compute_80", "13.0", 90, 13000, "compute_80"},
        {"compute_89 sm_80", "13.0", 89, 13000, "sm_80"}, /* machine code is preferred */
        {"sm_90 compute_75", "12.8", 90, 12000, "sm_90"}, /* a driver of an older minor version */
        {"sm_90 compute_75", "12.0", 80, 12000, "compute_75"},
        {"sm_90 compute_75", "12.9", 80, 13000, "compute_75"},
        {"sm_90", "11.8", 90, 13000, "sm_90"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const lh_cuda_program program = {.images = make_images(cases[i].images), .toolkit = cases[i].toolkit};
        const lh_cuda_image *image;
        lh_error error;
        lh_assert_ok(lh_cuda_choose_image(&program, cases[i].architecture, cases[i].driver, &image, &error), &error);
        assert_non_null(image);
        assert_string_equal(image->architecture, cases[i].best);
    }
}

static void test_message_lists_images_and_device_if_none_fits(void **state) {
    const lh_cuda_program program = {.images = make_images("sm_80 sm_90a compute_90"), .toolkit = "13.0"};
    const lh_cuda_program empty_program = {.images = NULL};
    const lh_cuda_image *image;
    lh_error error;
    lh_assert_error(lh_cuda_choose_image(&program, 75, 13000, &image, &error), LH_ERR_ENVIRONMENT, &error,
                    "sm_75 (compute capability 7.5); this program has: sm_80, sm_90a, compute_90\n");
    assert_null(image);
    lh_assert_error(lh_cuda_choose_image(&empty_program, 121, 13000, &image, &error), LH_ERR_ENVIRONMENT, &error,
                    "sm_121 (compute capability 12.1); this program has: none\n");
}

static void test_message_names_both_versions_if_the_driver_is_too_old(void **state) {
    const lh_cuda_program program = {.images = make_images("sm_90 compute_80"), .toolkit = "13.1"};
    const lh_cuda_image *image;
    lh_error error;
    lh_assert_error(
        lh_cuda_choose_image(&program, 90, 12040, &image, &error), LH_ERR_ENVIRONMENT, &error,
        "knows CUDA up to 12.4, but the device code (sm_90) was compiled by toolkit 13.1 and needs a driver "
        "for CUDA 13.0\n");
    assert_non_null(strstr(error.text, "to release 580 or later (CUDA 13.0), or build"));
    lh_assert_error(lh_cuda_choose_image(&program, 86, 13000, &image, &error), LH_ERR_ENVIRONMENT, &error,
                    "knows CUDA up to 13.0, but the device code (compute_80) was compiled by toolkit 13.1 and needs a "
                    "driver for CUDA 13.1\n");
    assert_non_null(strstr(error.text, "to release 590 or later (CUDA 13.1), or build"));
}

/* Machine code needs a driver for the major version of its toolkit. The intermediate form (PTX) needs a driver for the
 * toolkit's major and minor version. */
static void test_oldest_driver_depends_on_the_kind_of_image(void **state) {
    static const struct {
        const char *images, *toolkit;
        int machine, ptx, release[2];
    } cases[] = {
        {"sm_80 compute_80", "12.4", 12000, 12040, {525, 550}},
        {"sm_80", "13.1", 13000, 0, {580, 0}},
        {"compute_90a", "11.8", 0, 11080, {0, 520}},
        {"sm_90 compute_90", "12.7", 12000, 12070, {525, 0}},
        {"sm_90", "14.3", 14000, 0, {0, 0}},
        {"", "13.0", 0, 0, {0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const lh_cuda_program program = {.images = make_images(cases[i].images), .toolkit = cases[i].toolkit};
        assert_int_equal(lh_cuda_find_oldest_driver(&program, true), cases[i].machine);
        assert_int_equal(lh_cuda_find_oldest_driver(&program, false), cases[i].ptx);
        assert_int_equal(lh_cuda_get_driver_release(cases[i].machine), cases[i].release[0]);
        assert_int_equal(lh_cuda_get_driver_release(cases[i].ptx), cases[i].release[1]);
    }
    char text[LH_CUDA_DRIVER_TEXT];
    assert_string_equal(lh_cuda_describe_driver(12040, text), "release 550 or later (CUDA 12.4)");
    assert_string_equal(lh_cuda_describe_driver(14000, text), "a release for CUDA 14.0");
    const lh_cuda_program empty_program = {.images = NULL};
    assert_int_equal(lh_cuda_find_oldest_driver(&empty_program, true), 0);
}

static void test_source_is_chosen_if_no_image_fits(void **state) {
    const lh_cuda_program program = {.images = make_images("sm_90"), .toolkit = "13.0", .source = "text"};
    const lh_cuda_image *image;
    lh_error error;
    lh_assert_ok(lh_cuda_choose_image(&program, 80, 13000, &image, &error), &error);
    assert_null(image);
    lh_assert_ok(lh_cuda_choose_image(&program, 90, 12000, &image, &error), &error);
    assert_null(image);
    lh_assert_ok(lh_cuda_choose_image(&program, 90, 13000, &image, &error), &error);
    assert_non_null(image);
}

/* ---- devices ---- */

static lh_cuda_program make_program(const char *images) {
    return (lh_cuda_program){.source_digest = "0123456789abcdef",
                             .precision = "float32",
                             .real_bytes = 4,
                             .train_kernel = "toy_train_kernel",
                             .evaluate_kernel = "toy_evaluate_kernel",
                             .least_architecture = 75,
                             .threads = 256,
                             .block_memory = 65536,
                             .images = make_images(images),
                             .toolkit = "13.0"};
}

static void *find_fake_variable(const char *directory, const char *name) {
    void *library = dlopen(lh_test_path(directory, "fake.so"), RTLD_NOW);
    assert_non_null(library);
    void *found = dlsym(library, name);
    assert_non_null(found);
    return found;
}

/* Checks that opening fails with this text in the message and leaves nothing open. */
static void assert_refused(const char *directory, const lh_cuda_program *program, int ordinal, const char *words) {
    lh_cuda_device device;
    lh_error error;
    lh_assert_error(lh_cuda_device_open(&device, program, ordinal, &error), LH_ERR_ENVIRONMENT, &error, words);
    assert_null(device.driver);
    assert_int_equal(*(int *)find_fake_variable(directory, "fake_contexts"), 0);
    assert_int_equal(*(int *)find_fake_variable(directory, "fake_modules"), 0);
    assert_null(*(void **)find_fake_variable(directory, "fake_current"));
    lh_cuda_device_close(&device);
}

static void test_ordinal_is_read_from_text(void **state) {
    int ordinal = -1;
    lh_error error;
    lh_assert_ok(lh_cuda_parse_ordinal("cuda", &ordinal, &error), &error);
    assert_int_equal(ordinal, 0);
    lh_assert_ok(lh_cuda_parse_ordinal("cuda:0", &ordinal, &error), &error);
    assert_int_equal(ordinal, 0);
    lh_assert_ok(lh_cuda_parse_ordinal("cuda:12", &ordinal, &error), &error);
    assert_int_equal(ordinal, 12);
    const char *const wrong[] = {"",        "gpu",   "cuda:", "cuda:-1",         "cuda:x",
                                 "cuda:1x", "cuda1", "CUDA",  "cuda:99999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        lh_assert_error(lh_cuda_parse_ordinal(wrong[i], &ordinal, &error), LH_ERR_USAGE, &error,
                        "expected cuda, or cuda:N");
}

static void test_opened_device_has_its_facts(void **state) {
    const lh_cuda_program program = make_program("sm_80 sm_90 compute_75");
    lh_cuda_device device;
    lh_error error;
    set_variable("FAKE_CUDA_COUNT", "2");
    lh_assert_ok(lh_cuda_device_open(&device, &program, 1, &error), &error);
    assert_int_equal(device.ordinal, 1);
    assert_string_equal(device.name, "Fake B");
    assert_int_equal(device.architecture, 90);
    assert_int_equal(device.driver_version, 13000);
    assert_int_equal(device.multiprocessors, 4);
    assert_int_equal(device.block_memory, 232448);
    assert_int_equal(device.total_memory, (size_t)8 << 30);
    assert_int_equal(device.free_memory, 5000);
    assert_string_equal(device.image, "sm_90");
    assert_string_equal((char *)device.train, "toy_train_kernel");
    assert_string_equal((char *)device.evaluate, "toy_evaluate_kernel");
    assert_int_equal(device.train_blocks, 4 * 2);
    assert_int_equal(device.evaluate_blocks, 4 * 3);
    assert_int_equal(*(int *)find_fake_variable(*state, "fake_block_memory"), 65536);
    assert_int_equal(*(int *)find_fake_variable(*state, "fake_carve_out"), 86); /* 3 blocks of 65 KiB fit in 228 KiB */
    assert_int_equal(*(int *)find_fake_variable(*state, "fake_contexts"), 1);
    assert_ptr_equal(*(void **)find_fake_variable(*state, "fake_current"), device.context);
    lh_cuda_device_close(&device);
    assert_null(device.driver);
    assert_int_equal(*(int *)find_fake_variable(*state, "fake_contexts"), 0);
    assert_int_equal(*(int *)find_fake_variable(*state, "fake_modules"), 0);
}

/* The driver reads the intermediate form up to a 0, which an image lacks. */
static void test_driver_gets_an_intermediate_form_that_ends_with_0(void **state) {
    static const char long_text[] = "compute_75followed by what is no part of it";
    lh_cuda_program program = make_program("compute_75");
    const lh_cuda_image images[] = {
        {"compute_75", (const unsigned char *)long_text, (const unsigned char *)long_text + 10}, {0}};
    lh_cuda_device device;
    lh_error error;
    program.images = images;
    lh_assert_ok(lh_cuda_device_open(&device, &program, 0, &error), &error);
    assert_string_equal(device.image, "compute_75, compiled by the driver");
    assert_string_equal(find_fake_variable(*state, "fake_image"), "compute_75");
    lh_cuda_device_close(&device);
}

static void *use_in_thread(void *device) {
    lh_error error;
    lh_cuda_device *opened = device;
    size_t free_bytes, total;
    if (opened->driver->cuMemGetInfo(&free_bytes, &total) == 0) return NULL; /* no context is current */
    if (lh_cuda_make_current(opened, &error) != LH_OK) return NULL;
    return opened->driver->cuMemGetInfo(&free_bytes, &total) == 0 ? device : NULL;
}

static void test_device_is_made_current_in_another_thread(void **state) {
    const lh_cuda_program program = make_program("sm_90");
    lh_cuda_device device;
    lh_error error;
    pthread_t thread;
    void *result;
    lh_assert_ok(lh_cuda_device_open(&device, &program, 0, &error), &error);
    assert_int_equal(pthread_create(&thread, NULL, use_in_thread, &device), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_non_null(result);
    lh_cuda_device_close(&device);
}

static void test_ordinal_beyond_the_count_is_refused(void **state) {
    const lh_cuda_program program = make_program("sm_90");
    assert_refused(*state, &program, 1, "no device cuda:1 here: the CUDA driver finds 1 device, cuda:0");
    set_variable("FAKE_CUDA_COUNT", "3");
    set_variable("CUDA_VISIBLE_DEVICES", "4,5,6");
    assert_refused(*state, &program, 3,
                   "the CUDA driver finds 3 devices, cuda:0 to cuda:2 (CUDA_VISIBLE_DEVICES=4,5,6)");
}

static void test_device_that_is_too_small_is_refused(void **state) {
    lh_cuda_program program = make_program("sm_90 compute_75");
    program.block_memory = 101376;
    set_variable("FAKE_CUDA_BLOCK_MEMORY", "65536");
    assert_refused(*state, &program, 0, "gives a block 65536 bytes of shared memory, this program needs 101376");
    set_variable("FAKE_CUDA_BLOCK_MEMORY", "101376");
    set_variable("FAKE_CUDA_RESIDENT", "0");
    assert_refused(*state, &program, 0,
                   "toy_train_kernel: a multiprocessor of cuda:0 (Fake A) cannot hold one block of 256");
    set_variable("FAKE_CUDA_COOPERATIVE", "0");
    assert_refused(*state, &program, 0, "does not launch cooperative kernels");
    program.least_architecture = 80;
    program.precision = "tf32";
    set_variable("FAKE_CUDA_ARCHITECTURE", "75");
    assert_refused(*state, &program, 0,
                   "cuda:0 (Fake A) is sm_75, but this program (precision tf32) needs sm_80 or later");
}

static void test_device_without_an_image_is_refused(void **state) {
    const lh_cuda_program program = make_program("sm_80");
    assert_refused(*state, &program, 0, "this program has: sm_80");
    set_variable("FAKE_CUDA_ARCHITECTURE", "86");
    set_variable("FAKE_CUDA_VERSION", "12080");
    assert_refused(*state, &program, 0, "knows CUDA up to 12.8");
}

/* With FAKE_CUDA_CARVED, fewer blocks are resident after a share of shared memory is set. So the default must be
 * restored. */
static void test_share_of_shared_memory_that_costs_a_block_is_undone(void **state) {
    const lh_cuda_program program = make_program("sm_90");
    lh_cuda_device device;
    lh_error error;
    set_variable("FAKE_CUDA_CARVED", "1");
    lh_assert_ok(lh_cuda_device_open(&device, &program, 0, &error), &error);
    assert_int_equal(device.train_blocks, device.multiprocessors * 2);
    assert_int_equal(*(int *)find_fake_variable(*state, "fake_carve_out"), -1);
    lh_cuda_device_close(&device);
}

static void test_failing_calls_are_named(void **state) {
    const lh_cuda_program program = make_program("sm_90");
    set_variable("FAKE_CUDA_RETAIN", "2");
    assert_refused(*state, &program, 0, "in cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2)");
    set_variable("FAKE_CUDA_RETAIN", "46");
    assert_refused(*state, &program, 0, "cuda:0 (Fake A) is not free: another process uses it exclusively");
    set_variable("FAKE_CUDA_RETAIN", "0");
    set_variable("FAKE_CUDA_FUNCTION", "500");
    assert_refused(*state, &program, 0, "in cuModuleGetFunction of toy_train_kernel");
    set_variable("FAKE_CUDA_FUNCTION", "0");
    set_variable("FAKE_CUDA_ATTRIBUTE", "1");
    assert_refused(*state, &program, 0, "in cuFuncSetAttribute");
}

static void test_load_failure_has_the_driver_s_log(void **state) {
    const lh_cuda_program program = make_program("compute_75");
    set_variable("FAKE_CUDA_LOAD", "209");
    assert_refused(
        *state, &program, 0,
        "cuda:0 (Fake A, sm_90) does not load the device code (compute_75, compiled by the driver): the CUDA driver "
        "failed in cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU (209), no kernel image is available\n"
        "ptxas error: Unresolved extern function 'nowhere'");
}

/* If no image fits the device, source code is compiled, here by a replacement for NVRTC that returns the source instead
 * of machine code. */
static void test_source_is_compiled_for_the_device(void **state) {
    lh_cuda_program program = make_program("sm_90");
    lh_cuda_device device;
    lh_error error;
    char root[512];
    program.source = "the source";
    snprintf(root, sizeof root, "%s/toolkit", (char *)*state);
    set_variable("LONGHAND_CUDA_ROOT", root);
    set_variable("LONGHAND_CACHE", lh_test_path(*state, "cache"));
    set_variable("FAKE_CUDA_ARCHITECTURE", "80");
    assert_refused(*state, &program, 0, "no NVRTC on this machine that compiles the device code for sm_80");
    lh_compile_fake_cuda("nvrtc", "-DVERSION=13 -DNEWEST=120", lh_test_path(root, "lib64"), "libnvrtc.so");
    for (int start = 0; start < 2; start++) {
        lh_assert_ok(lh_cuda_device_open(&device, &program, 0, &error), &error);
        assert_non_null(strstr(device.image, "sm_80, compiled on this machine by NVRTC 13.4 ("));
        assert_int_equal(strstr(device.image, ", at an earlier start") != NULL, start);
        assert_non_null(strstr(find_fake_variable(*state, "fake_image"), "the source"));
        lh_cuda_device_close(&device);
    }
    set_variable("LONGHAND_CACHE", "/dev/null/cache");
    lh_assert_ok(lh_cuda_device_open(&device, &program, 0, &error), &error);
    assert_non_null(strstr(device.image, "not kept for the next start: /dev/null"));
    lh_cuda_device_close(&device);
}

#define without_variables(test) cmocka_unit_test_setup_teardown(test, clear_variables, clear_variables)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kind_of_an_image_is_read_from_its_name),
        cmocka_unit_test(test_image_runs_on_the_devices_that_its_name_allows),
        cmocka_unit_test(test_best_image_that_fits_is_chosen),
        cmocka_unit_test(test_message_lists_images_and_device_if_none_fits),
        cmocka_unit_test(test_message_names_both_versions_if_the_driver_is_too_old),
        cmocka_unit_test(test_source_is_chosen_if_no_image_fits),
        cmocka_unit_test(test_oldest_driver_depends_on_the_kind_of_image),
        cmocka_unit_test(test_ordinal_is_read_from_text),
        without_variables(test_opened_device_has_its_facts),
        without_variables(test_driver_gets_an_intermediate_form_that_ends_with_0),
        without_variables(test_device_is_made_current_in_another_thread),
        without_variables(test_ordinal_beyond_the_count_is_refused),
        without_variables(test_device_that_is_too_small_is_refused),
        without_variables(test_device_without_an_image_is_refused),
        without_variables(test_share_of_shared_memory_that_costs_a_block_is_undone),
        without_variables(test_failing_calls_are_named),
        without_variables(test_load_failure_has_the_driver_s_log),
        without_variables(test_source_is_compiled_for_the_device),
    };
    return cmocka_run_group_tests_name("cuda_device", tests, make_fake, lh_test_remove_directory);
}
