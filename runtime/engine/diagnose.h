/* Diagnoses a failed or suspicious step: finds facts about a vector of parameters or gradients, tensor by tensor, for
 * the message about the step. Works on vectors in host memory, so any engine can use it. */
#ifndef LONGHAND_DIAGNOSE_H
#define LONGHAND_DIAGNOSE_H

#include <stddef.h>
#include <stdint.h>

#include "longhand/spec.h"
#include "longhand/status.h"

/* Facts of a vector. Tensors are indices in spec->tensors, which is in forward order; -1: none. */
typedef struct lh_vector_facts {
    int tensor_count;                    /* number of learned tensors */
    int nonfinite_count;                 /* number of learned tensors with a NaN or an infinity */
    int first_nonfinite, last_nonfinite; /* tensors in forward order; the backward pass reaches the last one first */
    int64_t first_elements;              /* number of non-finite elements of tensor first_nonfinite */
    int64_t last_elements;               /* number of non-finite elements of tensor last_nonfinite */
    int largest_tensor;                  /* tensor with the finite element of largest magnitude */
    double magnitude;                    /* magnitude of that element */
} lh_vector_facts;

/* Finds the facts of a vector, [parameter_storage] of float (real_bytes 4) or double (8). */
lh_vector_facts lh_diagnose_vector(const lh_spec *spec, int real_bytes, const void *vector);

/* Writes the names of learned tensors that have elements in this chunk of LH_CHUNK elements: up to three names in
 * forward order, then the number of other tensors. */
void lh_diagnose_chunk(const lh_spec *spec, int64_t chunk, char *text, size_t size);

/* Appends lines to the message in error: the step's task length, facts of its parameters, facts of its gradient.
 * gradient: the gradient of the failed step; NULL: not available. */
void lh_diagnose_step(lh_error *error, const lh_spec *spec, int real_bytes, const void *parameters,
                      const void *gradient, int length);

#endif
