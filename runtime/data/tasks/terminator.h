/* Targets that are shorter than output_length: a terminator, then zeros that do not count in the accuracy. */
#ifndef LONGHAND_TASK_TERMINATOR_H
#define LONGHAND_TASK_TERMINATOR_H

#include "longhand/task.h"

enum { TERMINATOR = 2 };

/* Ends the target after its first `length` tokens. */
static inline void terminate(lh_example *example, int length) {
    example->target[length] = TERMINATOR;
    for (int i = length + 1; i < example->output_length; i++) example->target[i] = example->mask[i] = 0;
}

#endif
