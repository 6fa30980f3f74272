/* Initial parameter values: a pure function of (spec, seed). */
#ifndef LONGHAND_INITIALISE_H
#define LONGHAND_INITIALISE_H

#include "longhand/spec.h"

/* parameters: [parameter_storage] of float (real_bytes 4) or double (8), written whole; what no tensor covers is zero.
 * Element e (row-major) of tensor t takes words of block e / 4 at site (INIT, 0, 0), example t, step 0. Normals by
 * inverse cumulative distribution, so every element has a number of its own. */
void lh_initialise(const lh_spec *spec, uint64_t seed, int real_bytes, void *parameters);

#endif
