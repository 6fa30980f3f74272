/* A hand-made spec that is small enough to check by eye: bucket sort, two tokens per number, eight tensors in two
 * chunks.
 *
 * The vector of parameters has every feature of the storage: three interleaved (fused) products, a bias, a constant
 * table, gaps, and tensors on both sides of a chunk's border. The spec describes no real model; tests add the functions
 * that they need.
 */
#ifndef LH_TOY_SPEC_H
#define LH_TOY_SPEC_H

#include "longhand/spec.h"

enum {
    TOY_SYMBOLS = 5,
    TOY_START = 5, /* the token before the first of a target */
    TOY_EMPTY = 6, /* the token at which an output is predicted */
    TOY_ROWS = 7,  /* rows of the token embedding */
    TOY_WIDTH = 4,
    TOY_CLASSES = 5,
    TOY_LONGEST = 64, /* tokens; lh_toy_spec.limit */
    TOY_STORAGE = 2 * LH_CHUNK
};

enum { /* index in lh_toy_spec.tensors */
       TOY_TOKEN,
       TOY_POSITION,
       TOY_QUERY,
       TOY_KEY,
       TOY_VALUE,
       TOY_SCALE,
       TOY_OUTPUT,
       TOY_BIAS,
       TOY_TENSORS
};

/* The spec without engines: cpu is NULL. */
extern const lh_spec lh_toy_spec;

/* Returns the toy spec with the given programs for the CPU; NULL: none. */
lh_spec lh_toy_make_spec(const lh_cpu_program *const *cpu);

enum { TOY_PAIR_SOURCE, TOY_PAIR_TARGET, TOY_PAIR_CROSS, TOY_PAIR_SITES, TOY_PAIR_HEADS = 2 };

/* Returns the toy spec with two streams: source is the input, of n tokens; target, of n + 3, is the start, the
 * example's target and two empty tokens. A label belongs to the token before its own in the target stream, so labels
 * are not at the last tokens. Sites: both streams' vectors, and an attention from the target to the source. */
lh_spec lh_toy_make_pair(const lh_cpu_program *const *cpu);

/* The format of dataset files in the two streams, by the lengths of an input and an output. */
extern const lh_format lh_toy_pair_data_format;

#endif
