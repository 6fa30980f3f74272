/* Decoding by a program against its pass over whole sequences. */
#ifndef LH_DECODING_H
#define LH_DECODING_H

#include "longhand/spec.h"

/* Asserts that the program decodes examples of task length n to the bits of the logits that forward_block gives for the
 * same tokens: one token at a time, several, and with sequences that end on the way. Parameters are any. */
void lh_check_decoding(const lh_spec *spec, const lh_cpu_program *program, int n);

#endif
