/* Memory with guard zones before and after, which show writes out of bounds, and NaN bytes at first. With the address
 * sanitizer the memory has the sanitizer's zones instead, which also detect reads.
 */
#ifndef LH_TESTS_GUARDED_H
#define LH_TESTS_GUARDED_H

#include <stddef.h>

enum { LH_GUARDED_ALIGNMENT = 256 };

unsigned char *lh_guarded_make(size_t bytes); /* or NULL */
void lh_guarded_free(unsigned char *memory);

/* Returns "written before its start", "written past its end", or NULL. */
const char *lh_guarded_damage(const unsigned char *memory, size_t bytes);

#endif
