/* Fibres: stacks of their own that run in turn on one thread of the system. The host enters a fibre; the fibre leaves
 * and is entered again where it left. Known to the address sanitizer.
 */
#ifndef LH_TESTS_FIBRE_H
#define LH_TESTS_FIBRE_H

#include <stddef.h>

struct lh_fibre;

/* Makes sure of `count` fibres, each with a stack that ends in a page which cannot be touched. false: no memory. */
bool lh_fibre_reserve(size_t count);
lh_fibre *lh_fibre_at(size_t index);

/* The next lh_fibre_enter starts `run` on an empty stack; run must never return. What the stack held is lost. */
void lh_fibre_start(lh_fibre *fibre, void (*run)(void));

void lh_fibre_enter(lh_fibre *fibre);
void lh_fibre_leave(lh_fibre *fibre, bool for_good);

#endif
