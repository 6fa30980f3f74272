/* Task lengths, as a range or a list. */
#ifndef LONGHAND_LENGTHS_H
#define LONGHAND_LENGTHS_H

#include <stdbool.h>

#include "longhand/spec.h"

/* Number of lengths; length i; greatest length (0: the list is empty); whether a value is one of the lengths. */
int lh_lengths_count(const lh_lengths *lengths);
int lh_lengths_get(const lh_lengths *lengths, int index);
int lh_lengths_longest(const lh_lengths *lengths);
bool lh_lengths_have(const lh_lengths *lengths, int value);

#endif
