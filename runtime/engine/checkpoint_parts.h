/* Declarations shared by the writer and the reader of checkpoints; for checkpoint.c and checkpoint_write.c alone. */
#ifndef LONGHAND_CHECKPOINT_PARTS_H
#define LONGHAND_CHECKPOINT_PARTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/safetensors.h"
#include "data/datasets/corpus.h"
#include "longhand/spec.h"

enum { LH_MAX_NAME_BYTES = 256 }; /* bytes of the longest name of a tensor, with the final 0 */

#define LH_CHECKPOINT_FORMAT "longhand checkpoint 1"
#define LH_CHECKSUM_KEY "checksum"
#define LH_OPTIMIZER_KEY "optimizer" /* kind of optimiser */
#define LH_DATA_KEY "data_sha256"    /* digest of the training set (lh_dataset); only with a dataset */
#define LH_SEEDS_KEY "seeds_apart"   /* present if a part of the random numbers has its own seed */

/* Writes the name of a state tensor, optimizer.<state name>.<tensor name>. */
void lh_checkpoint_name_state(char name[LH_MAX_NAME_BYTES], const lh_spec *spec, int state, const lh_tensor *tensor);

/* Writes the path directory/checkpoint<suffix>.safetensors. */
lh_status lh_checkpoint_make_path(char path[PATH_MAX], const char *directory, const char *suffix, lh_error *error);

/* A file's checksum is the sum of the hashes of all tensors and all entries of metadata. */
uint64_t lh_checkpoint_hash_tensor(const lh_st_tensor *tensor); /* hash of name, type, shape and data */
uint64_t lh_checkpoint_hash_meta(const lh_st_meta *meta);       /* hash of key and value; 0 for the checksum itself */

/* Reads a file and verifies its checksum. All readers of checkpoints call this first.
 *   needs_checksum   false: a file without `format` in its metadata may lack a checksum
 *   file             on success, the caller frees *file with lh_st_free
 * Fails as lh_read_file does; LH_ERR_INPUT also: the file is no valid safetensors file, or its checksum is wrong or
 * missing. */
lh_status lh_checkpoint_open(const char *path, bool needs_checksum, lh_st_file **file, lh_error *error);

#endif
