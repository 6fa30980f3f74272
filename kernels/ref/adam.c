/* Reference Adam and AdamW; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"

void lh_ref_adam_update(const lh_ref_adam *settings, int64_t step, double gradient_norm, int count,
                        const double *gradient, double *parameter, double *first, double *second) {
    double clip = lh_ref_clip(settings->clip_norm, gradient_norm);
    double correct1 = 1 - pow(settings->beta1, (double)step), correct2 = 1 - pow(settings->beta2, (double)step);
    for (int i = 0; i < count; i++) {
        double g = gradient[i] * clip;
        first[i] = settings->beta1 * first[i] + (1 - settings->beta1) * g;
        second[i] = settings->beta2 * second[i] + (1 - settings->beta2) * g * g;
        double m = first[i] / correct1, v = second[i] / correct2;
        parameter[i] -= settings->learning_rate * m / (sqrt(v) + settings->epsilon);
    }
}

void lh_ref_adamw_update(const lh_ref_adam *settings, double decay, int64_t step, double gradient_norm, int count,
                         const double *gradient, double *parameter, double *first, double *second) {
    for (int i = 0; i < count; i++) parameter[i] *= 1 - settings->learning_rate * decay;
    lh_ref_adam_update(settings, step, gradient_norm, count, gradient, parameter, first, second);
}
