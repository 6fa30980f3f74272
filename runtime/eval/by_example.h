/* Uncertainty and right answers of the single examples of a condition, in every draw: with the lines for other numbers
 * of passes they show the answers of a model that chooses its passes for each example. */
#ifndef LONGHAND_BY_EXAMPLE_H
#define LONGHAND_BY_EXAMPLE_H

#include "base/json_text.h"
#include "engine/engine.h"

enum { LH_MAX_LISTED_EXAMPLES = 16384 }; /* keeps a line of eval.jsonl below the readers' limit, also with places */

typedef struct lh_by_example {
    lh_sums *sums; /* [LH_MAX_LISTED_EXAMPLES] in the order of evaluation; NULL: not requested; owned by the caller */
    int64_t count; /* evaluated examples of all draws, which may exceed the list */
} lh_by_example;

/* Appends the sums of `count` sequences of a batch. */
void lh_by_example_add(lh_by_example *examples, const lh_sums *sequence_sums, int count);

/* Writes the key `by_example`, unless the list was not requested or is too short, or an uncertainty is not finite. */
void lh_by_example_write(const lh_by_example *examples, lh_json *line);

#endif
