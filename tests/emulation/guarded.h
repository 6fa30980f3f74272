/* Memory that shows whether its neighbourhood was written: NaN bytes at first, guard zones before and after. With the
 * address sanitizer it has that one's zones instead, which also tell who reads there.
 */
#ifndef LH_TESTS_GUARDED_H
#define LH_TESTS_GUARDED_H

#include <stddef.h>

enum { LH_GUARDED_ALIGNMENT = 256 };

unsigned char *lh_guarded_make(size_t bytes); /* or NULL */
void lh_guarded_free(unsigned char *memory);

/* "written before its start", "written past its end", or NULL: neither. */
const char *lh_guarded_damage(const unsigned char *memory, size_t bytes);

#endif
