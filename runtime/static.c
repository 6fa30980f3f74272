/* A replacement for dlopen in static trainers, which are linked with --wrap=dlopen.
 *
 * GNU's OpenMP library searches for plugins of accelerators, which a trainer never uses. The dlopen of a static libc
 * needs the same libc as a shared library at run time, and the linker warns about it. A static trainer loads no
 * library, so this function reports that none is found.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode) {
    (void)file, (void)mode;
    return NULL;
}
