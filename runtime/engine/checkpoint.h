/* Reads and writes checkpoints: parameters, optimiser state and counters in one safetensors file.
 *
 * Tensors: each lh_tensor under its name; optimiser state under optimizer.<state name>.<tensor name>. Metadata: format,
 * id, plan_digest, model_digest, source_digest, level, compiler, precision, step, seed, learning_rate, optimizer,
 * data_sha256 (with a dataset), seeds_apart (if a part of the random numbers has a seed of its own; the text of
 * lh_write_separate_seeds), checksum (of everything else in the file). If a file has a checksum, it must match.
 * Functions that read only parameters also accept a file that a user has edited: its metadata has neither a checksum
 * nor the entry `format`.
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
typedef struct lh_run_facts {
    const char *level;
    const char *compiler;
    int64_t step;
    uint64_t seed;
    double learning_rate;
    char separate_seeds_text[LH_SEEDS_TEXT]; /* the text of lh_write_separate_seeds */
} lh_run_facts;

/* Number of metadata entries that identify the writing program: id, digests, level, compiler, precision. */
enum { LH_IDENTITY_COUNT = 7 };
void lh_write_identity(const lh_spec *spec, const char *level, const char *compiler,
                       lh_st_meta meta[LH_IDENTITY_COUNT]);

/* Writes path atomically and verifies the written file. */
lh_status lh_checkpoint_write(const char *path, const lh_spec *spec, const lh_state *state, const lh_run_facts *facts,
                              lh_error *error);

/* Writes directory/checkpoint.safetensors with rotation. */
lh_status lh_checkpoint_rotate(const char *directory, const lh_spec *spec, const lh_state *state,
                               const lh_run_facts *facts, lh_error *error);

/* Reads only parameters (for eval and predict). The file may be float or double; optimiser state is ignored. *step is
 * the file's step, 0 if it has none. LH_ERR_INPUT: a tensor is missing, is unknown or has another shape or type, the
 * model digest in the file differs, its step is not a number, or the file is damaged; the message names the file. */
lh_status lh_checkpoint_read_parameters(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                        int64_t *step, lh_error *error);

/* Reads the initial parameters of a run. LH_ERR_INPUT also if the file is not the file for which the spec was planned
 * (train.init_checksum). parameters NULL: only checks the file. */
lh_status lh_checkpoint_read_init(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                  lh_error *error);

/* Reads the complete state, so that training continues bit for bit. Refuses a file of another format, optimiser, plan,
 * source, level, compiler, precision or training set, with a message that names both values. If checkpoint.safetensors
 * is damaged or missing, reads checkpoint.previous.safetensors and reports this in note, which is otherwise empty.
 * LH_ERR_INPUT: a file is refused, or neither file can be used; LH_ERR_ENVIRONMENT: a possibly valid file could not be
 * read because of memory or disk. If both files are missing, *is_found is 0 and the status LH_OK. facts: on entry,
 * `level` and `compiler` are the level and the compiler of this process; the function sets the other fields. */
lh_status lh_checkpoint_resume(const char *directory, const lh_spec *spec, lh_state *state, lh_run_facts *facts,
                               int *is_found, lh_error *note, lh_error *error);

#endif
