/* Tokens by the names that the task gives them. */
#ifndef LONGHAND_SYMBOLS_H
#define LONGHAND_SYMBOLS_H

#include <stdint.h>
#include <stdio.h>

/* Prints tokens: run together where every name is one character, else with blanks between. Where mask is 0
 * (mask may be NULL) a name stands in parentheses. */
void lh_print_symbols(FILE *out, const char *const *names, int symbols, const uint16_t *tokens, const uint8_t *mask,
                      int count);

/* Reads tokens from text, the longest name first; blanks are skipped. Returns how many, or -1 - (offset of what is no
 * symbol). tokens has room for strlen(text). */
int lh_read_symbols(const char *const *names, int symbols, const char *text, uint16_t *tokens);

/* "0 1 2 +", or the first of many, for messages. */
enum { LH_SYMBOL_LIST = 400 };
void lh_list_symbols(const char *const *names, int symbols, char text[LH_SYMBOL_LIST]);

#endif
