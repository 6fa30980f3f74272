/* Reference biases of the attention logit, written from the papers, independent of the generator; see ref.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

static int get_distance(lh_ref_pair pair) { return abs(pair.query - pair.key); }

double lh_ref_alibi_slope(int head, int heads) {
    int power = 1;
    while (2 * power <= heads) power *= 2;
    if (head < power) return pow(2, -8.0 * (head + 1) / power);
    /* the first, the third, ... of the slopes for 2 * power heads */
    return pow(2, -8.0 * (2 * (head - power) + 1) / (2 * power));
}

double lh_ref_alibi(lh_ref_pair pair) { return -lh_ref_alibi_slope(pair.head, pair.heads) * get_distance(pair); }

double lh_ref_alibi_half_step(lh_ref_pair pair) {
    double half_step = pair.key < pair.query ? 0.5 : 0;
    return lh_ref_alibi_slope(pair.head, pair.heads) * (-get_distance(pair) + half_step);
}

int lh_ref_t5_bucket(lh_ref_pair pair, int buckets, int max_distance) {
    int half = buckets / 2, exact = half / 2, distance = get_distance(pair);
    int first = pair.key > pair.query ? half : 0;
    if (distance < exact) return first + distance;
    double steps = log((double)distance / exact) / log((double)max_distance / exact) * (half - exact);
    int bucket = exact + (int)floor(steps);
    return first + (bucket < half ? bucket : half - 1);
}

double lh_ref_kerple_log(lh_ref_pair pair, double r1, double r2) { return -r1 * log(1 + r2 * get_distance(pair)); }

double lh_ref_kerple_power(lh_ref_pair pair, double r1, double r2) { return -r1 * pow(get_distance(pair), r2); }

double lh_ref_fire(lh_ref_pair pair, const lh_ref_fire_parameters *p) {
    double reach = fmax(pair.query, p->threshold);
    double x = log(p->c * get_distance(pair) + 1) / log(p->c * reach + 1), y = p->output_offset[pair.head];
    for (int k = 0; k < p->width; k++) {
        double hidden = p->input_weight[k] * x + p->input_offset[k];
        if (hidden > 0) y += p->output_weight[k * pair.heads + pair.head] * hidden;
    }
    return y;
}

double lh_ref_sandwich(lh_ref_pair pair, int width) {
    double sum = 0;
    for (int m = 1; m <= width / 2; m++) sum += cos(get_distance(pair) / pow(10000, 2.0 * m / width));
    return sum;
}

double lh_ref_sandwich_by_head(lh_ref_pair pair, int width) {
    return (lh_ref_sandwich(pair, width) - width / 2) / (8.0 * (pair.head + 1) / pair.heads);
}
