/* Checks the keys of a line of input, for input.c alone. */
#ifndef LONGHAND_INPUT_KEYS_H
#define LONGHAND_INPUT_KEYS_H

#include <jansson.h>

#include "longhand/spec.h"
#include "longhand/status.h"

/* Checks the keys of a line; the names of the task's axes, which lines of dataset files contain, are allowed.
 * LH_ERR_INPUT: an unknown key; the message names it, the known keys, and a similar key, if any. line: number of the
 * line, for messages. */
lh_status lh_input_check_keys(json_t *object, const lh_spec *spec, int64_t line, lh_error *error);

#endif
