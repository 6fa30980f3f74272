/* See by_sequence.h. */
#include "eval/by_sequence.h"

#include <math.h>

void lh_spread_add(lh_spread *spread, double value) {
    double difference = value - spread->mean;
    spread->mean += difference / ++spread->count;
    spread->squares += difference * (value - spread->mean);
}

double lh_spread_compute_deviation(const lh_spread *spread) {
    return spread->count > 1 ? sqrt(spread->squares / (spread->count - 1)) : NAN;
}

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

double lh_by_sequence_compute_deviation(const lh_by_sequence *shares, int draws) {
    lh_spread spread = {0};
    for (int i = 0; i < shares->count; i++)
        if (shares->share[i] >= 0) lh_spread_add(&spread, shares->share[i] / draws);
    return lh_spread_compute_deviation(&spread);
}

void lh_compute_wilson(double share, double count, double *low, double *high) {
    /* The centre of the interval is a weighted mean: `share` has the weight 1, and 0.5 has `weight`. */
    double weight = LH_NORMAL_95 * LH_NORMAL_95 / count;
    double centre = (share + weight / 2) / (1 + weight);
    double half_width = sqrt(weight * (share * (1 - share) + weight / 4)) / (1 + weight);
    *low = share <= 0 ? 0 : centre - half_width;
    *high = share >= 1 ? 1 : centre + half_width;
}

void lh_by_example_add(lh_by_example *examples, const lh_sums *sequence_sums, int count) {
    if (examples->sums == NULL) return;
    for (int i = 0; i < count; i++, examples->count++)
        if (examples->count < LH_MAX_LISTED_EXAMPLES) examples->sums[examples->count] = sequence_sums[i];
}

void lh_by_example_write(const lh_by_example *examples, lh_json *line) {
    const lh_sums *sums = examples->sums;
    lh_json json;
    if (sums == NULL || examples->count > LH_MAX_LISTED_EXAMPLES) return;
    for (int i = 0; i < examples->count; i++)
        if (!isfinite(sums[i].uncertainty)) return;
    lh_json_raw(line, "by_example", "");
    lh_json_begin(&json, line->out);
    for (int key = 0; key < 3; key++) {
        lh_json_raw(&json, (const char *const[]){"uncertainty", "correct", "counted"}[key], "[");
        for (int i = 0; i < examples->count; i++) {
            const double values[] = {sums[i].uncertainty, (double)sums[i].correct, (double)sums[i].counted};
            fprintf(json.out, "%s%.9g", i > 0 ? "," : "", values[key]);
        }
        putc(']', json.out);
    }
    lh_json_end(&json);
}
