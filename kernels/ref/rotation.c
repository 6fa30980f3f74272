/* Reference sinusoid and rotation; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"

void lh_ref_sinusoid(int width, double position, double *out) {
    for (int m = 0; m < width / 2; m++) {
        double angle = position * pow(10000.0, -2.0 * m / width);
        out[m] = sin(angle);
        out[width / 2 + m] = cos(angle);
    }
}

/* Returns the share of the unscaled rotation in a pair's rotation: 0 for slow pairs, 1 for fast pairs. */
static double compute_yarn_share(const lh_ref_rope *rope, double speed) {
    double wavelength = 2 * acos(-1.0) / speed, turns = rope->original_length / wavelength;
    if (turns < rope->beta_slow) return 0;
    if (turns > rope->beta_fast) return 1;
    return (turns - rope->beta_slow) / (rope->beta_fast - rope->beta_slow);
}

double lh_ref_rotation_speed(const lh_ref_rope *rope, int head_width, int m) {
    double D = head_width, speed = pow(rope->base, -2 * m / D);
    switch (rope->scaling) {
    case LH_REF_UNSCALED: return speed;
    case LH_REF_LINEAR: return speed / rope->factor;
    case LH_REF_NTK: return pow(rope->base * pow(rope->factor, D / (D - 2)), -2 * m / D);
    case LH_REF_YARN: break;
    }
    double unchanged_share = compute_yarn_share(rope, speed);
    return (1 - unchanged_share) * speed / rope->factor + unchanged_share * speed;
}

void lh_ref_rotation(int tokens, int head_width, const lh_ref_rope *rope, const int32_t *positions, double *cosine,
                     double *sine) {
    double factor = rope->scaling == LH_REF_YARN ? rope->attention_factor : 1;
    for (int t = 0; t < tokens; t++) {
        for (int m = 0; m < head_width / 2; m++) {
            double angle = positions[t] * lh_ref_rotation_speed(rope, head_width, m);
            cosine[t * (head_width / 2) + m] = factor * cos(angle);
            sine[t * (head_width / 2) + m] = factor * sin(angle);
        }
    }
}

/* Rotates the pairs of x; direction: 1, or -1 to rotate back. */
static void rotate(int tokens, int heads, int rotated_heads, int head_width, const double *cosine, const double *sine,
                   double direction, double *x) {
    int pairs = head_width / 2;
    for (int t = 0; t < tokens; t++) {
        for (int h = 0; h < (rotated_heads > 0 ? rotated_heads : heads); h++) {
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

void lh_ref_rotate(int tokens, int heads, int rotated_heads, int head_width, const double *cosine, const double *sine,
                   double *x) {
    rotate(tokens, heads, rotated_heads, head_width, cosine, sine, 1, x);
}

void lh_ref_unrotate(int tokens, int heads, int rotated_heads, int head_width, const double *cosine, const double *sine,
                     double *x) {
    rotate(tokens, heads, rotated_heads, head_width, cosine, sine, -1, x);
}
