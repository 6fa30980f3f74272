/* Checkpoints: parameters, optimiser state and counters in one safetensors file.
 *
 * Tensors: each lh_tensor under its name; optimiser state under optimizer.<state name>.<tensor name>. Metadata:
 * format, id, plan_digest, model_digest, source_digest, level, compiler, precision, step, seed, learning_rate,
 * optimizer, data_sha256 (with finite data), checksum (of everything else in the file). Where there is a checksum it
 * must hold. A file with neither format nor checksum, as a person makes it who edits parameters, is enough wherever
 * parameters are.
 * Rotation: the new file replaces checkpoint.safetensors only after it was written, fsynced and read back; the one
 * before stays as checkpoint.previous.safetensors.
 */
#ifndef LONGHAND_CHECKPOINT_H
#define LONGHAND_CHECKPOINT_H

#include "base/safetensors.h"
#include "longhand/spec.h"

/* Vectors in engine layout: [parameter_storage] real. */
typedef struct lh_state {
    int real_bytes;
    void *parameters;
    void *optimizer[LH_MAX_STATES]; /* NULL: not wanted, not there */
} lh_state;

typedef struct lh_run_facts {
    const char *level;
    const char *compiler;
    int64_t step;
    uint64_t seed;
    double learning_rate;
} lh_run_facts;

/* Metadata of a file on the program that wrote it: id, digests, level, compiler, precision. */
enum { LH_IDENTITY_COUNT = 7 };
void lh_identity(const lh_spec *spec, const char *level, const char *compiler, lh_st_meta meta[LH_IDENTITY_COUNT]);

/* Writes path atomically and checks what was written. */
lh_status lh_checkpoint_write(const char *path, const lh_spec *spec, const lh_state *state, const lh_run_facts *facts,
                              lh_error *error);

/* Writes directory/checkpoint.safetensors with rotation. */
lh_status lh_checkpoint_rotate(const char *directory, const lh_spec *spec, const lh_state *state,
                               const lh_run_facts *facts, lh_error *error);

/* Reads parameters alone (eval, predict): the model must fit. LH_ERR_INPUT names the file and the first
 * tensor that is missing, has another shape or is not of this model (model digest, where the file has one), or says that
 * the file is damaged. State of whatever optimiser is passed over. *step is the file's step, 0 where it has none. Float
 * and double files both load. */
lh_status lh_checkpoint_read_parameters(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                        int64_t *step, lh_error *error);

/* Reads the parameters that a run begins with: a file other than the one that the spec was planned with
 * (train.init_checksum) is refused. parameters may be NULL: the file is only checked. */
lh_status lh_checkpoint_read_init(const char *path, const lh_spec *spec, int real_bytes, void *parameters,
                                  lh_error *error);

/* Reads everything to go on training bit for bit: refuses another optimiser, plan, source, level, compiler or precision
 * and names both values. Falls back to checkpoint.previous.safetensors when checkpoint.safetensors is damaged, and says so
 * in note (may be empty). LH_ERR_INPUT when neither can be used, LH_ERR_ENVIRONMENT when the machine could not read one
 * that may be good, for lack of memory or by its disk; *found = 0 and LH_OK when there is none at all.
 * facts->level and facts->compiler are the process's own on entry; step, seed and learning_rate are written. */
lh_status lh_checkpoint_resume(const char *directory, const lh_spec *spec, lh_state *state, lh_run_facts *facts,
                               int *found, lh_error *note, lh_error *error);

#endif
