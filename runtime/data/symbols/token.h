/* Tokens as files of people write them: a number is an id, a string the name that the alphabet gives it. */
#ifndef LONGHAND_TOKEN_H
#define LONGHAND_TOKEN_H

#include <jansson.h>
#include <stdint.h>

#include "longhand/status.h"

typedef struct lh_alphabet {
    const char *const *names; /* [count], by id */
    int count;
    uint16_t *by_name; /* ids in the order of their names */
} lh_alphabet;

/* names must outlive the alphabet, which is for lh_alphabet_close whatever the outcome. */
lh_status lh_alphabet_open(lh_alphabet *alphabet, const char *const *names, int count, lh_error *error);
void lh_alphabet_close(lh_alphabet *alphabet);

/* The tokens of a JSON list; the first that is none of this alphabet is LH_ERR_INPUT, with `where` (a file and line), the
 * list's key and the place in the message. tokens has room for all. */
lh_status lh_tokens_read(const lh_alphabet *alphabet, const json_t *list, const char *where, const char *key,
                         uint16_t *tokens, lh_error *error);

#endif
