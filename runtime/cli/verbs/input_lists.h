/* Reads the lists of integers of a line of input for predict and trace: positions and distances. */
#ifndef LONGHAND_INPUT_LISTS_H
#define LONGHAND_INPUT_LISTS_H

#include <jansson.h>

#include "cli/verbs/input.h"

/* Reads "positions" and "distances" of a line, whose keys and input are read already. LH_ERR_INPUT: a list that the
 * encoding does not have, or lacks although lines give its positions; a value of a wrong type or out of range;
 * distances that do not ascend from 0. */
lh_status lh_input_read_lists(lh_input *input, const json_t *object, const lh_spec *spec, int64_t line,
                              lh_error *error);

/* Checks that each list of an input has the length of its stream, and that the input has the positions that lines give.
 * shape: the shape of the input's sequence. */
lh_status lh_input_check_counts(const lh_input *input, const lh_spec *spec, const lh_shape *shape, int64_t line,
                                lh_error *error);

#endif
