/* The content of a vector of parameters or gradients, tensor by tensor, and the message of a step that failed. Works on
 * host vectors, so that any engine can use it; costs nothing until something went wrong. */
#ifndef LONGHAND_DIAGNOSE_H
#define LONGHAND_DIAGNOSE_H

#include <stddef.h>
#include <stdint.h>

#include "longhand/spec.h"
#include "longhand/status.h"

/* Tensors are named by their index in spec->tensors, which is forward order; -1: none. */
typedef struct lh_vector_facts {
    int tensors;                   /* looked at: learned ones */
    int broken;                    /* of these, tensors with a NaN or an infinity */
    int first_broken, last_broken; /* in forward order; a gradient goes bad at the last one, and flows to the first */
    int64_t first_count;           /* elements of first_broken that are not finite */
    int64_t last_count;
    int largest; /* the tensor of the largest finite element by magnitude */
    double magnitude;
} lh_vector_facts;

/* vector: [parameter_storage] of float (real_bytes 4) or double (8). */
lh_vector_facts lh_diagnose_vector(const lh_spec *spec, int real_bytes, const void *vector);

/* The names of the learned tensors with an element in this chunk of LH_CHUNK elements, in forward order: up to three,
 * then how many more. */
void lh_diagnose_chunk(const lh_spec *spec, int64_t chunk, char *text, size_t size);

/* Appends to error, which says what failed, the step's task length and what its parameters and gradient hold, a line
 * each. gradient: as the failing step left it, or NULL when it is gone. */
void lh_diagnose_step(lh_error *error, const lh_spec *spec, int real_bytes, const void *parameters,
                      const void *gradient, int length);

#endif
