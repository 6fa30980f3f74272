/* Compares device code in the emulation with kernels/ref: logits, sums and gradients of one model. A failed comparison
 * fails the running test. */
#ifndef LH_TESTS_DEVICE_PARITY_H
#define LH_TESTS_DEVICE_PARITY_H

#include "launch_model.h"
#include "support/lh_parity.h"

/* A model with equal weights on both sides. */
typedef struct lh_device_model {
    const lh_parity_case *parity_case;
    const lh_spec *spec;
    int real_bytes;
    lh_st_file *file; /* file with the weights, or NULL */
    lh_ref_model *reference;
    void *parameters;
    const lh_parity_tolerance *tolerance;
} lh_device_model;

/* A batch with its expected results. */
typedef struct lh_device_batch {
    lh_ref_batch batch;
    const int32_t *distances; /* [tokens] distances, if the encoding samples them */
    int32_t *token_positions; /* [sequences][tokens] positions that depend on tokens; NULL if they do not */
    const uint8_t *mask;
    const double *logits;
    double loss; /* summed over labels */
} lh_device_batch;

/* Checks logits and sums of an evaluation. */
void lh_device_check_evaluation(const lh_device_model *m, const lh_device_batch *d, lh_model_cut cut);

/* Checks a step's sums and gradients. */
void lh_device_check_training(const lh_device_model *m, const lh_device_batch *d, lh_model_cut cut, double tolerance);

/* Checks a step with dropout, and an evaluation, against kernels/ref. */
void lh_device_check_batch(lh_device_model *m, lh_parity_batch *data, lh_model_cut cut);

/* Does the same for a random batch of this size. */
void lh_device_check_size(lh_device_model *m, lh_parity_size size, lh_model_cut cut);

/* Does the same with this number of passes through the loops of the model. If training never has so many passes, only
 * checks the evaluation. */
void lh_device_check_passes(lh_device_model *m, lh_parity_size size, int passes, lh_model_cut cut);

#endif
