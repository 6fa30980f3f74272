/* Device code in the emulation against kernels/ref: one model at work, its logits, sums and gradients compared. A
 * comparison that fails, fails the running test. */
#ifndef LH_TESTS_DEVICE_PARITY_H
#define LH_TESTS_DEVICE_PARITY_H

#include "launch_model.h"
#include "support/lh_parity.h"

/* Weights on both sides. */
typedef struct lh_device_model {
    const lh_parity_case *about;
    const lh_spec *spec;
    int real_bytes;
    lh_st_file *file; /* where they are stored; else NULL */
    lh_ref_model *reference;
    void *parameters;
    const lh_parity_tolerance *tolerance;
} lh_device_model;

/* A batch, and what is wanted of it. */
typedef struct lh_device_question {
    lh_ref_batch batch;
    const int32_t *drawn; /* [tokens] distances, where the encoding draws them */
    const uint8_t *mask;
    const double *logits;
    double loss; /* summed */
} lh_device_question;

/* Evaluation by cut.team blocks, cut.shards sequences at a time. */
void lh_device_check_evaluation(const lh_device_model *m, const lh_device_question *q, lh_model_cut cut);

/* A step's sums, and that its gradients are the reference's. */
void lh_device_check_training(const lh_device_model *m, const lh_device_question *q, lh_model_cut cut,
                              double tolerance);

/* Both of a batch against what kernels/ref makes of it, in training with dropout. */
void lh_device_check_made(lh_device_model *m, lh_parity_batch *made, lh_model_cut cut);
void lh_device_check_at(lh_device_model *m, lh_parity_size size, lh_model_cut cut);

#endif
