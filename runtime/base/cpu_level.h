/* Chooses the instruction-set level of a process. */
#ifndef LONGHAND_CPU_LEVEL_H
#define LONGHAND_CPU_LEVEL_H

#include <stdbool.h>

#include "longhand/cpu.h"
#include "longhand/status.h"

/* Whether this processor runs "x86-64", "x86-64-v3", "x86-64-v4" or "aarch64". */
bool lh_level_runs(const char *level);

/* Chooses, from lh_spec.cpu, the program of the highest level that this processor runs, or of the level in the
 * environment variable LONGHAND_ISA. LH_ERR_ENVIRONMENT: the list is NULL or empty, or the processor does not run the
 * level LONGHAND_ISA or, without this variable, any level of the list; LH_ERR_USAGE: the list has no program of level
 * LONGHAND_ISA (the message names the levels of the list). */
lh_status lh_level_choose(const lh_cpu_program *const *programs, const lh_cpu_program **chosen, lh_error *error);

#endif
