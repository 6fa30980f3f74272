/* Chooses the instruction-set level of a process. */
#ifndef LONGHAND_CPU_LEVEL_H
#define LONGHAND_CPU_LEVEL_H

#include <stdbool.h>

#include "longhand/cpu.h"
#include "longhand/status.h"

/* Whether this processor can run code of a level: "x86-64", "x86-64-v3", "x86-64-v4" or "aarch64". */
bool lh_level_is_supported(const char *level);

/* Chooses one of `programs`: the trainer's code, compiled once for each level. The list goes from the lowest level to
 * the highest and ends with NULL (lh_spec.cpu). If the environment variable LONGHAND_ISA names a level, the program of
 * this level is chosen; else the program of the highest level that this processor supports.
 * LH_ERR_ENVIRONMENT: the list is NULL or empty; this processor does not support the named level; or no level is named
 * and this processor supports none of the list. LH_ERR_USAGE: no program has the named level; the message names the
 * levels of the list. */
lh_status lh_level_choose(const lh_cpu_program *const *programs, const lh_cpu_program **chosen, lh_error *error);

#endif
