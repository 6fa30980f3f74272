/* Lists of examples, which grow while examples are read or made; for corpus.c and collect.c alone. */
#ifndef LONGHAND_CORPUS_READ_H
#define LONGHAND_CORPUS_READ_H

#include "data/datasets/corpus.h"

typedef struct lh_record {
    int input, output; /* token counts of the example */
    int64_t start;     /* index of the example's first element in lh_example_list.tokens and mask */
    int64_t index;     /* index of the example in the file */
    uint32_t line;     /* line of the file, from 1; if the task makes the examples, index + 1 */
    int passes;        /* see lh_sizes; set by corpus.c */
} lh_record;

typedef struct lh_example_list {
    lh_record *records; /* [count], in the order of the file */
    int64_t count, capacity;
    uint16_t *tokens;   /* [used] input, then target of each example, or the words of its item */
    uint8_t *mask;      /* [used] mask of each token */
    bool has_positions; /* examples have positions; set before the first example is added */
    int32_t *positions; /* [used] see lh_dataset; NULL without has_positions */
    int64_t used, token_capacity;
    int64_t masked; /* labels with mask 0; not counted for a task's examples */
    char ignored[LH_IGNORED_KEYS];
    int32_t *values; /* [count][axes of the task] values on axes, in the order of lh_record.index */
    /* Fields that lh_dataset explains: */
    lh_task_expand *expand;
    uint64_t seed;
    unsigned exclusive_axes;
    char digest[LH_SHA256_TEXT];
} lh_example_list;

/* Memory for one example in the arrays of a list. */
typedef struct lh_example_storage {
    uint16_t *tokens;            /* tokens of input and target, or the words of an item */
    uint8_t *mask;               /* mask of each element of tokens */
    int32_t *values, *positions; /* positions: NULL if the list has none */
} lh_example_storage;

/* Fails with LH_ERR_ENVIRONMENT: there is no memory for the examples. */
lh_status lh_fail_examples(lh_error *error);

/* Appends an example and points `storage` to its memory. The caller then writes the example there.
 *
 *   input, output  token counts
 *   words          number of elements in `tokens` and `mask`
 *   axes           number of elements in `values`
 *
 * LH_ERR_INPUT: too many examples; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_example_list_add(lh_example_list *list, int input, int output, int words, int axes,
                              lh_example_storage *storage, lh_error *error);

/* Reads all examples of a file. flag: the flag that names the file, for messages. Call lh_example_list_close also after
 * an error. */
lh_status lh_example_list_read(lh_example_list *list, const lh_spec *spec, const char *path, const char *flag,
                               lh_error *error);
void lh_example_list_close(lh_example_list *list);

#endif
