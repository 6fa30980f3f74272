/* Finite data: files of examples in place of a sampler, {"input":[...],"target":[...],"mask":[...]} on each line.
 *
 * Examples are grouped by shape, that is by (input length, output length), so that a batch needs no padding. Where the
 * runtime speaks of a task length n, with finite data it means shape n: sizes[n - 1]. Shapes are numbered over both
 * files, by input length, then by output length. People are told input lengths.
 */
#ifndef LONGHAND_CORPUS_H
#define LONGHAND_CORPUS_H

#include "base/sha256.h"
#include "longhand/spec.h"
#include "longhand/status.h"

typedef struct lh_sizes {
    int input, output; /* tokens */
} lh_sizes;

/* One file. Examples are in the order of their shapes, within a shape as in the file. */
typedef struct lh_dataset {
    const char *path;
    char digest[LH_SHA256_TEXT]; /* of its bytes */
    int64_t count;               /* examples, fewer than 2^31 */
    int64_t *first;              /* [shapes + 1]: those of shape n are first[n - 1] .. first[n] - 1 */
    int64_t *start;              /* [count]: where an example's input begins in tokens; its target follows */
    uint16_t *tokens;
    uint8_t *mask; /* beside tokens; of targets only */
} lh_dataset;

typedef struct lh_corpus {
    lh_sizes *sizes;
    int shapes;
    lh_dataset train, eval;
    bool separate;    /* eval is a file of its own; else it is train */
    int32_t *trained; /* [trained_count] shapes that train has */
    int32_t *lengths; /* [length_count] input lengths that eval has */
    int trained_count, length_count;
    int32_t *selected; /* room for lh_corpus_select */
} lh_corpus;

/* Reads the files that spec->data names; train, eval: other paths, or NULL. LH_ERR_INPUT names file, line, column or
 * field, what was found and what was expected. */
lh_status lh_corpus_open(lh_corpus *corpus, const lh_spec *spec, const char *train, const char *eval, lh_error *error);
void lh_corpus_close(lh_corpus *corpus);

/* Gives the spec this data: which lengths there are, and where epochs are asked for, the steps. LH_ERR_INPUT where those
 * are too many. The corpus must outlive the spec. */
lh_status lh_corpus_bind(lh_corpus *corpus, lh_spec *spec, lh_error *error);

/* Examples of shape n. */
static inline int64_t lh_dataset_count(const lh_dataset *set, int n) { return set->first[n] - set->first[n - 1]; }

/* Those of the wanted input lengths that eval has, in corpus->selected. */
lh_lengths lh_corpus_select(const lh_corpus *corpus, const lh_lengths *wanted);

/* The shape with this input length of which train has the most examples; 0: none. */
int lh_corpus_shape_of(const lh_corpus *corpus, int input);

/* Copies example `index` of shape n. */
void lh_dataset_copy(const lh_dataset *set, int n, int64_t index, lh_example *example);

#endif
