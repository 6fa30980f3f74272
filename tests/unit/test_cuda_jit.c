/* Compilation of device code on this machine: the chosen NVRTC, its options, and the cached code. Most tests use
 * replacements for NVRTC (tests/support/fake_cuda); the last tests use the real NVRTC, and are skipped without it. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lh_disk.h"
#include "lh_fake_cuda.h"
#include "runtime/cuda/jit.h"
#include "runtime/cuda/nvrtc.h"

static const char DIGEST[] = "0123456789abcdef";
static const char CACHE_FILE[] = "0123456789abcdef-sm_90-nvrtc-13.4.cubin"; /* compiled by the replacement 13.4 */
static const char OPTIONS[] =
    "code --gpu-architecture=sm_90 --std=c++17 --fmad=true --ftz=false --prec-div=true --prec-sqrt=true\n";

enum { ROOTS = 3 }; /* the first ROOTS of VARIABLES name folders of toolkits */
static const char *const VARIABLES[] = {"LONGHAND_CUDA_ROOT", "CUDA_HOME",      "CUDA_PATH",
                                        "LONGHAND_CACHE",     "XDG_CACHE_HOME", "FAKE_NVRTC_LOG"};

static char *initial_roots[ROOTS]; /* values of the variables before the tests; NULL: not set */

/* *state: a directory with replacements. root13/lib64 has version 13.4, which supports sm_75 to sm_120; root12/lib
 * has version 12.4, up to sm_90; both/lib64 has both versions; old/lib64 has a version that lacks a function. */
static int make_fakes(void **state) {
    if (lh_test_make_directory(state) != 0) return -1;
    const char *directory = *state;
    for (int i = 0; i < ROOTS; i++)
        if (getenv(VARIABLES[i])) initial_roots[i] = strdup(getenv(VARIABLES[i]));
    lh_compile_fake_cuda("nvrtc", "-DVERSION=13 -DNEWEST=120", lh_test_path(directory, "root13/lib64"),
                         "libnvrtc.so.13");
    lh_compile_fake_cuda("nvrtc", "-DVERSION=12 -DNEWEST=90", lh_test_path(directory, "root12/lib"), "libnvrtc.so.12");
    lh_compile_fake_cuda("nvrtc", "-DVERSION=13 -DNEWEST=120", lh_test_path(directory, "both/lib64"), "libnvrtc.so.13");
    lh_compile_fake_cuda("nvrtc", "-DVERSION=12 -DNEWEST=90", lh_test_path(directory, "both/lib64"), "libnvrtc.so.12");
    lh_compile_fake_cuda("nvrtc", "-DVERSION=13 -DNEWEST=120 -DOLD", lh_test_path(directory, "old/lib64"),
                         "libnvrtc.so");
    return 0;
}

static void set_variable(const char *variable, const char *value) { assert_int_equal(setenv(variable, value, 1), 0); }

static int remove_fakes(void **state) {
    for (int i = 0; i < ROOTS; i++) free(initial_roots[i]);
    return lh_test_remove_directory(state);
}

/* Begins a test with an empty cache, directory/cache, and the replacement for version 13. */
static int prepare_directory(void **state) {
    const char *directory = *state;
    char command[600];
    for (size_t i = 0; i < sizeof VARIABLES / sizeof VARIABLES[0]; i++) unsetenv(VARIABLES[i]);
    snprintf(command, sizeof command, "rm -rf '%s/cache' '%s/log'", directory, directory);
    if (system(command) != 0) return -1;
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(directory, "root13"));
    set_variable("LONGHAND_CACHE", lh_test_path(directory, "cache"));
    set_variable("FAKE_NVRTC_LOG", lh_test_path(directory, "log"));
    return 0;
}

/* The number of compilations by a replacement since the test began. */
static int count_compilations(const char *directory) {
    size_t bytes;
    if (!lh_test_exists(lh_test_path(directory, "log"))) return 0;
    free(lh_test_read(lh_test_path(directory, "log"), &bytes));
    return (int)(bytes / strlen("compiled\n"));
}

/* Compiles for sm_90 with the replacement and checks the code; returns whether it was cached. */
static bool compile_and_check(const char *source, lh_error *error, char *cache_failure) {
    lh_cuda_code code;
    lh_assert_ok(lh_cuda_compile(source, DIGEST, 90, 13000, &code, error), error);
    assert_string_equal(code.target, "sm_90");
    assert_int_equal(code.bytes, strlen(OPTIONS) + strlen(source) + 1);
    assert_memory_equal(code.data, OPTIONS, strlen(OPTIONS));
    assert_string_equal(code.data + strlen(OPTIONS), source);
    if (cache_failure) snprintf(cache_failure, sizeof code.cache_failure, "%s", code.cache_failure);
    bool is_cached = code.is_cached;
    lh_cuda_code_free(&code);
    return is_cached;
}

/* ---- the search for NVRTC ---- */

static void test_message_lists_searched_folders_if_there_is_no_nvrtc(void **state) {
    lh_nvrtc nvrtc;
    lh_error error;
    char line[600];
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(*state, "nowhere"));
    set_variable("CUDA_HOME", lh_test_path(*state, "root13")); /* unused: LONGHAND_CUDA_ROOT is set */
    lh_assert_error(lh_nvrtc_open(90, 13000, &nvrtc, &error), LH_ERR_ENVIRONMENT, &error,
                    "no NVRTC on this machine that compiles the device code for sm_90");
    snprintf(line, sizeof line, "looked in: %s/nowhere/lib64, %s/nowhere/lib\n", (char *)*state, (char *)*state);
    assert_non_null(strstr(error.text, line));
    assert_non_null(strstr(error.text, "LONGHAND_CUDA_ROOT"));
}

static void test_first_of_several_nvrtc_is_opened(void **state) {
    static const struct {
        const char *root, *home, *path, *name;
    } cases[] = {
        {"root12", "root13", "root13", "NVRTC 12.4 (%s/root12/lib/libnvrtc.so.12)"},
        {NULL, "root12", "root13", "NVRTC 12.4 (%s/root12/lib/libnvrtc.so.12)"},
        {NULL, "", "root13", "NVRTC 13.4 (%s/root13/lib64/libnvrtc.so.13)"},
        {NULL, "nowhere", "root12", "NVRTC 12.4 (%s/root12/lib/libnvrtc.so.12)"},
        {"both", NULL, NULL, "NVRTC 13.4 (%s/both/lib64/libnvrtc.so.13)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const roots[] = {cases[i].root, cases[i].home, cases[i].path};
        char name[600];
        lh_nvrtc nvrtc;
        lh_error error;
        for (int v = 0; v < ROOTS; v++) {
            unsetenv(VARIABLES[v]);
            if (roots[v]) set_variable(VARIABLES[v], roots[v][0] ? lh_test_path(*state, roots[v]) : "");
        }
        lh_assert_ok(lh_nvrtc_open(90, 13000, &nvrtc, &error), &error);
        const char *hole = strstr(cases[i].name, "%s");
        snprintf(name, sizeof name, "%.*s%s%s", (int)(hole - cases[i].name), cases[i].name, (char *)*state, hole + 2);
        assert_string_equal(nvrtc.name, name);
    }
}

/* Machine code of a later toolkit than the driver's does not run, so an earlier NVRTC is used, if there is one. */
static void test_nvrtc_too_new_for_the_driver_is_skipped(void **state) {
    lh_nvrtc nvrtc;
    lh_error error;
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(*state, "both"));
    lh_assert_ok(lh_nvrtc_open(90, 12020, &nvrtc, &error), &error);
    assert_int_equal(nvrtc.major, 12);
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(*state, "root13"));
    lh_assert_error(lh_nvrtc_open(90, 12020, &nvrtc, &error), LH_ERR_ENVIRONMENT, &error,
                    "libnvrtc.so.13): its machine code is not for this driver, which knows CUDA up to 12.2\n");
    const char *second_name = lh_test_path(*state, "root13/lib64/libnvrtc.so");
    assert_int_equal(symlink("libnvrtc.so.13", second_name), 0);
    lh_assert_error(lh_nvrtc_open(90, 12020, &nvrtc, &error), LH_ERR_ENVIRONMENT, &error, "\nNVRTC 13.4 (");
    assert_null(strstr(strstr(error.text, "\nNVRTC") + 1, "\nNVRTC")); /* reported once */
    assert_int_equal(unlink(second_name), 0);
}

static void test_nvrtc_has_the_best_target_for_the_device(void **state) {
    lh_nvrtc nvrtc;
    lh_error error;
    lh_assert_ok(lh_nvrtc_open(87, 13000, &nvrtc, &error), &error);
    assert_string_equal(nvrtc.target, "sm_86");
    lh_assert_ok(lh_nvrtc_open(121, 13000, &nvrtc, &error), &error);
    assert_string_equal(nvrtc.target, "sm_120");
    lh_assert_error(lh_nvrtc_open(70, 13000, &nvrtc, &error), LH_ERR_ENVIRONMENT, &error,
                    "libnvrtc.so.13): does not know sm_70\n");
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(*state, "root12"));
    lh_assert_error(lh_nvrtc_open(120, 13000, &nvrtc, &error), LH_ERR_ENVIRONMENT, &error, "does not know sm_120");
}

static void test_useless_library_is_reported(void **state) {
    lh_nvrtc nvrtc;
    lh_error error;
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(*state, "old"));
    lh_assert_error(lh_nvrtc_open(90, 13000, &nvrtc, &error), LH_ERR_ENVIRONMENT, &error,
                    "old/lib64/libnvrtc.so: has no function nvrtcGetCUBIN\n");
    assert_int_equal(mkdir(lh_test_path(*state, "text"), 0777), 0);
    assert_int_equal(mkdir(lh_test_path(*state, "text/lib64"), 0777), 0);
    lh_test_write(lh_test_path(*state, "text/lib64/libnvrtc.so.12"), "text", 4);
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(*state, "text"));
    lh_assert_error(lh_nvrtc_open(90, 13000, &nvrtc, &error), LH_ERR_ENVIRONMENT, &error,
                    "libnvrtc.so.12: file too short");
}

/* ---- compilation and cache ---- */

static void test_code_is_cached_for_the_next_start(void **state) {
    lh_error error;
    assert_false(compile_and_check("source", &error, NULL));
    assert_true(compile_and_check("source", &error, NULL));
    assert_int_equal(count_compilations(*state), 1);
    assert_int_equal(lh_test_count_files(lh_test_path(*state, "cache")), 1);
    assert_true(lh_test_exists(lh_test_path(lh_test_path(*state, "cache"), CACHE_FILE)));
}

/* A cache file's name has the caller's digest; its header has a digest of the source, which decides. */
static void test_other_source_with_an_equal_digest_is_compiled(void **state) {
    lh_error error;
    assert_false(compile_and_check("source", &error, NULL));
    assert_false(compile_and_check("another source", &error, NULL));
    assert_true(compile_and_check("another source", &error, NULL));
    assert_false(compile_and_check("source", &error, NULL));
    assert_int_equal(count_compilations(*state), 3);
    assert_int_equal(lh_test_count_files(lh_test_path(*state, "cache")), 1);
}

static void test_code_of_another_device_or_compiler_is_cached_separately(void **state) {
    lh_cuda_code code;
    lh_error error;
    assert_false(compile_and_check("source", &error, NULL));
    lh_assert_ok(lh_cuda_compile("source", DIGEST, 80, 13000, &code, &error), &error);
    assert_string_equal(code.target, "sm_80");
    assert_false(code.is_cached);
    lh_cuda_code_free(&code);
    set_variable("LONGHAND_CUDA_ROOT", lh_test_path(*state, "root12"));
    assert_false(compile_and_check("source", &error, NULL));
    assert_int_equal(lh_test_count_files(lh_test_path(*state, "cache")), 3);
}

static void test_error_of_the_compiler_has_its_log(void **state) {
    lh_cuda_code code;
    lh_error error;
    lh_assert_error(lh_cuda_compile("a mistake", DIGEST, 90, 13000, &code, &error), LH_ERR_INPUT, &error,
                    "the device code does not compile for sm_90: NVRTC 13.4 (");
    assert_non_null(strstr(error.text, "NVRTC_ERROR_COMPILATION\ndevice.cu(3): error: no such thing"));
    assert_true(error.text[strlen(error.text) - 1] == 'g'); /* no newline at the end */
    assert_null(code.data);
    lh_assert_error(lh_cuda_compile("trouble", DIGEST, 90, 13000, &code, &error), LH_ERR_ENVIRONMENT, &error,
                    "NVRTC_ERROR_OTHER");
    assert_false(lh_test_exists(lh_test_path(*state, "cache")));
}

/* A cached file that is truncated anywhere, or has any bit changed, is compiled again and replaced. */
static void test_damaged_file_is_replaced(void **state) {
    lh_error error;
    size_t bytes;
    char file[600];
    snprintf(file, sizeof file, "%s/cache/%s", (char *)*state, CACHE_FILE);
    assert_false(compile_and_check("source", &error, NULL));
    char *valid_code = lh_test_read(file, &bytes);
    for (size_t i = 0; i < bytes; i += i < 40 ? 3 : 11) {
        lh_test_write(file, valid_code, i);
        assert_false(compile_and_check("source", &error, NULL));
        valid_code[i] = (char)(valid_code[i] ^ 1 << i % 8);
        lh_test_write(file, valid_code, bytes);
        assert_false(compile_and_check("source", &error, NULL));
        valid_code[i] = (char)(valid_code[i] ^ 1 << i % 8);
    }
    lh_test_write(file, valid_code, bytes);
    assert_true(compile_and_check("source", &error, NULL));
    FILE *longer = fopen(file, "ab");
    assert_non_null(longer);
    assert_true(fputc(0, longer) == 0 && fclose(longer) == 0);
    assert_false(compile_and_check("source", &error, NULL));
    assert_true(compile_and_check("source", &error, NULL));
    free(valid_code);
}

static void test_cache_folder_follows_variables(void **state) {
    lh_error error;
    char cache_failure[512], *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    set_variable("LONGHAND_CACHE", "");
    set_variable("HOME", lh_test_path(*state, "home"));
    set_variable("XDG_CACHE_HOME", lh_test_path(*state, "xdg"));
    assert_false(compile_and_check("source", &error, NULL));
    assert_true(lh_test_exists(lh_test_path(lh_test_path(*state, "xdg/longhand"), CACHE_FILE)));
    set_variable("XDG_CACHE_HOME", "relative");
    assert_false(compile_and_check("source", &error, NULL));
    assert_true(lh_test_exists(lh_test_path(lh_test_path(*state, "home/.cache/longhand"), CACHE_FILE)));
    assert_int_equal(unsetenv("HOME"), 0);
    assert_false(compile_and_check("source", &error, cache_failure));
    assert_false(compile_and_check("source", &error, NULL));
    assert_string_equal(cache_failure, "");
    if (home) set_variable("HOME", home);
    free(home);
}

/* Compiles twice, in its own process; returns 0 if both calls return uncached code and report why it cannot be
 * cached. */
static int compile_twice(void *unused, const char *directory) {
    lh_cuda_code code;
    if (setenv("LONGHAND_CACHE", directory, 1) != 0) return 1;
    for (int start = 0; start < 2; start++) {
        if (lh_cuda_compile("source", DIGEST, 90, 13000, &code, NULL) != LH_OK) return 2;
        if (code.is_cached || !strstr(code.cache_failure, directory) || !strstr(code.data, "source")) return 3;
        lh_cuda_code_free(&code);
    }
    return 0;
}

/* Machine code that cannot be cached is compiled at every start, and the reason is reported. */
static void test_code_that_cannot_be_cached_is_compiled_each_time(void **state) {
    char cache_failure[512];
    lh_error error;
    const char *directory = lh_test_path(*state, "disk");
    assert_int_equal(mkdir(directory, 0777), 0);
    set_variable("LONGHAND_CACHE", "/dev/null/cache");
    assert_false(compile_and_check("source", &error, cache_failure));
    assert_false(compile_and_check("source", &error, NULL));
    assert_non_null(strstr(cache_failure, "/dev/null"));
    set_variable("LONGHAND_CACHE", lh_test_path(*state, "cache"));
    assert_int_equal(mkdir(lh_test_path(*state, "cache"), 0777), 0);
    assert_int_equal(mkdir(lh_test_path(lh_test_path(*state, "cache"), CACHE_FILE), 0777), 0);
    assert_false(compile_and_check("source", &error, cache_failure));
    assert_non_null(strstr(cache_failure, CACHE_FILE));
    assert_int_equal(lh_disk_run_limited(lh_test_path(*state, "disk"), 100, compile_twice, NULL), 0);
    assert_int_equal(lh_test_count_files(lh_test_path(*state, "disk")), 0);
    int result = lh_disk_run_read_only(lh_test_path(*state, "disk"), compile_twice, NULL);
    assert_true(result == 0 || result == LH_DISK_ABSENT);
}

/* ---- many processes ---- */

static void compile_in_child(int process, int rounds) {
    char source[64];
    lh_cuda_code code;
    for (int round = 0; round < rounds; round++) {
        snprintf(source, sizeof source, "source of round %d", round);
        if (lh_cuda_compile(source, DIGEST, 90, 13000, &code, NULL) != LH_OK) _exit(1);
        bool is_equal = code.bytes == strlen(OPTIONS) + strlen(source) + 1 && strstr(code.data, source);
        if (!is_equal || code.cache_failure[0]) _exit(2);
        lh_cuda_code_free(&code);
        if (process % 6 == 5 && truncate(getenv("CUT"), process) != 0) _exit(3);
    }
    _exit(0);
}

/* Waits until all children have ended; fails unless each has exit status 0. */
static void wait_for_children(const pid_t *children, int count) {
    for (int i = 0; i < count; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* Processes start at once. All compile the same sources, one after another, with the same cache file. Some processes
 * truncate this file. Each process must get the right code every time, and one file must be left. */
static void test_many_processes_compile_at_once(void **state) {
    enum { PROCESSES = 24, ROUNDS = 5 };
    pid_t children[PROCESSES];
    lh_error error;
    size_t bytes;
    const char *folder = lh_test_path(*state, "cache");
    set_variable("CUT", lh_test_path(folder, CACHE_FILE));
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) compile_in_child(i, ROUNDS);
    }
    wait_for_children(children, PROCESSES);
    unsetenv("CUT");
    assert_int_equal(lh_test_count_files(lh_test_path(*state, "cache")), 1);
    assert_false(compile_and_check("the last one", &error, NULL));
    assert_true(compile_and_check("the last one", &error, NULL));
    free(lh_test_read(lh_test_path(lh_test_path(*state, "cache"), CACHE_FILE), &bytes));
}

/* ---- the real NVRTC ---- */

static void use_real_nvrtc(void) {
    lh_nvrtc nvrtc;
    unsetenv("LONGHAND_CUDA_ROOT");
    for (int i = 0; i < ROOTS; i++)
        if (initial_roots[i]) set_variable(VARIABLES[i], initial_roots[i]);
    if (lh_nvrtc_open(90, 99000, &nvrtc, NULL) == LH_OK) return;
    print_message("no NVRTC on this machine\n");
    skip();
}

/* Device code with the beginning of generated code: the interface's text, and a kernel that uses it. */
static char *write_device_text(const char *body) {
    size_t bytes;
    char *interface = lh_test_read("include/longhand/cuda_interface.h", &bytes), *text;
    assert_true(
        asprintf(&text,
                 "typedef float real;\n%s\n"
                 "extern \"C\" __global__ void __launch_bounds__(256) toy_train_kernel(const lh_cuda_train a) {\n"
                 "    extern __shared__ real staging[];\n"
                 "    staging[threadIdx.x] = ((const real *)a.replicas[blockIdx.x].parameters)[threadIdx.x];\n"
                 "    __syncthreads();\n"
                 "    real x = staging[255 - threadIdx.x];\n"
                 "    %s\n"
                 "    ((real *)a.replicas[blockIdx.x].parameters)[threadIdx.x] = x;\n"
                 "}\n",
                 interface, body) > 0);
    free(interface);
    return text;
}

static void test_real_nvrtc_compiles_for_each_architecture(void **state) {
    use_real_nvrtc();
    static const int architectures[] = {75, 80, 90};
    char *text = write_device_text("x = sqrtf(x) / fmaf(x, x, 1.0f);");
    for (int i = 0; i < 3; i++) {
        lh_cuda_code code;
        lh_error error;
        lh_assert_ok(lh_cuda_compile(text, DIGEST, architectures[i], 99000, &code, &error), &error);
        assert_true(code.bytes > 1000);
        assert_memory_equal(code.data, "\177ELF", 4);
        unsigned machine = (unsigned char)code.data[18],
                 flags[2] = {(unsigned char)code.data[48], (unsigned char)code.data[49]};
        assert_int_equal(machine, 190); /* EM_CUDA */
        assert_true((int)flags[0] == architectures[i] || (int)flags[1] == architectures[i]);
        assert_non_null(memmem(code.data, code.bytes, ".text.toy_train_kernel", 22));
        size_t bytes = code.bytes;
        lh_cuda_code_free(&code);
        lh_assert_ok(lh_cuda_compile(text, DIGEST, architectures[i], 99000, &code, &error), &error);
        assert_true(code.is_cached);
        assert_int_equal(code.bytes, bytes);
        lh_cuda_code_free(&code);
    }
    free(text);
}

static void test_real_error_has_line_and_text(void **state) {
    use_real_nvrtc();
    char *text = write_device_text("x = nowhere;");
    lh_cuda_code code;
    lh_error error;
    lh_assert_error(lh_cuda_compile(text, DIGEST, 80, 99000, &code, &error), LH_ERR_INPUT, &error,
                    "identifier \"nowhere\" is undefined");
    assert_non_null(strstr(error.text, "device.cu("));
    free(text);
}

static void test_many_processes_use_the_real_nvrtc_at_once(void **state) {
    use_real_nvrtc();
    enum { PROCESSES = 20 };
    pid_t children[PROCESSES];
    char *text = write_device_text("x = x * 2.0f;");
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] > 0) continue;
        lh_cuda_code code;
        lh_status status = lh_cuda_compile(text, DIGEST, 80, 99000, &code, NULL);
        _exit(status != LH_OK || code.cache_failure[0] || memcmp(code.data, "\177ELF", 4) != 0);
    }
    wait_for_children(children, PROCESSES);
    assert_int_equal(lh_test_count_files(lh_test_path(*state, "cache")), 1);
    free(text);
}

#define with_empty_cache(test) cmocka_unit_test_setup(test, prepare_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        with_empty_cache(test_message_lists_searched_folders_if_there_is_no_nvrtc),
        with_empty_cache(test_first_of_several_nvrtc_is_opened),
        with_empty_cache(test_nvrtc_too_new_for_the_driver_is_skipped),
        with_empty_cache(test_nvrtc_has_the_best_target_for_the_device),
        with_empty_cache(test_useless_library_is_reported),
        with_empty_cache(test_code_is_cached_for_the_next_start),
        with_empty_cache(test_other_source_with_an_equal_digest_is_compiled),
        with_empty_cache(test_code_of_another_device_or_compiler_is_cached_separately),
        with_empty_cache(test_error_of_the_compiler_has_its_log),
        with_empty_cache(test_damaged_file_is_replaced),
        with_empty_cache(test_cache_folder_follows_variables),
        with_empty_cache(test_code_that_cannot_be_cached_is_compiled_each_time),
        with_empty_cache(test_many_processes_compile_at_once),
        with_empty_cache(test_real_nvrtc_compiles_for_each_architecture),
        with_empty_cache(test_real_error_has_line_and_text),
        with_empty_cache(test_many_processes_use_the_real_nvrtc_at_once),
    };
    return cmocka_run_group_tests_name("cuda_jit", tests, make_fakes, remove_fakes);
}
