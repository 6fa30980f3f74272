/* The stored reference vectors of encoder-decoders (tests/reference/encoder_decoder.py, arithmetic.py), as vectors.h
 * has those of one stream. */
#ifndef LH_REFERENCE_PAIRS_H
#define LH_REFERENCE_PAIRS_H

#include "longhand/cpu.h"
#include "reference/vectors.h"

enum { LH_PAIRS_FILES = 15, LH_PAIRS_LENGTHS = 2, LH_PAIRS_MOST_FAMILIES = 3 };

extern const char *const lh_pairs_name[LH_PAIRS_FILES];

/* Source tokens of a file's batches; the last one's gradients are stored. */
void lh_pairs_lengths(const lh_st_file *file, int length[LH_PAIRS_LENGTHS]);

/* A network with the file's weights; the caller frees it. */
lh_ref_model *lh_pairs_model(const lh_st_file *file, const lh_ref_network *network);

/* One batch with its results. */
typedef struct lh_pairs_case {
    lh_ref_batch batch; /* dropout off, loss_scale of the mean, backward on; points into the rest */
    double *logits;     /* [sequences][labels][classes] */
    double loss;        /* mean, in nats */
    /* Fields of arithmetic.py's files, otherwise NULL: */
    double *attention[LH_MAX_STREAMS]; /* [sequences][heads][labels][keys] of the last layer, by the keys' stream */
    int32_t *greedy; /* [sequences][labels] the classes that decoding gives; -1 behind a sequence's own end */
    uint16_t *token, *target, *label;
    int32_t *positions[LH_MAX_STREAMS], *distances[LH_MAX_STREAMS]; /* of each stream, as they may be given */
    lh_ref_places places[LH_PAIRS_MOST_FAMILIES];                   /* in the network's order */
    int32_t *pairs[LH_PAIRS_MOST_FAMILIES];
    double *score[LH_PAIRS_MOST_FAMILIES];
} lh_pairs_case;

/* The batch with n source tokens; lh_pairs_case_free frees it. */
void lh_pairs_case_read(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out);
void lh_pairs_case_free(lh_pairs_case *stored);

#endif
