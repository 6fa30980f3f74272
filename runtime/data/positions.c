/* See longhand/positions.h. */
#include "longhand/positions.h"

#include <string.h>

#include "longhand/timings.h"

/* Draws Floyd's subset. scratch[i]: whether the subset has i. Source: Bentley and Floyd 1987, "A sample of brilliance",
 * algorithm F2. */
static void draw_sorted(lh_rng *rng, int first, int range, int count, int32_t *out, int32_t *scratch) {
    for (int i = 0; i < range; i++) scratch[i] = 0;
    for (int j = range - count; j < range; j++) {
        int t = (int)lh_rng_below(rng, (uint32_t)j + 1);
        scratch[scratch[t] ? j : t] = 1;
    }
    for (int i = 0, written = 0; written < count; i++)
        if (scratch[i]) out[written++] = first + i;
}

/* Makes the first count steps of a Fisher-Yates shuffle. */
static void draw_unsorted(lh_rng *rng, int first, int range, int count, int32_t *out, int32_t *scratch) {
    for (int i = 0; i < range; i++) scratch[i] = i;
    for (int i = 0; i < count; i++) {
        int j = i + (int)lh_rng_below(rng, (uint32_t)(range - i));
        int32_t sampled = scratch[j];
        scratch[j] = scratch[i];
        out[i] = first + sampled;
    }
}

/* Places of the random numbers of one kind of draw (longhand/rng.h). */
typedef struct places {
    uint32_t in_evaluation, in_training;
} places;

static const places POSITIONS = {.in_evaluation = LH_PLACE_POSITIONS, .in_training = LH_PLACE_DRAWN_POSITIONS};
static const places DISTANCES = {.in_evaluation = LH_PLACE_DISTANCES, .in_training = LH_PLACE_DRAWN_DISTANCES};
static const places LEFT_DISTANCES = {.in_evaluation = LH_PLACE_LEFT, .in_training = LH_PLACE_DRAWN_LEFT};

static lh_rng make_rng(const lh_draw *draw, uint32_t layer, const places *kind) {
    const uint32_t place = draw->domain == LH_DOMAIN_POSITIONS ? kind->in_training : kind->in_evaluation;
    return lh_rng_at(draw->key, draw->step, draw->example, lh_site(draw->domain, layer, place));
}

static void draw_positions(lh_rng *rng, int first, int range, int count, bool is_sorted, int32_t *out,
                           int32_t *scratch) {
    if (is_sorted) draw_sorted(rng, first, range, count, out, scratch);
    else draw_unsorted(rng, first, range, count, out, scratch);
}

void lh_draw_positions(const lh_draw *draw, uint32_t layer, int first, int range, int count, bool is_sorted,
                       int32_t *out, int32_t *scratch) {
    LH_TIMED(LH_PART_SAMPLING);
    lh_rng rng = make_rng(draw, layer, &POSITIONS);
    draw_positions(&rng, first, range, count, is_sorted, out, scratch);
}

void lh_draw_sequence(const lh_draw *draw, uint32_t stream, uint32_t sequence, int first, int range, int count,
                      bool is_sorted, int32_t *out, int32_t *scratch) {
    LH_TIMED(LH_PART_SAMPLING);
    uint32_t site = draw->domain != LH_DOMAIN_POSITIONS
                        ? lh_site(draw->domain, draw->example, LH_PLACE_SEQUENCE + stream)
                        : lh_site(draw->domain, stream, LH_PLACE_DRAWN_POSITIONS);
    lh_rng rng = lh_rng_at(draw->key, draw->step, sequence, site);
    draw_positions(&rng, first, range, count, is_sorted, out, scratch);
}

void lh_draw_distances(const lh_draw *draw, uint32_t layer, int range, int count, int32_t *out, int32_t *scratch) {
    LH_TIMED(LH_PART_SAMPLING);
    lh_rng rng = make_rng(draw, layer, &DISTANCES);
    out[0] = 0;
    draw_sorted(&rng, 1, range - 1, count - 1, out + 1, scratch);
}

void lh_draw_signed_distances(const lh_draw *draw, uint32_t layer, int range, int count, int32_t *middle,
                              int32_t *scratch) {
    LH_TIMED(LH_PART_SAMPLING);
    lh_rng rng = make_rng(draw, layer, &LEFT_DISTANCES);
    int32_t *left = middle - (count - 1);
    draw_sorted(&rng, 1, range - 1, count - 1, left, scratch);
    for (int i = 0; i < (count - 1) / 2; i++) { /* reverse: the farthest comes first */
        int32_t nearer = left[i];
        left[i] = left[count - 2 - i];
        left[count - 2 - i] = nearer;
    }
    for (int i = 0; i < count - 1; i++) left[i] = -left[i];
    lh_draw_distances(draw, layer, range, count, middle, scratch);
}

void lh_draw_or_copy_positions(const int32_t *positions, const lh_draw *draw, uint32_t layer, int first, int range,
                               int count, bool is_sorted, int32_t *out, int32_t *scratch) {
    if (positions) memcpy(out, positions, (size_t)count * sizeof *out);
    else lh_draw_positions(draw, layer, first, range, count, is_sorted, out, scratch);
}

void lh_draw_or_copy_distances(const int32_t *distances, const lh_draw *draw, uint32_t layer, int range, int count,
                               int32_t *out, int32_t *scratch) {
    if (distances) memcpy(out, distances, (size_t)count * sizeof *out);
    else lh_draw_distances(draw, layer, range, count, out, scratch);
}

void lh_draw_or_copy_signed_distances(const int32_t *distances, const lh_draw *draw, uint32_t layer, int range,
                                      int count, int32_t *middle, int32_t *scratch) {
    for (int i = 0; distances && i < count; i++) {
        middle[i] = distances[i];
        middle[-i] = -distances[i];
    }
    if (!distances) lh_draw_signed_distances(draw, layer, range, count, middle, scratch);
}

/* Returns a pair's distance, clipped to [low, high], minus low. */
static int rank_distance(const int32_t *position, const int32_t *key_position, int query, int key, int low, int high) {
    int distance = key_position[key] - position[query], clipped = distance < high ? distance : high;
    return (clipped > low ? clipped : low) - low;
}

void lh_sort_pairs(const int32_t *position, const int32_t *key_position, int T, int S, int low, int high,
                   bool lists_all, int max_distances, int32_t *rank, int32_t *out) {
    int32_t *distances = out + 1, *index = distances + max_distances, *start = index + (size_t)T * (size_t)S;
    int32_t *pair = start + max_distances + 1;
    int count = 0, first_pair = 0;
    memset(rank, 0, (size_t)(high - low + 2) * sizeof *rank);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < S; j++) rank[rank_distance(position, key_position, i, j, low, high)]++;
    /* So far rank[r] counts the pairs of rank r. The next loop turns rank[r] into an index in `distances`. */
    for (int r = 0; r <= high - low; r++) {
        const int pairs = rank[r];
        if (pairs == 0 && !lists_all) continue;
        distances[count] = low + r;
        start[count] = first_pair;
        first_pair += pairs;
        rank[r] = count++;
    }
    start[count] = first_pair;
    out[0] = count;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < S; j++) index[j * T + i] = rank[rank_distance(position, key_position, i, j, low, high)];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < S; j++) pair[start[index[j * T + i]]++] = i * S + j;
    /* The loop above has moved every start to the next distance's start. */
    for (int i = count; i > 0; i--) start[i] = start[i - 1];
    start[0] = 0;
}
