/* Reads and writes elements of arrays in a program's precision, float or double. */
#ifndef LONGHAND_REAL_H
#define LONGHAND_REAL_H

#include <stdint.h>

/* Element i of an array of float (real_bytes 4) or double (8). */
static inline double lh_real_read(const void *array, int real_bytes, int64_t i) {
    return real_bytes == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static inline void lh_real_write(void *array, int real_bytes, int64_t i, double value) {
    if (real_bytes == 8) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
}

#endif
