/* Reads task lengths, which are a range or a list. */
#ifndef LONGHAND_LENGTHS_H
#define LONGHAND_LENGTHS_H

#include <stdbool.h>

#include "longhand/spec.h"

int lh_lengths_count(const lh_lengths *lengths);
int lh_lengths_get(const lh_lengths *lengths, int index);

/* The greatest length; 0: there are none. */
int lh_lengths_find_longest(const lh_lengths *lengths);

/* Whether a value is one of the lengths. */
bool lh_lengths_have(const lh_lengths *lengths, int value);

#endif
