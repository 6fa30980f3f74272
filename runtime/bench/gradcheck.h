/* Compares analytic gradients with numeric gradients in a float64 build, tensor by tensor, on the CPU or a device. */
#ifndef LONGHAND_GRADCHECK_H
#define LONGHAND_GRADCHECK_H

#include "engine/target.h"

typedef struct lh_gradcheck_result {
    double worst_error; /* greatest relative error over all checks of the tensor */
    int checks;         /* number of checks */
    int kinks;          /* number of checks next to a kink of the loss, such as the zero of a ReLU */
    bool passed;        /* all checks passed */
} lh_gradcheck_result;

/* Checks every learned tensor at task length n in steps of 1 or 3 sequences, with dropout. Differences of losses
 * give the derivative in a direction of random signs, and the derivatives for some single elements. For every loss,
 * the check sets the parameters and runs step 0; some of these steps also give the gradient. Next to a kink, where the
 * one-sided slopes of the loss differ, the gradient must equal one of the two slopes. Let g be the largest magnitude in
 * a tensor's gradient, and N the tensor's number of elements: if g is at least about 1e-5 sqrt(N), the check finds an
 * error of 1e-4 g. results: [tensor_count], zeroed before the first call, accumulated over calls. Fails if an engine
 * cannot be opened or a training step fails. */
lh_status lh_gradcheck(const lh_target *target, int n, uint64_t seed, lh_gradcheck_result *results, lh_error *error);

#endif
