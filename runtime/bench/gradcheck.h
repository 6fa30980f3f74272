/* Analytic against numeric gradients of a float64 build, tensor by tensor, wherever it computes. */
#ifndef LONGHAND_GRADCHECK_H
#define LONGHAND_GRADCHECK_H

#include "train/target.h"

typedef struct lh_gradcheck_result {
    double worst; /* greatest relative error over all checks of the tensor */
    int checks;
    bool passed;
} lh_gradcheck_result;

/* Checks every learned tensor at task length n in training steps of a few sequences, dropout on: the derivative along a
 * direction that mixes the gradient with noise, and of some single elements, by central differences. The gradient and
 * every loss are those of an engine's first step at given parameters. results: [tensor_count], accumulated over calls.
 * Errors: those of opening an engine and of a training step. */
lh_status lh_gradcheck(const lh_target *target, int n, uint64_t seed, lh_gradcheck_result *results, lh_error *error);

#endif
