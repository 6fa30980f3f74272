/* The noise from which the passes of a model start in an evaluation (lh_spec.draws_start), for a user's own program. */
#ifndef LONGHAND_START_NOISE_H
#define LONGHAND_START_NOISE_H

#include "longhand/cpu.h"
#include "longhand/spec.h"

enum { LH_MAX_START_WIDTH = 1024 }; /* the maximum of model.width */

/* Writes the normal numbers of token t of an example, without their deviation, to noise [spec->start_width]: those of
 * generated code (kernels/cpu/noise.h), which rounds them to its own type. draw: of the condition; example: the number
 * of the sequence. */
void lh_draw_start_noise(const lh_spec *spec, const lh_draw *draw, uint32_t example, int t, double *noise);

#endif
