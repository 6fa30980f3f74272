/* Comparison of a program's decoding with its pass over whole sequences. */
#ifndef LH_DECODING_H
#define LH_DECODING_H

#include "longhand/spec.h"

/* Decodes examples of task length n one token at a time, several tokens at a time, and with sequences that end early.
 * Asserts that all logits have the bits of forward_block's logits for the same tokens. Parameters are random. */
void lh_check_decoding(const lh_spec *spec, const lh_cpu_program *program, int n);

#endif
