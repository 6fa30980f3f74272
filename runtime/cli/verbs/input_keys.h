/* Keys that a line of input may have, for input.c alone. */
#ifndef LONGHAND_INPUT_KEYS_H
#define LONGHAND_INPUT_KEYS_H

#include <jansson.h>

#include "longhand/spec.h"
#include "longhand/status.h"

/* LH_ERR_INPUT names the first key that means nothing here, those that do, and the one that was perhaps meant. Numbers on the
 * task's axes, which lines of its files have, are allowed. line: its number, for messages. */
lh_status lh_input_check_keys(json_t *object, const lh_spec *spec, int64_t line, lh_error *error);

#endif
