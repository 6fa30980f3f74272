/* Elementary functions in double precision. Tables and initial values are computed with these functions, so they have
 * the same bits under every libc. Not for inner loops; kernels/cpu/math.h has the vector forms.
 */
#ifndef LONGHAND_MATH_H
#define LONGHAND_MATH_H

#include <stdint.h>

double lh_exp(double x);                                /* error below 1 ulp for |x| < 700 */
double lh_log(double x);                                /* x > 0; error below 1 ulp */
void lh_sincos(double x, double *sine, double *cosine); /* |x| < 2^20; absolute error below 1e-15 */
double lh_power(double base, int64_t n);                /* n >= 0; by repeated squaring */
double lh_normal_quantile(double p);   /* 0 < p < 1; Wichura 1988, AS 241, PPND16; relative error about 1e-16 */
double lh_normal_cumulative(double x); /* |x| <= 8; absolute error below 1e-15 */

#endif
