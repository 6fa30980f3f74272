/* Prints the answers of trace to a user's inputs, and marks wrong answers. */
#ifndef LONGHAND_TRACE_ANSWERS_H
#define LONGHAND_TRACE_ANSWERS_H

#include "eval/trace.h"

/* Prints every input with its answers, after lh_traces_run; prints nothing for examples of the task. as_json: one JSON
 * line per input and draw, {"index":0,"input":...,"answer":...,"right":true}; a wrong answer has "right":false,
 * "target":... and "wrong":[indices from 0]; an unknown right answer is "right":null; with several draws each line has
 * "draw", from 0. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_print_answers(const lh_traces *traces, bool as_json, lh_error *error);

#endif
