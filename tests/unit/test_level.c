/* base/cpu_level.h: levels agree with /proc/cpuinfo, the widest level is chosen, LONGHAND_ISA selects one. */
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_level.h"

static int clear_variable(void **state) { return unsetenv("LONGHAND_ISA"); }

/* Programs, of which the tests use only the level. */
static const lh_cpu_program plain = {.level = "x86-64"}, v3 = {.level = "x86-64-v3"}, v4 = {.level = "x86-64-v4"};
static const lh_cpu_program arm = {.level = "aarch64"}, riscv = {.level = "riscv64"};

/* The lowest level of the architecture of this machine. */
static const char *get_baseline_level(void) { return lh_level_is_supported("aarch64") ? "aarch64" : "x86-64"; }

/* Whether the first "flags" line of /proc/cpuinfo has all words of `flags`. */
static bool has_flags(const char *const *flags) {
    static char line[16384];
    FILE *file = fopen("/proc/cpuinfo", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line - 1, file) && strncmp(line, "flags", 5) != 0) continue;
    fclose(file);
    line[strcspn(line, "\n")] = ' ';
    for (; *flags; flags++) {
        char word[32];
        snprintf(word, sizeof word, " %s ", *flags);
        if (!strstr(line, word)) return false;
    }
    return true;
}

static void test_supported_levels_agree_with_cpuinfo(void **state) {
    static const char *const flags_v3[] = {"avx",   "avx2",   "bmi1",   "bmi2", "f16c",    "fma", "abm",
                                           "movbe", "popcnt", "sse4_2", "cx16", "lahf_lm", NULL};
    static const char *const flags_v4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", NULL};
    if (!lh_level_is_supported("x86-64")) skip();
    assert_int_equal(lh_level_is_supported("x86-64-v3"), has_flags(flags_v3));
    assert_int_equal(lh_level_is_supported("x86-64-v4"), has_flags(flags_v3) && has_flags(flags_v4));
}

static void test_unknown_or_foreign_level_is_not_supported(void **state) {
    assert_false(lh_level_is_supported("riscv64"));
    assert_false(lh_level_is_supported(""));
    assert_false(lh_level_is_supported("x86-64") && lh_level_is_supported("aarch64"));
}

static void test_widest_supported_level_is_chosen(void **state) {
    const lh_cpu_program *programs[] = {&plain, &v3, &v4, &arm, &riscv, NULL}, *program;
    lh_error error;
    lh_assert_ok(lh_level_choose(programs, &program, &error), &error);
    const char *expected = lh_level_is_supported("x86-64-v4")   ? "x86-64-v4"
                           : lh_level_is_supported("x86-64-v3") ? "x86-64-v3"
                                                                : get_baseline_level();
    assert_string_equal(program->level, expected);
}

static void test_named_level_is_chosen(void **state) {
    const lh_cpu_program *programs[] = {&arm, &plain, &v3, &v4, NULL}, *program;
    lh_error error;
    assert_int_equal(setenv("LONGHAND_ISA", get_baseline_level(), 1), 0);
    lh_assert_ok(lh_level_choose(programs, &program, &error), &error);
    assert_string_equal(program->level, get_baseline_level());
    assert_int_equal(setenv("LONGHAND_ISA", "", 1), 0); /* an empty variable counts as unset */
    lh_assert_ok(lh_level_choose(programs, &program, &error), &error);
}

static void test_message_lists_levels_for_an_unknown_name(void **state) {
    const lh_cpu_program *programs[] = {&plain, &v3, NULL}, *program;
    lh_error error;
    assert_int_equal(setenv("LONGHAND_ISA", "native", 1), 0);
    lh_status status = lh_level_choose(programs, &program, &error);
    lh_assert_error(status, LH_ERR_USAGE, &error,
                    "LONGHAND_ISA=native: this program has no such level, expected one of: x86-64, ");
    assert_non_null(strstr(error.text, "x86-64-v3"));
    assert_null(program);
}

static void test_named_level_that_is_not_supported_is_refused(void **state) {
    const lh_cpu_program *programs[] = {&plain, &arm, &riscv, NULL}, *unsupported[] = {&riscv, NULL}, *program;
    lh_error error;
    assert_int_equal(setenv("LONGHAND_ISA", "riscv64", 1), 0);
    lh_status status = lh_level_choose(programs, &program, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error,
                    "LONGHAND_ISA=riscv64: this processor does not support this level");
    assert_string_equal(strstr(error.text, "supported levels: ") + strlen("supported levels: "), get_baseline_level());
    status = lh_level_choose(unsupported, &program, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "supported levels: none");
}

static void test_program_without_a_supported_level_is_refused(void **state) {
    const lh_cpu_program *programs[] = {&riscv, NULL}, *empty[] = {NULL}, *program;
    lh_error error;
    lh_status status = lh_level_choose(programs, &program, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "none of this trainer's levels: riscv64");
    lh_assert_error(lh_level_choose(empty, &program, &error), LH_ERR_ENVIRONMENT, &error, "no code for the CPU");
    lh_assert_error(lh_level_choose(NULL, &program, &error), LH_ERR_ENVIRONMENT, &error, "no code for the CPU");
}

#define without_variable(test) cmocka_unit_test_setup_teardown(test, clear_variable, clear_variable)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_supported_levels_agree_with_cpuinfo),
        cmocka_unit_test(test_unknown_or_foreign_level_is_not_supported),
        without_variable(test_widest_supported_level_is_chosen),
        without_variable(test_named_level_is_chosen),
        without_variable(test_message_lists_levels_for_an_unknown_name),
        without_variable(test_named_level_that_is_not_supported_is_refused),
        without_variable(test_program_without_a_supported_level_is_refused),
    };
    return cmocka_run_group_tests_name("level", tests, NULL, NULL);
}
