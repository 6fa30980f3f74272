/* What trace prints of inputs that someone gave: the model's answers, and where they are wrong. */
#ifndef LONGHAND_TRACE_ANSWERS_H
#define LONGHAND_TRACE_ANSWERS_H

#include "eval/trace.h"

/* Every input with its answers, once the traces were run; nothing of averages, and of examples. json: a JSON line each,
 * {"input":...,"answer":...,"right":true} or, where it is wrong, "right":false, "wrong":[places from 0], "target":...;
 * where the right answer is not known, "right":null. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_print_answers(const lh_traces *traces, bool json, lh_error *error);

#endif
