/* Collects the examples of a task that makes them when a run begins; for corpus.c alone. */
#ifndef LONGHAND_COLLECT_H
#define LONGHAND_COLLECT_H

#include "data/datasets/corpus_read.h"

/* Calls the task's collect function and stores each set in a list of its own. paths: on entry the files that spec or
 * flags name; a task uses at most the validation file. On return each of paths is the validation file or, for sets that
 * the task makes, the task's kind. LH_ERR_INPUT: the validation file cannot be read or is not the plan's file, or an
 * example is invalid. Call lh_example_list_close for all lists also after an error. */
lh_status lh_collect(const lh_spec *spec, const char *paths[LH_SETS], const lh_corpus_request *request,
                     lh_example_list lists[LH_SETS], lh_error *error);

#endif
