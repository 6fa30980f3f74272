/* The readers of tests/fuzz with mutated inputs: no crash, no hang, no report of a sanitizer.
 *
 * LH_FUZZ_CASES: number of cases (default 10000)
 * LH_FUZZ_SEED:  seed of the mutations (default 1)
 *
 * Case N of a seed has the same bytes on every machine. The cases run in a child process; if it ends early, the current
 * case is named and stored as fuzz-<target>-<seed>-<case> in the working directory. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

enum { SECONDS_PER_CASE = 20 };

static uint64_t read_number_from_environment(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text && text[0] ? strtoull(text, NULL, 10) : fallback;
}

typedef struct target {
    const char *name;
    void (*read)(const uint8_t *data, size_t bytes);
    uint8_t *(*make_valid_input)(int index, size_t *bytes); /* cases mutate these inputs */
} target;

/* Reads all cases. *progress: the index of the current case. */
static void run_cases(const target *t, uint64_t seed, uint32_t cases, volatile uint32_t *progress) {
    for (*progress = 0; *progress < cases; ++*progress) {
        size_t bytes;
        uint8_t *data = lh_fuzz_case(t->make_valid_input, seed, *progress, &bytes);
        alarm(SECONDS_PER_CASE);
        t->read(data, bytes);
        free(data);
    }
    alarm(0);
}

static void check_target(const target *t) {
    uint64_t seed = read_number_from_environment("LH_FUZZ_SEED", 1);
    uint32_t cases = (uint32_t)read_number_from_environment("LH_FUZZ_CASES", 10000);
    uint32_t *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(progress != MAP_FAILED);
    int status;
    pid_t child = fork();
    if (child == 0) {
        run_cases(t, seed, cases, progress);
        exit(0); /* not _exit, so that leaks are checked */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    uint32_t reached = *progress;
    munmap(progress, sizeof *progress);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && reached == cases) return;
    size_t bytes;
    char path[128];
    uint8_t *data = lh_fuzz_case(t->make_valid_input, seed, reached, &bytes);
    snprintf(path, sizeof path, "fuzz-%s-%llu-%u", t->name, (unsigned long long)seed, reached);
    lh_test_write(path, data, bytes);
    free(data);
    fail_msg("%s: seed %llu case %u of %u: exit status %d, signal %d; kept as %s", t->name, (unsigned long long)seed,
             reached, cases, WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
             path);
}

static void test_checkpoint_readers_survive_any_bytes(void **state) {
    check_target(&(target){"checkpoint", lh_fuzz_checkpoint, lh_fuzz_checkpoint_seed});
}

static void test_line_readers_survive_any_bytes(void **state) {
    check_target(&(target){"lines", lh_fuzz_json_lines, lh_fuzz_json_lines_seed});
}

static void test_inputs_without_mutations_are_read(void **state) {
    size_t bytes;
    uint8_t *data;
    for (int i = 0; (data = lh_fuzz_checkpoint_seed(i, &bytes)) != NULL; i++) {
        assert_int_equal(data[0], i);
        lh_fuzz_checkpoint(data, bytes);
        free(data);
    }
    for (int i = 0; (data = lh_fuzz_json_lines_seed(i, &bytes)) != NULL; i++) {
        lh_fuzz_json_lines(data, bytes);
        free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs_without_mutations_are_read),
        cmocka_unit_test(test_checkpoint_readers_survive_any_bytes),
        cmocka_unit_test(test_line_readers_survive_any_bytes),
    };
    return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
