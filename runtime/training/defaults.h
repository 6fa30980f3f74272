/* Defaults of a trainer's flags: a text in the program, defaults.inc of its sources. None of it
 * changes the code, so ./longhand build writes another text over it where nothing else is new. One line for each value
 * that the experiment has, by its name in lh_spec:
 *
 *     longhand defaults 1 16384 0123456789abcdef
 *     train.steps 2000000
 *     train.keep_steps 100,1000
 *     eval.lengths 41:500:1
 *     eval.by digits=1:50:1;vectors=*
 *     eval.sets test,validation
 *     resolved {"encoding":...}
 *
 * The first line has the version of the form, the bytes that the program has for the text, and the first 16 digits of
 * the SHA-256 of the lines behind it. The rest of the room is 0.
 */
#ifndef LONGHAND_DEFAULTS_H
#define LONGHAND_DEFAULTS_H

#include "longhand/spec.h"
#include "longhand/status.h"

enum { LH_DEFAULTS_VERSION = 1, LH_DEFAULTS_LISTS = 5 + 2 * LH_MOST_AXES };

typedef struct lh_defaults {
    lh_spec spec; /* what was given, with the values of the text */
    char *text;   /* resolved points into it */
    void *list[LH_DEFAULTS_LISTS];
    int lists;
} lh_defaults;

/* Reads the text of a spec; one without keeps its values. LH_ERR_INPUT: the text is damaged, or of another version.
 * LH_ERR_STALE: the environment's LONGHAND_DEFAULTS is the digest of another one.
 * Ends with lh_defaults_close, also after an error. */
lh_status lh_defaults_open(lh_defaults *defaults, const lh_spec *spec, lh_error *error);
void lh_defaults_close(lh_defaults *defaults);

#endif
