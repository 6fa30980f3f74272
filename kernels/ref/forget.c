/* Reference sums of forget gates; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/scalar.h"

static int get_smaller(int a, int b) { return a < b ? a : b; }

void lh_ref_forget(int tokens, int heads, int sign, const double *gate, double *score) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < tokens; i++)
            for (int j = 0; j < tokens; j++, score++)
                for (int s = get_smaller(i, j) + 1; s <= i || s <= j; s++)
                    *score += log_sigmoid(sign * gate[s * heads + h]);
}

void lh_ref_forget_grad(int tokens, int heads, int sign, const double *gate, const double *dscore, double *dgate) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < tokens; i++)
            for (int j = 0; j < tokens; j++, dscore++)
                for (int s = get_smaller(i, j) + 1; s <= i || s <= j; s++)
                    dgate[s * heads + h] += *dscore * sign * sigmoid(-sign * gate[s * heads + h]);
}
