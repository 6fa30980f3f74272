/* Names of flags in other programs. */
#ifndef LONGHAND_USUAL_FLAGS_H
#define LONGHAND_USUAL_FLAGS_H

#include "cli/options.h"

/* The meaning in other programs of `word`, which is no flag of these: one of these flags, perhaps with a value
 * ("--device cuda"), or, *is_field, a field of the spec ("train.batch"). NULL: nothing that is known. */
const char *lh_usual_flag(const char *word, const lh_option *options, int count, bool *is_field);

#endif
