/* Random positions and distances of tokens. Source: Ruoss et al. 2023, section 3.
 *
 *   out      [count] written; distinct integers from {first, ..., first + range - 1}
 *   scratch  [range] overwritten
 *
 * Sorted draws (samples) are uniform over all subsets of `count` integers, in ascending order; unsorted draws are
 * uniform over all sequences of `count` distinct integers. A draw is a pure function of `draw` and `layer`. `layer` is
 * a field of the counter's site: 0 if a pass has one draw for all blocks, l + 1 for the draw of block l. Requires count
 * <= range. is_sorted selects sorted draws.
 *
 * The algorithms are fixed, so every target draws the same numbers. Sorted draws use Floyd's subsets (Bentley and Floyd
 * 1987, F2), unsorted draws the first steps of a Fisher-Yates shuffle; both use one word of the random stream per
 * position, in order.
 */
#ifndef LONGHAND_POSITIONS_H
#define LONGHAND_POSITIONS_H

#include <stdbool.h>

#include "longhand/cpu.h"

void lh_draw_positions(const lh_draw *draw, uint32_t layer, int first, int range, int count, bool is_sorted,
                       int32_t *out, int32_t *scratch);

/* Draws random distances for sequences of `count` tokens: out[0] = 0, then a sorted draw of count - 1 numbers from {1,
 * ..., range - 1}; out[d] is the distance of tokens d apart. The site differs from the site of positions, because a
 * step may draw both. */
void lh_draw_distances(const lh_draw *draw, uint32_t layer, int range, int count, int32_t *out, int32_t *scratch);

/* Draws distances to the right and to the left independently: middle[0 .. count - 1] is written as lh_draw_distances
 * writes it, and middle[-d] is the negative of a distance from a second draw, at another site. */
void lh_draw_signed_distances(const lh_draw *draw, uint32_t layer, int range, int count, int32_t *middle,
                              int32_t *scratch);

/* Draws positions for one stream of the sequence with this index in the batch; the counter contains stream and index.
 * In evaluation draw->example, the index of the draw, is below LH_MOST_DRAWS. */
void lh_draw_sequence(const lh_draw *draw, uint32_t stream, uint32_t sequence, int first, int range, int count,
                      bool is_sorted, int32_t *out, int32_t *scratch);

/* The next three functions copy the positions or distances from the caller, or draw them if the caller gives NULL. The
 * third function also writes the negated distances, for tokens to the left. */
void lh_draw_or_copy_positions(const int32_t *positions, const lh_draw *draw, uint32_t layer, int first, int range,
                               int count, bool is_sorted, int32_t *out, int32_t *scratch);
void lh_draw_or_copy_distances(const int32_t *distances, const lh_draw *draw, uint32_t layer, int range, int count,
                               int32_t *out, int32_t *scratch);
void lh_draw_or_copy_signed_distances(const int32_t *distances, const lh_draw *draw, uint32_t layer, int range,
                                      int count, int32_t *middle, int32_t *scratch);

/* Sorts the pairs of T queries and S keys by distance: the key's position minus the query's, limited to [low, high].
 *
 *   position, key_position  [T], [S] positions of queries and keys
 *   lists_all      whether each number of [low, high] is listed as a distance; else only distances that occur
 *   max_distances  an upper bound of the number of listed distances
 *   rank           [high - low + 2] scratch, overwritten
 *   out            written, one array after the other:
 *     count                     number of listed distances
 *     distances[max_distances]  the listed distances, ascending
 *     index[S][T]               index in `distances` of the pair's distance
 *     start[max_distances + 1]  index in `pairs` at which the pairs of a distance begin; start[count] = T * S
 *     pairs[T * S]              query * S + key of every pair, by distance
 */
void lh_sort_pairs(const int32_t *position, const int32_t *key_position, int T, int S, int low, int high,
                   bool lists_all, int max_distances, int32_t *rank, int32_t *out);

#endif
