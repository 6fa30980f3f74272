/* See by_sequence.h. */
#include "eval/by_sequence.h"

#include <math.h>

static const double NORMAL_95 = 1.959963984540054; /* 97.5% quantile of the normal distribution */

void lh_by_sequence_begin(lh_by_sequence *shares, int count) {
    shares->count = count;
    for (int i = 0; i < count; i++) shares->share[i] = -1;
}

void lh_by_sequence_add(lh_by_sequence *shares, const lh_sums *sequence_sums, int first, int count) {
    for (int i = 0; i < count && first + i < shares->count; i++) {
        double *share = &shares->share[first + i];
        if (sequence_sums[i].counted == 0) continue;
        if (*share < 0) *share = 0;
        *share += (double)sequence_sums[i].correct / (double)sequence_sums[i].counted;
    }
}

double lh_by_sequence_deviation(const lh_by_sequence *shares, int draws) {
    double mean = 0, squares = 0; /* Welford's method */
    int counted_sequences = 0;
    for (int i = 0; i < shares->count; i++) {
        if (shares->share[i] < 0) continue;
        double share = shares->share[i] / draws, difference = share - mean;
        mean += difference / ++counted_sequences;
        squares += difference * (share - mean);
    }
    return counted_sequences > 1 ? sqrt(squares / (counted_sequences - 1)) : NAN;
}

void lh_compute_wilson(double share, double count, double *low, double *high) {
    double z = NORMAL_95 * NORMAL_95 / count;
    double middle = (share + z / 2) / (1 + z), half = sqrt(z * (share * (1 - share) + z / 4)) / (1 + z);
    *low = share <= 0 ? 0 : middle - half;
    *high = share >= 1 ? 1 : middle + half;
}
