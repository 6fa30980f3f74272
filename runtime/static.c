/* A replacement for dlopen in static trainers, which are linked with --wrap=dlopen.
 *
 * GNU's OpenMP library calls dlopen to find plugins of accelerators. Trainers never use these plugins. The linker warns
 * about the dlopen of a static libc, which needs a shared libc of the same version at run time.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode) {
    (void)file, (void)mode;
    return NULL;
}
