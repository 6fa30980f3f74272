/* Unpacks the content of files that gzip has compressed. */
#ifndef LONGHAND_UNPACK_H
#define LONGHAND_UNPACK_H

#include <stddef.h>

#include "longhand/status.h"

/* Unpacks *data, the content of a file that gzip has compressed: frees it and sets *data to the unpacked content, which
 * the caller frees and which ends with an extra 0. Content that does not begin as gzip's does is left unchanged. path:
 * the file, for messages; max_bytes: limit for the size of the unpacked content. The program gzip, found in PATH,
 * unpacks a copy of these bytes, so a file that changes meanwhile has no effect. LH_ERR_INPUT: the content is truncated
 * or damaged, bytes follow the compressed data, or the unpacked content is longer than max_bytes;
 * LH_ERR_ENVIRONMENT: there is no gzip, a signal ended gzip, or out of memory. *data stays unchanged after an error. */
lh_status lh_unpack(const char *path, size_t max_bytes, char **data, size_t *bytes, lh_error *error);

#endif
