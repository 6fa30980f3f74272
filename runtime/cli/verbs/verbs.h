/* All verbs of a trainer except train. */
#ifndef LONGHAND_VERBS_H
#define LONGHAND_VERBS_H

#include "cli/cli.h"

lh_verb_function lh_verb_info, lh_verb_eval, lh_verb_sample, lh_verb_predict, lh_verb_gradcheck, lh_verb_bench,
    lh_verb_trace;

#endif
