/* Output of trace on inputs that someone gave: the model's answers, and where they are wrong. */
#ifndef LONGHAND_TRACE_ANSWERS_H
#define LONGHAND_TRACE_ANSWERS_H

#include "eval/trace.h"

/* Every input with its answers, once the traces were run; nothing of examples. json: a JSON line each,
 * {"index":0,"input":...,"answer":...,"right":true} or, where it is wrong, "right":false, "target":..., "wrong":[places
 * from 0]; where the right answer is not known, "right":null; with several draws a line for each, with "draw" from 0.
 * LH_ERR_ENVIRONMENT without memory. */
lh_status lh_print_answers(const lh_traces *traces, bool json, lh_error *error);

#endif
