/* Computes SHA-256 (FIPS 180-4), the digest of bytes, as sha256sum prints it. */
#ifndef LONGHAND_SHA256_H
#define LONGHAND_SHA256_H

#include <stddef.h>

enum { LH_SHA256_TEXT = 65 }; /* 64 hexadecimal digits and a 0 */

void lh_sha256(const void *data, size_t bytes, char text[LH_SHA256_TEXT]);

#endif
