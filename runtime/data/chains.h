/* Carry chains: a digit whose sum or product makes a carry, and the digits above it that pass it on, those whose own carry
 * hangs on the one that comes in. In a sum these are the digits that add up to base - 1. The length of a chain is the
 * number of all these digits.
 *
 * Digits are lowest first. Draws are integer-only: weights have 32 significant bits and an exponent, so that each pair of
 * numbers with a given longest chain is as likely as any other, to a part in 2^20.
 */
#ifndef LONGHAND_CHAINS_H
#define LONGHAND_CHAINS_H

#include <stdbool.h>

#include "longhand/rng.h"
#include "longhand/status.h"

enum { LH_MOST_BASE = 36, LH_MOST_CHAIN_DIGITS = 128 };

/* The longest chain of x + y, or with product of x times the one digit y[0]; 0: there is no carry. */
int lh_longest_chain(int base, bool product, int digits, const uint8_t *x, const uint8_t *y);

typedef struct lh_chains lh_chains;

/* For numbers of at most so many digits, LH_MOST_CHAIN_DIGITS or fewer. LH_ERR_ENVIRONMENT without memory. Whatever the
 * outcome, for lh_chains_close. */
lh_status lh_chains_open(lh_chains **chains, int base, bool product, int digits, lh_error *error);
void lh_chains_close(lh_chains *chains);

/* From here on draws have a longest chain of this many digits, at most those of the numbers. */
void lh_chains_aim(lh_chains *chains, int chain);

/* Draws numbers with exactly so many digits, their highest not 0; the digit y[0] of a product may be any. false: there are
 * none with such a chain. */
bool lh_chains_draw(const lh_chains *chains, lh_rng *rng, int digits, uint8_t *x, uint8_t *y);

#endif
