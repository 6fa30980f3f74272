/* Reference sinusoid and rotation; see ref.h. */
#include <math.h>

#include "ref/ref.h"

void lh_ref_sinusoid(int width, double position, double *out) {
    for (int m = 0; m < width / 2; m++) {
        double angle = position * pow(10000.0, -2.0 * m / width);
        out[m] = sin(angle);
        out[width / 2 + m] = cos(angle);
    }
}

void lh_ref_rotation(int tokens, int head_width, double base, const int32_t *positions, double *cosine, double *sine) {
    for (int t = 0; t < tokens; t++) {
        for (int m = 0; m < head_width / 2; m++) {
            double angle = positions[t] * pow(base, -2.0 * m / head_width);
            cosine[t * (head_width / 2) + m] = cos(angle);
            sine[t * (head_width / 2) + m] = sin(angle);
        }
    }
}

/* direction: 1 turns, -1 turns back. */
static void turn(int tokens, int heads, int head_width, const double *cosine, const double *sine, double direction,
                 double *x) {
    int pairs = head_width / 2;
    for (int t = 0; t < tokens; t++) {
        for (int h = 0; h < heads; h++) {
            for (int m = 0; m < pairs; m++) {
                double *pair = x + (t * heads + h) * head_width + 2 * m;
                double c = cosine[t * pairs + m], s = direction * sine[t * pairs + m];
                double even = pair[0], odd = pair[1];
                pair[0] = even * c - odd * s;
                pair[1] = odd * c + even * s;
            }
        }
    }
}

void lh_ref_rotate(int tokens, int heads, int head_width, const double *cosine, const double *sine, double *x) {
    turn(tokens, heads, head_width, cosine, sine, 1, x);
}

void lh_ref_unrotate(int tokens, int heads, int head_width, const double *cosine, const double *sine, double *x) {
    turn(tokens, heads, head_width, cosine, sine, -1, x);
}
