/* Examples as they are read or made, one after the other; for corpus.c and collect.c alone. */
#ifndef LONGHAND_CORPUS_READ_H
#define LONGHAND_CORPUS_READ_H

#include "data/datasets/corpus.h"

typedef struct lh_record {
    int input, output; /* tokens of the example */
    int64_t start;     /* of it, or of its item, in tokens and mask */
    int64_t number;    /* from 0, in the order of the file */
    uint32_t line;     /* of the file, from 1; of a task's examples number + 1 */
} lh_record;

typedef struct lh_reading {
    lh_record *records; /* [count], as in the file */
    int64_t count, room;
    uint16_t *tokens; /* [used] input, then target, of one example after the other */
    uint8_t *mask;
    int64_t used, token_room;
    int64_t masked;  /* labels with mask 0 */
    int32_t *values; /* [count][axes of the task] */
    lh_task_expand *expand;
    uint64_t seed;
    unsigned apart; /* the three as in lh_dataset */
    char digest[LH_SHA256_TEXT];
} lh_reading;

/* Room for one more example of these sizes, which is noted; its words (input + output tokens, or those of an item),
 * mask and values are at the ends of the arrays and the caller's to write. LH_ERR_INPUT where there are too many,
 * LH_ERR_ENVIRONMENT without memory. */
typedef struct lh_place {
    uint16_t *tokens;
    uint8_t *mask;
    int32_t *values;
} lh_place;
lh_status lh_reading_add(lh_reading *reading, int input, int output, int words, int axes, lh_place *place,
                         lh_error *error);

/* Reads the whole file; flag: what may name another file. Whatever the outcome, reading is for lh_reading_close. */
lh_status lh_reading_open(lh_reading *reading, const lh_spec *spec, const char *path, const char *flag,
                          lh_error *error);
void lh_reading_close(lh_reading *reading);

#endif
