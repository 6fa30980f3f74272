/* Instruction-set levels: what this processor can run. */
#ifndef LONGHAND_CPU_LEVEL_H
#define LONGHAND_CPU_LEVEL_H

#include <stdbool.h>

#include "longhand/cpu.h"
#include "longhand/status.h"

/* Whether this processor runs "x86-64", "x86-64-v3", "x86-64-v4" or "aarch64". */
bool lh_level_runs(const char *level);

/* The widest program this processor runs, or the one that LONGHAND_ISA names. LH_ERR_ENVIRONMENT when there is none;
 * LH_ERR_USAGE when LONGHAND_ISA names a level that the list lacks (the message lists what it has). */
lh_status lh_level_choose(const lh_cpu_program *const *programs, const lh_cpu_program **chosen, lh_error *error);

#endif
