/* Examples of a task that makes them when a run begins; for corpus.c alone. */
#ifndef LONGHAND_COLLECT_H
#define LONGHAND_COLLECT_H

#include "data/datasets/corpus_read.h"

/* Has spec's task make its examples, each set in a reading of its own. paths: of the spec or of flags, which a task may
 * have for validation; they become what the sets are called. LH_ERR_INPUT where that file cannot be read, or an example
 * is none of the task's. Whatever the outcome, readings are for lh_reading_close. */
lh_status lh_collect(const lh_spec *spec, const char *paths[LH_SETS], const lh_corpus_request *request,
                     lh_reading readings[LH_SETS], lh_error *error);

#endif
