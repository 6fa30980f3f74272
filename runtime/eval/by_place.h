/* Counts right answers by the place of a label in its target, over all sequences and draws of a condition.
 *
 * Places are counted from 1, both from the start of the target and from the end. The end is the last counted label
 * (mask 1). Element i of a list is for place i + 1. A missing answer is wrong. */
#ifndef LONGHAND_BY_PLACE_H
#define LONGHAND_BY_PLACE_H

#include "base/json_text.h"
#include "engine/engine.h"

enum { LH_MAX_TARGET_PLACES = 16384 }; /* labels of a sequence; keeps a line of eval.jsonl below the readers' limit */

/* Lists of counts by place. */
enum {
    LH_PLACE_COUNTED, /* counted labels */
    LH_PLACE_CORRECT, /* right answers */
    LH_PLACE_FORCED,  /* right answers of the teacher-forced pass */
    LH_PLACE_LISTS
};

typedef struct lh_by_place {
    int capacity;                 /* number of places in each list */
    int place_count;              /* greatest place of a counted label so far; length of written lists */
    int64_t sequences;            /* sequences with a counted label */
    int64_t *start;               /* [LH_PLACE_LISTS][capacity] counts by place from the start */
    int64_t *end;                 /* [LH_PLACE_LISTS][capacity] counts by place from the end */
    int64_t *first_error;         /* [capacity] sequences whose first wrong answer is at this place from the start */
    bool has_correct, has_forced; /* whether LH_PLACE_CORRECT, or LH_PLACE_FORCED, has counts */
    uint16_t *forced_answers;     /* [examples][labels] teacher-forced answers to a decoded batch */
} lh_by_place;

/* LH_ERR_INPUT: more labels than LH_MAX_TARGET_PLACES. */
lh_status lh_by_place_check(size_t labels, lh_error *error);

/* Allocates lists for batches of up to `examples` targets of up to `labels` labels. Fails as lh_by_place_check does;
 * LH_ERR_ENVIRONMENT: out of memory. Call close also after an error. */
lh_status lh_by_place_open(lh_by_place *places, size_t examples, size_t labels, lh_error *error);
void lh_by_place_close(lh_by_place *places);

/* Sets all counts to 0. */
void lh_by_place_clear(lh_by_place *places);

/* Adds the first `count` examples of an evaluated condition.
 *   condition->answers  the evaluated answers
 *   decoding            lh_greedy or lh_teacher_forced; NULL for an encoder
 *   lengths             [count] number of answers
 * With lh_greedy, also runs the teacher-forced pass.
 * Fails as lh_engine_ops.evaluate or lh_batch_fill does; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_by_place_add(lh_by_place *places, lh_engine *engine, const lh_condition *condition, const char *decoding,
                          int count, const int *lengths, lh_error *error);

/* Writes the key `places` with all counts up to the greatest place; without a counted label the lists are empty. */
void lh_by_place_write(const lh_by_place *places, lh_json *line);

#endif
