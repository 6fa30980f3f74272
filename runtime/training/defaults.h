/* Parses the defaults of a trainer's flags. They are a text in the program, made from defaults.inc. If only this text
 * has changed, ./longhand build overwrites it in the program. Each line has a field of lh_spec and its value. A switch
 * that is off has no line. An example:
 *
 *     longhand defaults 1 16384 0123456789abcdef
 *     train.steps 2000000
 *     train.keep_steps 100,1000
 *     eval.lengths 41:500:1
 *     eval.by digits=1:50:1;vectors=*
 *     eval.sets test,validation
 *     resolved {"encoding":...}
 *
 * The first line has the version of the format, the size of the text's buffer in bytes, and the first 16 digits of the
 * SHA-256 of the following lines. The rest of the buffer is 0.
 */
#ifndef LONGHAND_DEFAULTS_H
#define LONGHAND_DEFAULTS_H

#include "longhand/spec.h"
#include "longhand/status.h"

enum { LH_DEFAULTS_VERSION = 1, LH_DEFAULTS_LISTS = 5 + 2 * LH_MAX_AXES /* maximum number of lists in a text */ };

typedef struct lh_defaults {
    lh_spec spec;                  /* a copy of the given spec with the values of the text */
    char *text;                    /* a copy of the text, into which fields of spec point */
    void *list[LH_DEFAULTS_LISTS]; /* [lists] arrays of numbers to which fields of spec point */
    int lists;
} lh_defaults;

/* Parses the text of a spec. A spec without text keeps its values. Call lh_defaults_close also after an error.
 *
 *     LH_ERR_INPUT        the text is damaged or of another version
 *     LH_ERR_STALE        the environment variable LONGHAND_DEFAULTS is the digest of another text
 *     LH_ERR_ENVIRONMENT  out of memory
 */
lh_status lh_defaults_open(lh_defaults *defaults, const lh_spec *spec, lh_error *error);
void lh_defaults_close(lh_defaults *defaults);

#endif
