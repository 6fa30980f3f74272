/* A hand-made lh_cpu_program for toy_spec: small and slow, with all features that an engine must support.
 *
 * For label j of a sequence with n input tokens:
 *
 *     m = mean of E[token] over the input             E: embed.token.weight
 *     h = dropout(m * scale + P[row of j])            P: embed.position.weight, constant; row j, or random
 *     logits = h W + b                                cross-entropy, Adam
 *
 * With two streams (lh_toy_make_pair) h also has E[the second stream's token with label j], before dropout.
 *
 * The program sums the gradient of b per shard in the workspace, so that end_shard is needed. Its blocks hold at most
 * two sequences, so that shards end with short blocks.
 */
#ifndef TOY_PROGRAM_H
#define TOY_PROGRAM_H

#include "toy_spec.h"

extern const lh_cpu_program toy_float, toy_double; /* row j of P */
extern const lh_cpu_program toy_drawn;             /* float; random rows, for specs with position_range */

extern const lh_cpu_program *const toy_float_list[], *const toy_double_list[], *const toy_drawn_list[];

#endif
