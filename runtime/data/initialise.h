/* Computes initial parameter values, a pure function of (spec, seed). */
#ifndef LONGHAND_INITIALISE_H
#define LONGHAND_INITIALISE_H

#include "longhand/spec.h"

/* Writes all of parameters: [parameter_storage] float (real_bytes 4) or double (8). Elements outside all tensors are
 * zero. A random element e (row-major) of tensor t uses word e mod 4 of block e / 4 at site (INIT, 0, 0), example t,
 * step 0. Normal numbers come from the inverse cumulative distribution. */
void lh_initialise(const lh_spec *spec, uint64_t seed, int real_bytes, void *parameters);

#endif
