/* Translates common flags of other programs. */
#ifndef LONGHAND_USUAL_FLAGS_H
#define LONGHAND_USUAL_FLAGS_H

#include "cli/options.h"

/* Translates `word`, a flag that other programs have, to one of the options, perhaps with a value ("--device cuda"), or
 * to a field of the spec ("train.batch"; *is_field becomes true). NULL: the word is unknown, or its meaning is not
 * among the options. */
const char *lh_find_usual_flag(const char *word, const lh_option *options, int count, bool *is_field);

#endif
