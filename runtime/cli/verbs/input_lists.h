/* Reads the lists of integers of a line of input for predict and trace: positions and distances. */
#ifndef LONGHAND_INPUT_LISTS_H
#define LONGHAND_INPUT_LISTS_H

#include <jansson.h>

#include "cli/verbs/input.h"

/* Reads "positions" and "distances" of a line, after its keys and its input. LH_ERR_INPUT: a list of values that the
 * encoding does not sample; a value of a wrong type or out of range; distances that do not ascend from 0. */
lh_status lh_input_read_lists(lh_input *input, const json_t *object, const lh_spec *spec, int64_t line,
                              lh_error *error);

/* Checks that each list of an input has the length of its stream and, if the model reads positions from lines, that the
 * line has as many positions as the model reads. shape: the shape of the input's sequence. */
lh_status lh_input_check_counts(const lh_input *input, const lh_spec *spec, const lh_shape *shape, int64_t line,
                                lh_error *error);

#endif
