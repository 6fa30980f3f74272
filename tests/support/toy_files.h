/* The toy spec with dataset files, whose lines are its examples in place of sampled examples. */
#ifndef LH_TOY_FILES_H
#define LH_TOY_FILES_H

#include "data/datasets/corpus.h"
#include "toy_spec.h"

typedef struct toy_files {
    lh_spec spec; /* points to the next three fields */
    lh_format format;
    lh_task task;
    lh_data data;
    lh_corpus corpus;
} toy_files;

/* Makes the spec; corpus stays closed. train, eval: paths; NULL: the file is missing. Labels follow the input, and an
 * example has at most 12 tokens. */
void toy_make_files(toy_files *f, const char *train, const char *eval);

/* Makes the spec and opens its corpus, which the test closes. */
void toy_open_files(toy_files *f, const char *train, const char *eval);

#endif
