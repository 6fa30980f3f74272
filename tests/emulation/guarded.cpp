#include "guarded.h"

#include <stdlib.h>
#include <string.h>

#include "sanitizer.h"

#ifdef LH_ADDRESS_SANITIZER
enum { GUARD_BYTES = 0 };
#else
enum { GUARD_BYTES = 512 };
#endif
enum { GUARD = 0xa5, UNSET = 0xff };

unsigned char *lh_guarded_make(size_t bytes) {
    void *memory;
    if (posix_memalign(&memory, LH_GUARDED_ALIGNMENT, GUARD_BYTES + bytes + GUARD_BYTES) != 0) return NULL;
    unsigned char *first = static_cast<unsigned char *>(memory) + GUARD_BYTES;
    memset(memory, GUARD, GUARD_BYTES);
    memset(first, UNSET, bytes);
    memset(first + bytes, GUARD, GUARD_BYTES);
    return first;
}

void lh_guarded_free(unsigned char *memory) {
    if (memory) free(memory - GUARD_BYTES);
}

/* Whether a zone is unchanged: its first byte is GUARD, and all bytes are equal. */
static bool is_untouched(const unsigned char *zone) {
    return GUARD_BYTES == 0 || (zone[0] == GUARD && memcmp(zone, zone + 1, GUARD_BYTES - 1) == 0);
}

const char *lh_guarded_find_damage(const unsigned char *memory, size_t bytes) {
    if (!is_untouched(memory - GUARD_BYTES)) return "written before its start";
    return is_untouched(memory + bytes) ? NULL : "written past its end";
}
