/* The lines of a file of examples; for corpus.c alone. */
#ifndef LONGHAND_CORPUS_READ_H
#define LONGHAND_CORPUS_READ_H

#include "data/corpus.h"

typedef struct lh_record {
    int input, output; /* tokens */
    int64_t start;     /* in tokens and mask */
} lh_record;

typedef struct lh_reading {
    lh_record *records; /* [count], as in the file */
    int64_t count, room;
    uint16_t *tokens; /* [used] input, then target, of one example after the other */
    uint8_t *mask;
    int64_t used, token_room;
    char digest[LH_SHA256_TEXT];
} lh_reading;

/* Reads the whole file; flag: what may name another file. Whatever the outcome, reading is for lh_reading_close. */
lh_status lh_reading_open(lh_reading *reading, const lh_spec *spec, const char *path, const char *flag,
                          lh_error *error);
void lh_reading_close(lh_reading *reading);

#endif
