/* Names that the writer and the reader of checkpoints share; for checkpoint.c and checkpoint_write.c alone. */
#ifndef LONGHAND_CHECKPOINT_PARTS_H
#define LONGHAND_CHECKPOINT_PARTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/safetensors.h"
#include "data/datasets/corpus.h"
#include "longhand/spec.h"

enum { LH_LONGEST_NAME = 256 };

#define LH_CHECKPOINT_FORMAT "longhand checkpoint 1"
#define LH_CHECKSUM_KEY "checksum"
#define LH_OPTIMIZER_KEY "optimizer" /* its kind; absent: adam, in files from before there were others */
#define LH_DATA_KEY "data_sha256"    /* of the training file; only with finite data */

static inline int64_t lh_tensor_rows(const lh_tensor *tensor) { return tensor->rank == 2 ? tensor->shape[0] : 1; }

static inline int64_t lh_tensor_columns(const lh_tensor *tensor) { return tensor->shape[tensor->rank - 1]; }

/* optimizer.<state name>.<tensor name> */
void lh_checkpoint_state_name(char name[LH_LONGEST_NAME], const lh_spec *spec, int state, const lh_tensor *tensor);

/* directory/checkpoint<part>.safetensors */
lh_status lh_checkpoint_path(char path[PATH_MAX], const char *directory, const char *part, lh_error *error);

/* A file's checksum is the sum over its tensors (name, type, shape, data) and its metadata (key, value; 0 for the
 * checksum itself), in whatever order they lie. */
uint64_t lh_checkpoint_tensor_sum(const lh_st_tensor *tensor);
uint64_t lh_checkpoint_meta_sum(const lh_st_meta *meta);

/* Reads a file and checks its sum; every reader of checkpoints begins here. whole: there must be one, as in whatever a
 * trainer wrote; else a file of parameters alone, which nobody marked as a checkpoint, may go without. On success *file
 * is for lh_st_free. LH_ERR_INPUT: not what was written. */
lh_status lh_checkpoint_open(const char *path, bool whole, lh_st_file **file, lh_error *error);

#endif
