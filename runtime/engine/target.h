/* Targets of engines: the processor, at one of its levels, or a CUDA device. The one place that knows both. */
#ifndef LONGHAND_TARGET_H
#define LONGHAND_TARGET_H

#include "engine/engine.h"
#include "runtime/cuda/device.h"

typedef struct lh_target {
    lh_spec spec;              /* the trainer's, with the source digest of the half that computes */
    const lh_cpu_program *cpu; /* NULL: the device */
    lh_cuda_device cuda;
} lh_target;

/* device: "cpu", "cuda" or "cuda:N". LH_ERR_USAGE where it is none of them; LH_ERR_ENVIRONMENT where the trainer lacks
 * that half or the machine what it needs: nothing is ever computed elsewhere than was asked. */
lh_status lh_target_open(lh_target *target, const lh_spec *spec, const char *device, lh_error *error);
void lh_target_close(lh_target *target);

/* Engines that differ in seed and learning rate alone. On the CPU each is by itself but for working memory
 * (engine/cpu_workspace.h); on a device they are a fleet (cuda/fleet/fleet.h). replicas: with the variant for many
 * models side by side, even if there is one. The spec in configs must be target->spec, and the target outlive the
 * engines. On an error none is open. */
lh_status lh_target_engines(const lh_target *target, const lh_engine_config *configs, int count, bool replicas,
                            lh_engine **engines, lh_error *error);

/* Threads that may advance engines of this target at the same time, where `threads` are to be had. */
int lh_target_workers(const lh_target *target, int threads);

#endif
