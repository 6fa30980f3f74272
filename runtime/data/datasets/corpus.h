/* Datasets: fixed sets of examples, which come from files or from a task that makes them when a run begins
 * (longhand/task.h). Each line of a file has one example, as {"input":[...],"target":[...]} (lists of tokens, or texts
 * of symbols), optionally with "mask":[...], "positions":[...] and values on axes, or in a format of line_formats.h.
 * Targets of files get the task's end symbol if they lack it.
 *
 * A shape is an input length, an output length and a number of passes through the layers (for models with loops). All
 * examples of a batch have one shape, so a batch needs no padding. With a dataset a "task length n" of the runtime is
 * shape n: sizes[n - 1]. Shapes are numbered over all sets, by input length, then output length, then passes. Output
 * for users shows input lengths and values on the task's axes.
 */
#ifndef LONGHAND_CORPUS_H
#define LONGHAND_CORPUS_H

#include "base/sha256.h"
#include "data/datasets/example_groups.h"
#include "longhand/spec.h"
#include "longhand/status.h"

typedef struct lh_sizes {
    int input, output; /* tokens */
    int passes;        /* passes through the layers: the value on the axis lh_spec.pass_axis; 0: no such axis */
} lh_sizes;

enum {
    LH_LARGEST_VALUE = 1000000000, /* greatest value on an axis */
    LH_MAX_PASSES = 10000,         /* maximum number of passes of an example in an evaluation */
    LH_IGNORED_KEYS = 256          /* bytes of a list of keys */
};

/* The examples of one set, from a file or a task. They are ordered by shape and, within a shape, by line. */
typedef struct lh_dataset {
    const char *path;              /* path of the file; if the task makes the examples, the task's kind */
    char digest[LH_SHA256_TEXT];   /* SHA-256 of the file's bytes; if the task makes the examples, of `tokens` */
    int64_t count;                 /* examples, fewer than 2^31 */
    int64_t *first;                /* [shapes + 1]: examples of shape n are first[n - 1] .. first[n] - 1 */
    uint32_t *line;                /* [count]: line in the file, or number of a task's example, from 1 */
    int64_t *start;                /* [count]: index in `tokens` at which an example begins */
    uint16_t *tokens;              /* input, then target of each example; or, with `expand`, the words of its item */
    uint8_t *mask;                 /* mask of each token; only masks of targets are used */
    int64_t masked;                /* labels with mask 0; not counted for a task's examples */
    char ignored[LH_IGNORED_KEYS]; /* list, as text, of the keys without a meaning; empty: none */
    int32_t *values;               /* [count][axes of the task] values on axes */
    /* Positions of the tokens that a decoder reads. Those of an example begin at its index in `tokens` (start): one
     * for each token of its input, one for the separator, and one for each token of its target except the last, so as
     * many as the example has tokens. NULL unless lines of the file have positions (lh_token_positions.by_line). */
    int32_t *positions;
    uint8_t *trained;        /* [count] 1: also a training example; NULL: not needed, or this is the training set */
    lh_task_expand *expand;  /* makes examples from items, which tokens then holds; NULL: tokens holds examples */
    uint64_t seed;           /* seed for expand */
    unsigned exclusive_axes; /* bit 1 << axis: evaluations by other axes leave out examples with a value on this axis */
} lh_dataset;

typedef struct lh_corpus {
    lh_sizes *sizes; /* [shapes] */
    int shapes;
    lh_dataset train, eval;
    bool has_test_set;       /* `eval` is a separate test set; false: it equals `train` */
    lh_dataset validation;   /* count 0: no validation set */
    lh_groups final, during; /* groups of the final evaluation and of evaluations during training (lh_corpus_bind) */
    int32_t *train_shapes;   /* [train_shape_count] shapes in train */
    int32_t *lengths;        /* [length_count] input lengths in eval */
    int train_shape_count, length_count;
    int32_t *selected; /* [shapes] memory for the result of lh_corpus_select */
} lh_corpus;

/* Paths that replace the spec's paths (NULL: not replaced), and a progress callback for tasks that make examples. */
typedef struct lh_corpus_request {
    const char *path[LH_SETS];
    void (*progress)(void *context, double share); /* share: 0 to 1; NULL: no callback */
    void *context;
} lh_corpus_request;

/* Reads the files of spec->data, or calls the task to make its examples. LH_ERR_INPUT names file, line, column or
 * field, the value found and the value expected. */
lh_status lh_corpus_open(lh_corpus *corpus, const lh_spec *spec, const lh_corpus_request *request, lh_error *error);
void lh_corpus_close(lh_corpus *corpus);

/* Binds a spec to this data: sets its lengths and conditions, and converts epochs to steps. LH_ERR_INPUT: too many
 * steps, or an error of lh_groups_open; LH_ERR_ENVIRONMENT: out of memory. The corpus must outlive the spec. */
lh_status lh_corpus_bind(lh_corpus *corpus, lh_spec *spec, lh_error *error);

/* The dataset of a set; NULL: there is none. */
const lh_dataset *lh_corpus_get_set(const lh_corpus *corpus, lh_set set);

/* The number of examples of shape n. */
static inline int64_t lh_dataset_count_examples(const lh_dataset *set, int n) {
    return set->first[n] - set->first[n - 1];
}

/* Whether some example of shape n has no value on any exclusive axis, so that every evaluation may use it. axes: number
 * of the task's axes. */
bool lh_dataset_has_general_examples(const lh_dataset *set, int axes, int n);

/* The shape of the example at `index` in a set. */
int lh_dataset_find_shape(const lh_dataset *set, int shapes, int64_t index);

/* Selects those of `lengths` that are input lengths of a set. The result points to corpus->selected. */
lh_lengths lh_corpus_select(const lh_corpus *corpus, const lh_dataset *set, const lh_lengths *lengths);

/* The shape with this input length that has the most training examples; 0: none. */
int lh_corpus_find_shape(const lh_corpus *corpus, int input);

/* Copies the example at `index` within shape n, or makes it from its item. On entry example->options must be set and
 * the mask all 1. */
void lh_dataset_copy(const lh_dataset *set, int n, int64_t index, lh_example *example);

/* The positions of the tokens of this example, see lh_dataset.positions; NULL: the set has none. */
int32_t *lh_dataset_get_positions(const lh_dataset *set, int n, int64_t index);

#endif
