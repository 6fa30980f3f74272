/* Linked into static trainers only, with --wrap=dlopen: what a call of dlopen reaches there.
 *
 * GNU's OpenMP library looks for plugins of accelerators with it, which a trainer never asks for. The dlopen of a static
 * libc needs that very libc as a shared library at run time, of which the linker warns at every link. A static trainer
 * loads nothing, so this one finds nothing.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode) {
    (void)file, (void)mode;
    return NULL;
}
