/* Reads tokens from JSON: a number is an id, a string is a name in the alphabet. */
#ifndef LONGHAND_TOKEN_H
#define LONGHAND_TOKEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "longhand/status.h"

typedef struct lh_alphabet {
    const char *const *names; /* [count], by id */
    int count;
    uint16_t *by_name; /* [count] ids in the order of their names */
} lh_alphabet;

/* Makes the alphabet of `count` names, which must outlive it. Call lh_alphabet_close also after an error. */
lh_status lh_alphabet_open(lh_alphabet *alphabet, const char *const *names, int count, lh_error *error);
void lh_alphabet_close(lh_alphabet *alphabet);

/* Whether the text, which need not end with 0, is a name in the alphabet. */
bool lh_alphabet_has(const lh_alphabet *alphabet, const char *text, size_t bytes);

/* Replaces every null in the list "target" by token 0 and sets its mask to 0.
 * The list "mask" must be as long as "target". A missing list is made for the first null.
 * Returns false: no memory. */
bool lh_mask_null_targets(json_t *object);

/* Reads the tokens of a JSON list; tokens must hold all. LH_ERR_INPUT: an element is not in the alphabet; the message
 * has `location` (file and line), the list's key and the element's index. */
lh_status lh_tokens_read(const lh_alphabet *alphabet, const json_t *list, const char *location, const char *key,
                         uint16_t *tokens, lh_error *error);

#endif
