/* Random positions: Ruoss et al. 2023, section 3.
 *
 *   out      [count] written; distinct integers from {first, ..., first + range - 1}
 *   scratch  [range] overwritten
 *
 * Uniform over all subsets (sorted: ascending) or over all orders (unsorted). One draw is a pure function of draw and
 * layer, which enters the counter's site: 0 for a draw per pass, l + 1 for block l. Requires count <= range.
 *
 * The numbers are the contract, on every target: sorted draws are Floyd's subsets (Bentley and Floyd 1987, F2), unsorted
 * ones the first steps of a Fisher-Yates shuffle, one word of the stream per position, in order.
 */
#ifndef LONGHAND_POSITIONS_H
#define LONGHAND_POSITIONS_H

#include <stdbool.h>

#include "longhand/cpu.h"

void lh_draw_positions(const lh_draw *draw, uint32_t layer, int first, int range, int count, bool sorted, int32_t *out,
                       int32_t *scratch);

/* Random distances for sequences of `count` tokens: out[0] = 0, then a sorted draw of count - 1 from
 * {1, ..., range - 1}; out[d] is for tokens d apart. At a site of its own: a step may draw both. */
void lh_draw_distances(const lh_draw *draw, uint32_t layer, int range, int count, int32_t *out, int32_t *scratch);

/* Both sides drawn independently: middle[d] = lh_draw_distances' of this site for d = 0 .. count - 1, and middle[-d] is
 * minus the one of another. */
void lh_draw_signed_distances(const lh_draw *draw, uint32_t layer, int range, int count, int32_t *middle,
                              int32_t *scratch);

/* Positions of a stream of one sequence, number `sequence` of the batch, at a site of its own. In evaluation the draw's
 * example, its index, is below LH_MOST_DRAWS. */
void lh_draw_sequence(const lh_draw *draw, uint32_t stream, uint32_t sequence, int first, int range, int count,
                      bool sorted, int32_t *out, int32_t *scratch);

#endif
