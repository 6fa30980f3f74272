/* A hand-made lh_cpu_program over toy_spec: small, slow, and with everything an engine must get right.
 *
 * For label j of a sequence with n input tokens:
 *
 *     m = mean of E[token] over the input             E: embed.token.weight
 *     h = dropout(m * scale + P[row of j])            P: embed.position.weight, constant; rows are drawn or j
 *     logits = h W + b                                cross-entropy, Adam
 *
 * With two streams (lh_toy_pair) h has E[token of the second stream at the place of j] in it, before dropout.
 *
 * It keeps a shared sum per shard in the workspace (the gradient of b), so that end_shard has something to do, and its
 * blocks hold two sequences, so that shards end with short blocks.
 */
#ifndef TOY_PROGRAM_H
#define TOY_PROGRAM_H

#include "toy_spec.h"

extern const lh_cpu_program toy_float, toy_double; /* rows are j */
extern const lh_cpu_program toy_drawn;             /* float; rows are drawn; goes with position_range */

extern const lh_cpu_program *const toy_float_list[], *const toy_double_list[], *const toy_drawn_list[];

#endif
