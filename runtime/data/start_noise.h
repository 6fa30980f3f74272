/* The noise from which the passes of a model start in an evaluation (lh_spec.draws_start), for a user's own program. */
#ifndef LONGHAND_START_NOISE_H
#define LONGHAND_START_NOISE_H

#include "longhand/cpu.h"
#include "longhand/spec.h"

enum { LH_MAX_START_WIDTH = 1024 }; /* the maximum of model.width */

/* Writes the standard normal numbers of token t of an example to noise [spec->start_width]. Generated code
 * (kernels/cpu/noise.h) computes the same numbers, rounded to its own type. draw: the condition's draw; example: index
 * of the sequence in the batch. */
void lh_draw_start_noise(const lh_spec *spec, const lh_draw *draw, uint32_t example, int t, double *noise);

#endif
