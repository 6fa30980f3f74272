/* Finite data in place of a sampler: files of examples, {"input":[...],"target":[...],"mask":[...]} on each line, or a
 * task that makes its examples when a run begins (longhand/task.h).
 *
 * Examples are grouped by shape, that is by (input length, output length), so that a batch needs no padding. Where the
 * runtime speaks of a task length n, with finite data it means shape n: sizes[n - 1]. Shapes are numbered over all
 * sets, by input length, then by output length. People are told input lengths, and what the task's axes say.
 */
#ifndef LONGHAND_CORPUS_H
#define LONGHAND_CORPUS_H

#include "base/sha256.h"
#include "data/datasets/example_groups.h"
#include "longhand/spec.h"
#include "longhand/status.h"

typedef struct lh_sizes {
    int input, output; /* tokens */
} lh_sizes;

enum { LH_LARGEST_VALUE = 1000000000 }; /* on an axis */

/* One file, or what a task made for one purpose. Examples are in the order of their shapes, within a shape as in the
 * file. */
typedef struct lh_dataset {
    const char *path;            /* of a file; else the task's kind */
    char digest[LH_SHA256_TEXT]; /* of the file's bytes; else of the tokens */
    int64_t count;               /* examples, fewer than 2^31 */
    int64_t *first;              /* [shapes + 1]: those of shape n are first[n - 1] .. first[n] - 1 */
    uint32_t *line;              /* [count]: of the file, from 1 */
    int64_t *start;              /* [count]: where an example's input begins in tokens; its target follows */
    uint16_t *tokens;
    uint8_t *mask;          /* beside tokens; of targets only */
    int64_t masked;         /* labels with mask 0 */
    int32_t *values;        /* [count][axes of the task] */
    uint8_t *trained;       /* [count] 1: among those of training; NULL: nobody asks, or it is those of training */
    lh_task_expand *expand; /* makes examples of items, which stand in tokens; NULL: examples do */
    uint64_t seed;          /* for it */
    unsigned apart;         /* 1 << axis: examples with a value there count only in evaluations by it */
} lh_dataset;

typedef struct lh_corpus {
    lh_sizes *sizes;
    int shapes;
    lh_dataset train, eval;
    bool separate;           /* eval is a set of its own, test; else it is train */
    lh_dataset validation;   /* without examples where there is none */
    lh_groups final, during; /* what the two evaluations go by, once the spec has it (lh_corpus_bind) */
    int32_t *trained;        /* [trained_count] shapes that train has */
    int32_t *lengths;        /* [length_count] input lengths that eval has */
    int trained_count, length_count;
    int32_t *selected; /* room for lh_corpus_select */
} lh_corpus;

/* Other files than those of the spec, or NULL; and who is told how far a task is that makes its examples. */
typedef struct lh_corpus_request {
    const char *path[LH_SETS];
    void (*progress)(void *context, double share); /* NULL: nobody */
    void *context;
} lh_corpus_request;

/* Reads the files that spec->data names, or has the task make its examples. LH_ERR_INPUT names file, line, column or
 * field, what was found and what was expected. */
lh_status lh_corpus_open(lh_corpus *corpus, const lh_spec *spec, const lh_corpus_request *request, lh_error *error);
void lh_corpus_close(lh_corpus *corpus);

/* Gives the spec this data: which lengths and conditions there are, and where epochs are asked for, the steps.
 * LH_ERR_INPUT where those are too many, or there is no such condition. The corpus must outlive the spec. */
lh_status lh_corpus_bind(lh_corpus *corpus, lh_spec *spec, lh_error *error);

/* The set for a purpose; NULL: there is none. */
const lh_dataset *lh_corpus_set(const lh_corpus *corpus, lh_set set);

/* Examples of shape n. */
static inline int64_t lh_dataset_count(const lh_dataset *set, int n) { return set->first[n] - set->first[n - 1]; }

/* Whether an example of shape n counts whatever an evaluation goes by: not all of them were made for one axis. axes:
 * the task's. */
bool lh_dataset_counts(const lh_dataset *set, int axes, int n);

/* The shape of the example at a place of a set. */
int lh_dataset_shape(const lh_dataset *set, int shapes, int64_t place);

/* The wanted input lengths that a set has, in corpus->selected. */
lh_lengths lh_corpus_select(const lh_corpus *corpus, const lh_dataset *set, const lh_lengths *wanted);

/* The shape with this input length of which train has the most examples; 0: none. */
int lh_corpus_shape_of(const lh_corpus *corpus, int input);

/* Copies example `index` of shape n, or makes it: the task's options must be in `example`, its mask all 1. */
void lh_dataset_copy(const lh_dataset *set, int n, int64_t index, lh_example *example);

#endif
