/* Measures carry chains, and draws numbers by the length of their longest chain. A chain begins at a place whose digits
 * alone make a carry. It continues at the places above as long as each propagates the carry, that is, has a greater
 * carry because of the incoming one. A sum propagates a carry at places where x + y = base - 1. The length of a chain
 * is its number of places.
 *
 * Digits are lowest first. Draws use integers only: weights have 32 significant bits and an exponent. All pairs of
 * numbers with a given longest chain are nearly equally likely: probabilities of digits are off by less than 2^-17.
 */
#ifndef LONGHAND_CHAINS_H
#define LONGHAND_CHAINS_H

#include <stdbool.h>

#include "longhand/rng.h"
#include "longhand/status.h"

enum { LH_MAX_BASE = 36, LH_MAX_CHAIN_DIGITS = 128 };

/* The length of the longest chain of x + y or, with is_product, of x times the single digit y[0]; 0: no carry. */
int lh_find_longest_chain(int base, bool is_product, int digits, const uint8_t *x, const uint8_t *y);

typedef struct lh_chains lh_chains;

/* Prepares to draw pairs of numbers or, with is_product, a number and a digit. digits: the maximum digit count, at most
 * LH_MAX_CHAIN_DIGITS. LH_ERR_ENVIRONMENT: out of memory. Call lh_chains_close also after an error. */
lh_status lh_chains_open(lh_chains **chains, int base, bool is_product, int digits, lh_error *error);
void lh_chains_close(lh_chains *chains);

/* Sets the length of the longest chain of later draws, at most `digits` of lh_chains_open. */
void lh_chains_set_length(lh_chains *chains, int chain);

/* Draws numbers with exactly `digits` digits, the highest not 0; y[0] of a product may be any digit. false: no numbers
 * have a longest chain of the set length. */
bool lh_chains_draw(const lh_chains *chains, lh_rng *rng, int digits, uint8_t *x, uint8_t *y);

#endif
