/* Analytic against numeric gradients of a float64 program, tensor by tensor. */
#ifndef LONGHAND_GRADCHECK_H
#define LONGHAND_GRADCHECK_H

#include "longhand/spec.h"
#include "longhand/status.h"

typedef struct lh_gradcheck_result {
    double worst; /* greatest relative error over all checks of the tensor */
    int checks;
    bool passed;
} lh_gradcheck_result;

/* Checks every learned tensor at task length n with a block of a few sequences, dropout on, with fixed counters:
 * the derivative along a direction that mixes the gradient with noise, and of some single elements, by central
 * differences. results: [tensor_count], accumulated over calls. */
lh_status lh_gradcheck(const lh_spec *spec, const lh_cpu_program *program, int n, uint64_t seed,
                       lh_gradcheck_result *results, lh_error *error);

#endif
