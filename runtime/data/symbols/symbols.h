/* Converts tokens to text and back, by the names of a task's symbols. */
#ifndef LONGHAND_SYMBOLS_H
#define LONGHAND_SYMBOLS_H

#include <stdint.h>
#include <stdio.h>

#include "longhand/status.h"

/* Prints the names of tokens, without separators if every name is one byte, else separated by blanks. names: [symbols].
 * The name of a token with mask 0 is in parentheses; mask may be NULL. */
void lh_print_symbols(FILE *out, const char *const *names, int symbols, const uint16_t *tokens, const uint8_t *mask,
                      int count);

/* Writes what lh_print_symbols prints to a text that the caller frees. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_write_symbols(const char *const *names, int symbols, const uint16_t *tokens, const uint8_t *mask,
                           int count, char **text, lh_error *error);

/* Reads tokens from text; the longest matching name wins; blanks that are not symbols are skipped. Returns the number
 * of tokens or, if some text is not a symbol, -1 - (its offset). tokens must hold strlen(text) elements. */
int lh_read_symbols(const char *const *names, int symbols, const char *text, uint16_t *tokens);

/* Writes a list of symbols for messages, such as "0 1 2 +"; a long list is cut. */
enum { LH_SYMBOL_LIST = 400 };
void lh_list_symbols(const char *const *names, int symbols, char text[LH_SYMBOL_LIST]);

#endif
