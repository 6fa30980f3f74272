/* Writes files in the safetensors format, and reads them strictly.
 *
 * File: u64 little-endian header length, JSON header padded with blanks to a multiple of 8, raw little-endian data. The
 * reader refuses, with a message that names file and reason: a header longer than the file or than 100 MB, text that is
 * not one JSON object, duplicate names, unknown types or fields, more than LH_ST_MAX_RANK dimensions, offsets that are
 * reversed, overlap, leave a gap or do not end with the file, shapes that do not match their bytes, metadata values
 * that are not strings.
 */
#ifndef LONGHAND_SAFETENSORS_H
#define LONGHAND_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "longhand/status.h"

enum { LH_ST_MAX_RANK = 8 };

typedef struct lh_st_tensor {
    const char *name;
    const char *dtype; /* "F32", "F64", "I32", ... */
    int rank;
    int64_t shape[LH_ST_MAX_RANK];
    const void *data; /* row-major elements; not aligned in a file that was read */
    size_t bytes;     /* bytes of all elements */
    size_t stride;    /* bytes from one row (of the last dimension) to the next; 0: dense, as in a file that was read */
} lh_st_tensor;

/* The number of contiguous pieces of a tensor's memory, each of *piece_bytes bytes. Their starts are `stride` bytes
 * apart. */
size_t lh_st_count_pieces(const lh_st_tensor *tensor, size_t *piece_bytes);

typedef struct lh_st_meta {
    const char *key, *value;
} lh_st_meta;

typedef struct lh_st_file lh_st_file;

/* Bytes per element of a type; 0: the format does not know the name. */
int lh_st_get_element_bytes(const char *dtype);

/* Writes a file atomically (lh_replace_file), tensors sorted by descending element size, then name. LH_ERR_INPUT: a
 * strict reader would refuse a tensor, a name or the metadata. */
lh_status lh_st_write(const char *path, const lh_st_tensor *tensors, int count, const lh_st_meta *meta, int meta_count,
                      lh_error *error);

/* Reads and checks a whole file. The caller frees *file with lh_st_free. */
lh_status lh_st_read(const char *path, lh_st_file **file, lh_error *error);
void lh_st_free(lh_st_file *file);
int lh_st_count(const lh_st_file *file);
const lh_st_tensor *lh_st_get(const lh_st_file *file, int index);         /* tensors in the order of their data */
const lh_st_tensor *lh_st_find(const lh_st_file *file, const char *name); /* NULL: missing */
const char *lh_st_find_metadata(const lh_st_file *file, const char *key); /* NULL: missing */
int lh_st_metadata_count(const lh_st_file *file);
const lh_st_meta *lh_st_metadata_get(const lh_st_file *file, int index); /* entries in no specific order */

#endif
