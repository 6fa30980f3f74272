/* Reference gradient descent, with and without momentum; see ref.h. */
#include "kernels/ref/ref.h"

double lh_ref_clip(double clip_norm, double gradient_norm) {
    return clip_norm > 0 && gradient_norm >= clip_norm ? clip_norm / gradient_norm : 1;
}

void lh_ref_sgd_update(const lh_ref_sgd *settings, double gradient_norm, int count, const double *gradient,
                       double *parameter) {
    double clip = lh_ref_clip(settings->clip_norm, gradient_norm);
    for (int i = 0; i < count; i++) parameter[i] -= settings->learning_rate * clip * gradient[i];
}

void lh_ref_momentum_update(const lh_ref_sgd *settings, double momentum, double gradient_norm, int count,
                            const double *gradient, double *parameter, double *running) {
    double clip = lh_ref_clip(settings->clip_norm, gradient_norm);
    for (int i = 0; i < count; i++) {
        running[i] = momentum * running[i] + clip * gradient[i];
        parameter[i] -= settings->learning_rate * running[i];
    }
}
