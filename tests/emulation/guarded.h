/* Memory with guard zones before and after it, which show writes out of bounds. Its bytes are those of NaN at first.
 * With the address sanitizer it has the sanitizer's zones instead, which also detect reads. */
#ifndef LH_TESTS_GUARDED_H
#define LH_TESTS_GUARDED_H

#include <stddef.h>

enum { LH_GUARDED_ALIGNMENT = 256 };

unsigned char *lh_guarded_make(size_t bytes); /* NULL: out of memory */
void lh_guarded_free(unsigned char *memory);

/* Returns "written before its start", "written past its end", or NULL if the zones are unchanged. */
const char *lh_guarded_find_damage(const unsigned char *memory, size_t bytes);

#endif
