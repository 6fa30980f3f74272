/* Inputs of trace: a file of JSON lines as predict reads them, or literals. */
#ifndef LONGHAND_TRACE_INPUTS_H
#define LONGHAND_TRACE_INPUTS_H

#include "cli/options.h"
#include "cli/verbs/input.h"
#include "eval/trace.h"

typedef struct lh_trace_inputs {
    lh_input *list;         /* [count] */
    lh_query *queries;      /* [count]; point into list, without draws */
    lh_right_answer *right; /* [count], likewise */
    int count;
    lh_spec spec; /* to trace them with: finite data's shapes are those of the lines, in the order of their first */
    lh_corpus corpus;
} lh_trace_inputs;

/* Reads every line that is not blank. LH_ERR_INPUT names the file, the line and what is wrong, or that there is none.
 * Whatever the outcome, inputs is for lh_trace_inputs_free. */
lh_status lh_trace_inputs_read(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, lh_error *error);

/* Takes texts, put into frames of so many places (lh_literal.frame). The message counts them as lines. */
lh_status lh_trace_inputs_take(lh_trace_inputs *inputs, const lh_spec *spec, const lh_option_texts *texts, int frame,
                               lh_error *error);

void lh_trace_inputs_free(lh_trace_inputs *inputs);

#endif
