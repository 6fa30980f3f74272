/* Inputs of predict as people write them: one JSON line, or the task's symbols. */
#ifndef LONGHAND_INPUT_H
#define LONGHAND_INPUT_H

#include "longhand/spec.h"
#include "longhand/status.h"

typedef struct lh_input {
    int n;           /* task length */
    uint16_t *input; /* [input_length] tokens */
    int input_length;
    int32_t *positions; /* [positions_length], one per token of the sequence; NULL where the line has none */
    int positions_length;
} lh_input;

/* Reads {"input":[...]} with, optionally, "positions":[...]; line: its number, for messages. LH_ERR_INPUT says what is
 * wrong: no JSON, tokens or positions out of range, a length that the task does not have. Whatever the outcome, input
 * is for lh_input_free. */
lh_status lh_input_read_json(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error);

/* The same from symbols of the task's input alphabet. */
lh_status lh_input_read_symbols(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error);

void lh_input_free(lh_input *input);

#endif
