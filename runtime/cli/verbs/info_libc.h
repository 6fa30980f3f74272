/* The C library that a trainer needs on another machine. */
#ifndef LONGHAND_CLI_INFO_LIBC_H
#define LONGHAND_CLI_INFO_LIBC_H

#include <stddef.h>

/* The lowest version of glibc that has all that this program calls of it, "2.34"; empty where it is linked statically,
 * or to another library. */
void lh_info_libc(char *text, size_t size);

#endif
