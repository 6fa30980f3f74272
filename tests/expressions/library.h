/* The library of scores as C: written by library.lua, read by tests/unit/test_library.c. Sizes as in library.lua. */
#ifndef LONGHAND_TESTS_LIBRARY_H
#define LONGHAND_TESTS_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

enum { LAYERS = 2, HEADS = 6, TOKENS = 135, PAIRS = LAYERS * HEADS * TOKENS * TOKENS };

/* A learned parameter: count numbers for each of `layers`, which is 1 if the layers share them. Its initial values:
 * a list, or a number plus a random one with that spread. */
typedef struct library_parameter {
    const char *name;
    int layers, count;
    const double *start;
    double number, spread;
} library_parameter;

typedef struct library_entry {
    const char *name;                    /* name of the preset */
    bool samples_distances;              /* distances are random; else they are differences of indices */
    const library_parameter *parameters; /* ended by a NULL name */
    /* values, gradients: parameter after parameter, layer after layer. sampled[LAYERS]: token 0 has 0. All others
     * [LAYERS][HEADS][keys][queries]. slopes: derivative of the sum of weights times scores by each logit. */
    void (*run)(const double *values, const int32_t (*sampled)[TOKENS], const double *logits, const double *weights,
                double *scores, double *slopes, double *gradients);
} library_entry;

extern const library_entry library_entries[]; /* ended by a NULL name */

#endif
