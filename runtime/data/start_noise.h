/* Computes the noise from which a model with loops starts its passes in an evaluation (lh_spec.draws_start). The verb
 * predict prints this noise. */
#ifndef LONGHAND_START_NOISE_H
#define LONGHAND_START_NOISE_H

#include "longhand/cpu.h"
#include "longhand/spec.h"

enum { LH_NOISE_BLOCK = 4 }; /* normal numbers from a block of the random stream */

/* Writes the standard normal numbers for channels c to c + LH_NOISE_BLOCK - 1 of token t of an example; c is a multiple
 * of LH_NOISE_BLOCK. Generated code (kernels/cpu/noise.h) computes the same numbers in its own type; tests compare both
 * with lh_ref_normal. draw: the condition's draw; example: index of the sequence in the batch. */
void lh_draw_start_noise(const lh_spec *spec, const lh_draw *draw, uint32_t example, int t, int c,
                         double noise[LH_NOISE_BLOCK]);

#endif
