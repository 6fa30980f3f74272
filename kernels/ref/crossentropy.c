/* Reference cross-entropy; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"

double lh_ref_cross_entropy(int rows, int classes, const double *logits, const uint16_t *labels, double loss_scale,
                            double *dlogits) {
    double loss = 0;
    for (int m = 0; m < rows; m++, logits += classes) {
        double max_logit = logits[0], sum = 0;
        for (int v = 1; v < classes; v++) max_logit = fmax(max_logit, logits[v]);
        for (int v = 0; v < classes; v++) sum += exp(logits[v] - max_logit);
        loss += max_logit + log(sum) - logits[labels[m]];
        if (!dlogits) continue;
        for (int v = 0; v < classes; v++)
            dlogits[m * classes + v] = loss_scale * (exp(logits[v] - max_logit) / sum - (v == labels[m]));
    }
    return loss;
}
