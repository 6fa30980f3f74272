/* Reads inputs of trace: a file of JSON lines as predict reads them, or literals. */
#ifndef LONGHAND_TRACE_INPUTS_H
#define LONGHAND_TRACE_INPUTS_H

#include "cli/options.h"
#include "cli/verbs/input.h"
#include "eval/trace.h"

typedef struct lh_trace_inputs {
    lh_input *list;                 /* [count] */
    lh_query *queries;              /* [count] queries without draws, which point into list */
    lh_right_answer *right_answers; /* [count] right answers, which point into list */
    int count;
    lh_spec spec;     /* spec for tracing; with a dataset, this copy is bound to `corpus` */
    lh_corpus corpus; /* with a dataset: the shapes of the lines, in order of first occurrence */
} lh_trace_inputs;

/* Reads every line that is not blank. LH_ERR_INPUT names the file, the line and the error, or that the file has no
 * line. Call lh_trace_inputs_free also after an error. */
lh_status lh_trace_inputs_read(lh_trace_inputs *inputs, const lh_spec *spec, const char *path, lh_error *error);

/* Reads inputs from texts. frame: the number of places to which numbers are padded, see lh_literal.frame. In messages
 * the first text is "line 1". */
lh_status lh_trace_inputs_read_texts(lh_trace_inputs *inputs, const lh_spec *spec, const lh_option_texts *texts,
                                     int frame, lh_error *error);

void lh_trace_inputs_free(lh_trace_inputs *inputs);

#endif
