/* See cpu_level.h.
 *
 * Section 3.1.1 of the psABI for x86-64 defines the levels. A level is checked feature by feature, because not all
 * compilers know the names of levels in __builtin_cpu_supports. __builtin_cpu_supports checks the features whose names
 * all compilers know, and also whether the operating system saves the wide registers. Other features are read from
 * cpuid.
 */
#include "base/cpu_level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

static bool supports_v2(void) {
    unsigned a, b, c, d, extended = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    bool cx16 = c >> 13 & 1;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d)) return false;
    bool lahf = extended & 1;
    return cx16 && lahf && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("sse3") &&
           __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2");
}

static bool supports_v3(void) {
    unsigned a, b, c, d, extended = 0;
    if (!supports_v2() || !__get_cpuid(1, &a, &b, &c, &d)) return false;
    bool movbe = c >> 22 & 1, osxsave = c >> 27 & 1, f16c = c >> 29 & 1;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d)) return false;
    bool lzcnt = extended >> 5 & 1;
    return movbe && osxsave && f16c && lzcnt && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}

static bool supports_v4(void) {
    return supports_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

bool lh_level_is_supported(const char *level) {
    __builtin_cpu_init();
    if (strcmp(level, "x86-64") == 0) return true;
    if (strcmp(level, "x86-64-v3") == 0) return supports_v3();
    return strcmp(level, "x86-64-v4") == 0 && supports_v4();
}

#elif defined(__aarch64__)

bool lh_level_is_supported(const char *level) { return strcmp(level, "aarch64") == 0; }

#else

bool lh_level_is_supported(const char *level) {
    (void)level;
    return false;
}

#endif

/* Writes a list such as "x86-64, x86-64-v3": the levels of all programs or, without lists_all, only those that this
 * processor supports. The list is truncated to the size of text. */
static void list_levels(const lh_cpu_program *const *programs, bool lists_all, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; programs[i] && used < size; i++)
        if (lists_all || lh_level_is_supported(programs[i]->level))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", programs[i]->level);
}

/* Chooses the program of the level `name`. */
static lh_status choose_named(const lh_cpu_program *const *programs, const char *name, const lh_cpu_program **chosen,
                              lh_error *error) {
    char levels[256];
    for (int i = 0; programs[i]; i++) {
        if (strcmp(programs[i]->level, name) != 0) continue;
        if (lh_level_is_supported(name)) {
            *chosen = programs[i];
            return LH_OK;
        }
        list_levels(programs, false, levels, sizeof levels);
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "LONGHAND_ISA=%s: this processor does not support this level\n  supported levels: %s", name,
                       levels[0] ? levels : "none");
    }
    list_levels(programs, true, levels, sizeof levels);
    return lh_fail(error, LH_ERR_USAGE, "LONGHAND_ISA=%s: this program has no such level, expected one of: %s", name,
                   levels);
}

lh_status lh_level_choose(const lh_cpu_program *const *programs, const lh_cpu_program **chosen, lh_error *error) {
    *chosen = NULL;
    if (!programs || !programs[0]) return lh_fail(error, LH_ERR_ENVIRONMENT, "this trainer has no code for the CPU");
    const char *name = getenv("LONGHAND_ISA");
    if (name && name[0]) return choose_named(programs, name, chosen, error);
    for (int i = 0; programs[i]; i++)
        if (lh_level_is_supported(programs[i]->level)) *chosen = programs[i];
    if (*chosen) return LH_OK;
    char levels[256];
    list_levels(programs, true, levels, sizeof levels);
    return lh_fail(error, LH_ERR_ENVIRONMENT, "this processor supports none of this trainer's levels: %s", levels);
}
