/* Inputs of predict as people write them: one JSON line, or the task's symbols. */
#ifndef LONGHAND_INPUT_H
#define LONGHAND_INPUT_H

#include "train/engine.h"

typedef struct lh_input {
    int n;           /* task length */
    uint16_t *input; /* [input_length] tokens */
    int input_length;
    int32_t *positions; /* [positions_length], one per token of the sequence; NULL where the line has none */
    int positions_length;
    int32_t *distances; /* [distances_length], likewise; 0, then ascending */
    int distances_length;
} lh_input;

/* Reads {"input":[...]} with, optionally, "positions":[...] and "distances":[...]; line: its number, for messages.
 * LH_ERR_INPUT says what is wrong: no JSON, tokens, positions or distances out of range, distances that do not ascend
 * from 0, a length that the task does not have. Whatever the outcome, input is for lh_input_free. */
lh_status lh_input_read_json(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error);

/* The same from symbols of the task's input alphabet. */
lh_status lh_input_read_symbols(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error);

/* What goes through the model; without a draw. Points into input. */
lh_query lh_input_query(const lh_input *input);

void lh_input_free(lh_input *input);

#endif
