/* See by_sequence.h. */
#include "eval/by_sequence.h"

#include <math.h>

static const double NORMAL_95 = 1.959963984540054; /* 97.5% quantile of the normal distribution */

void lh_by_sequence_begin(lh_by_sequence *of, int count) {
    of->count = count;
    for (int i = 0; i < count; i++) of->share[i] = -1;
}

void lh_by_sequence_add(lh_by_sequence *of, const lh_sums *each, int first, int count) {
    for (int i = 0; i < count && first + i < of->count; i++) {
        double *share = &of->share[first + i];
        if (each[i].counted == 0) continue;
        if (*share < 0) *share = 0;
        *share += (double)each[i].correct / (double)each[i].counted;
    }
}

double lh_by_sequence_deviation(const lh_by_sequence *of, int draws) {
    double mean = 0, squares = 0; /* Welford's method */
    int asked = 0;
    for (int i = 0; i < of->count; i++) {
        if (of->share[i] < 0) continue;
        double share = of->share[i] / draws, off = share - mean;
        mean += off / ++asked;
        squares += off * (share - mean);
    }
    return asked > 1 ? sqrt(squares / (asked - 1)) : NAN;
}

void lh_wilson(double share, double count, double *low, double *high) {
    double z = NORMAL_95 * NORMAL_95 / count;
    double middle = (share + z / 2) / (1 + z), half = sqrt(z * (share * (1 - share) + z / 4)) / (1 + z);
    *low = share <= 0 ? 0 : middle - half;
    *high = share >= 1 ? 1 : middle + half;
}
