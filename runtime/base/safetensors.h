/* The safetensors format: a strict reader and a writer.
 *
 * File: u64 little-endian header length, JSON header padded with blanks to a multiple of 8, raw little-endian data.
 * The reader refuses, naming file and reason: a header longer than the file or than 100 MB, text that is not one JSON
 * object, duplicate names, unknown types, fields it does not know, offsets that end before they begin, overlap, leave a
 * gap or do not end with the file, shapes that do not fit their bytes, metadata that is not string to string.
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
    const void *data; /* row-major; in a file read, with no promise of alignment */
    size_t bytes;     /* of all elements */
    size_t stride;    /* bytes from a row of the last dimension to the next; 0: dense, as in a file read */
} lh_st_tensor;

/* How many pieces of its memory a tensor has, each of `piece` bytes, `stride` bytes apart. */
size_t lh_st_pieces(const lh_st_tensor *tensor, size_t *piece);

typedef struct lh_st_meta {
    const char *key, *value;
} lh_st_meta;

typedef struct lh_st_file lh_st_file;

/* Bytes per element of a type, 0 for a name that the format does not know. */
int lh_st_element_bytes(const char *dtype);

/* Writes atomically (lh_replace_file); sorts by descending element size, then name. LH_ERR_INPUT: a tensor or a name
 * that a strict reader would refuse. */
lh_status lh_st_write(const char *path, const lh_st_tensor *tensors, int count, const lh_st_meta *meta, int meta_count,
                      lh_error *error);

/* Reads and checks a whole file. *file is freed by lh_st_free. */
lh_status lh_st_read(const char *path, lh_st_file **file, lh_error *error);
void lh_st_free(lh_st_file *file);
int lh_st_count(const lh_st_file *file);
const lh_st_tensor *lh_st_at(const lh_st_file *file, int index);          /* in the order of their data */
const lh_st_tensor *lh_st_find(const lh_st_file *file, const char *name); /* NULL: not there */
const char *lh_st_metadata(const lh_st_file *file, const char *key);      /* NULL: not there */
int lh_st_metadata_count(const lh_st_file *file);
const lh_st_meta *lh_st_metadata_at(const lh_st_file *file, int index); /* in no order */

#endif
