/* Analytic against numeric gradients of a float64 build, tensor by tensor, wherever it computes. */
#ifndef LONGHAND_GRADCHECK_H
#define LONGHAND_GRADCHECK_H

#include "engine/target.h"

typedef struct lh_gradcheck_result {
    double worst; /* greatest relative error over all checks of the tensor */
    int checks;
    int kinks; /* checks next to a kink of the loss */
    bool passed;
} lh_gradcheck_result;

/* Checks every learned tensor at task length n in training steps of a few sequences, dropout on: the derivative along
 * random signs, and of some single elements, by differences of losses. The gradient and every loss are those of an
 * engine's first step at given parameters. Beside a kink, where the slopes of the loss differ between a point's sides,
 * the gradient must be that of one side. What is found: an element that is wrong by 1e-4 of the largest of its tensor's
 * gradient, where that is about 1e-5 times the root of the number of elements or more.
 * results: [tensor_count], accumulated over calls. Errors: those of opening an engine and of a training step. */
lh_status lh_gradcheck(const lh_target *target, int n, uint64_t seed, lh_gradcheck_result *results, lh_error *error);

#endif
