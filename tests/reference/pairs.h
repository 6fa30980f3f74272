/* Reads the stored reference vectors of encoder-decoders, which encoder_decoder.py and arithmetic.py wrote; vectors.h
 * reads those of models with one stream. */
#ifndef LH_REFERENCE_PAIRS_H
#define LH_REFERENCE_PAIRS_H

#include "longhand/cpu.h"
#include "reference/vectors.h"

enum { LH_PAIRS_FILES = 15, LH_PAIRS_LENGTHS = 2, LH_PAIRS_MOST_FAMILIES = 3 };

extern const char *const lh_pairs_name[LH_PAIRS_FILES];

/* Reads the numbers of source tokens of a file's batches; gradients of the last batch are stored. */
void lh_pairs_read_lengths(const lh_st_file *file, int length[LH_PAIRS_LENGTHS]);

/* Makes a model with the file's weights; for lh_ref_model_free. */
lh_ref_model *lh_pairs_make_model(const lh_st_file *file, const lh_ref_network *network);

/* One batch with its results. */
typedef struct lh_pairs_case {
    lh_ref_batch
        batch;      /* without dropout, loss_scale of the mean, with the backward pass; points to the arrays below */
    double *logits; /* [sequences][labels][classes] */
    double loss;    /* mean, in nats */
    /* Fields of arithmetic.py's files, otherwise NULL: */
    double *attention[LH_MAX_STREAMS]; /* [sequences][heads][labels][keys] of the last layer, by the keys' stream */
    int32_t *greedy; /* [sequences][labels] the classes that decoding gives; -1 after the end of a sequence */
    uint16_t *token, *target, *label;
    int32_t *positions[LH_MAX_STREAMS], *distances[LH_MAX_STREAMS]; /* by stream, if they are given to a model */
    lh_ref_family_positions places[LH_PAIRS_MOST_FAMILIES];         /* by family */
    int32_t *pairs[LH_PAIRS_MOST_FAMILIES];                         /* [queries][keys] distances */
    double *score[LH_PAIRS_MOST_FAMILIES];                          /* [heads][queries][keys] ALiBi */
} lh_pairs_case;

/* Reads the batch with n source tokens; lh_pairs_case_free frees it. */
void lh_pairs_read_case(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out);
void lh_pairs_case_free(lh_pairs_case *stored);

#endif
