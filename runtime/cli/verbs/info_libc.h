/* Finds the C library that a trainer needs on another machine. */
#ifndef LONGHAND_CLI_INFO_LIBC_H
#define LONGHAND_CLI_INFO_LIBC_H

#include <stddef.h>

/* Writes the lowest version of glibc that has all functions of this program, such as "2.34". Writes "" if the program
 * is linked statically or to another C library. */
void lh_info_find_libc(char *text, size_t size);

#endif
