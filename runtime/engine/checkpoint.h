/* Reads and writes checkpoints: parameters, optimiser state and counters in one safetensors file.
 *
 * Tensors: each lh_tensor under its name; optimiser state under optimizer.<state name>.<tensor name>.
 *
 * Metadata: format, id, plan_digest, model_digest, source_digest, level, compiler, precision, step, seed,
 * learning_rate, optimizer, and
 *   data_sha256  digest of the training set, with a dataset
 *   seeds_apart  the text of lh_write_separate_seeds, if a part of the random numbers has its own seed
 *   checksum     checksum of everything else in the file
 *
 * Functions that read only parameters also accept a file that a user has edited. Its metadata must have neither
 * `checksum` nor `format`.
 *
 * Rotation: the new file replaces checkpoint.safetensors only after it was written, fsynced and read back; the old file
 * is kept as checkpoint.previous.safetensors.
 */
#ifndef LONGHAND_CHECKPOINT_H
#define LONGHAND_CHECKPOINT_H

#include "base/safetensors.h"
#include "data/seeds.h"
#include "longhand/spec.h"

/* Parameters and optimiser state in engine layout: vectors of [parameter_storage] real. */
typedef struct lh_state {
    int real_bytes;
    void *parameters;
    void *optimizer[LH_MAX_STATES]; /* NULL: not requested or not available */
} lh_state;

/* Facts of a run that its checkpoints record. */
typedef struct lh_checkpoint_facts {
    const char *level;
    const char *compiler;
    int64_t step;
    uint64_t seed;
    double learning_rate;
    char separate_seeds_text[LH_SEEDS_TEXT]; /* the text of lh_write_separate_seeds */
} lh_checkpoint_facts;

/* Number of metadata entries that identify the writing program: id, digests, level, compiler, precision. */
enum { LH_IDENTITY_COUNT = 7 };
void lh_write_identity(const lh_spec *spec, const char *level, const char *compiler,
                       lh_st_meta meta[LH_IDENTITY_COUNT]);

/* Writes path atomically and verifies the written file. */
lh_status lh_checkpoint_write(const char *path, const lh_spec *spec, const lh_state *state,
                              const lh_checkpoint_facts *facts, lh_error *error);

/* Writes directory/checkpoint.safetensors with rotation. */
lh_status lh_checkpoint_rotate(const char *directory, const lh_spec *spec, const lh_state *state,
                               const lh_checkpoint_facts *facts, lh_error *error);

/* Reads only parameters, of type F32 or F64.
 *   step   receives the step of the file; 0: the file has none
 * LH_ERR_INPUT: the file is damaged, its step is not a number, its model digest differs, or a tensor is missing, is
 * unknown or has another shape or type. The message names the file. */
lh_status lh_checkpoint_read_parameters(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                        int64_t *step, lh_error *error);

/* Reads the initial parameters of a run.
 *   parameters   NULL: only checks the file
 * Fails as lh_checkpoint_read_parameters does; LH_ERR_INPUT also: the checksum is not train.init_checksum. */
lh_status lh_checkpoint_read_init(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                  lh_error *error);

/* Reads the complete state, so that training continues bit for bit. If checkpoint.safetensors is damaged or missing,
 * reads checkpoint.previous.safetensors. Refuses a file of another format, optimiser, plan, source, level, compiler,
 * precision or training set; the message names both values.
 *   facts      on entry: level and compiler of this process; receives the other fields
 *   is_found   receives 0 if both files are missing; the status is then LH_OK
 *   note       receives a message if the previous file was read; otherwise empty
 * LH_ERR_INPUT: a file is refused, or neither file can be used
 * LH_ERR_ENVIRONMENT: memory or disk failed, so a file that may be valid was not read */
lh_status lh_checkpoint_resume(const char *directory, const lh_spec *spec, lh_state *state, lh_checkpoint_facts *facts,
                               int *is_found, lh_error *note, lh_error *error);

#endif
