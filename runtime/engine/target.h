/* Opens the target of engines: the processor at one instruction-set level, or a CUDA device. */
#ifndef LONGHAND_TARGET_H
#define LONGHAND_TARGET_H

#include "engine/engine.h"
#include "runtime/cuda/device.h"

typedef struct lh_target {
    lh_spec spec;              /* the trainer's spec, with the source digest of the CPU or CUDA half in use */
    const lh_cpu_program *cpu; /* NULL: the target is a device */
    lh_cuda_device cuda;       /* set only for a device */
} lh_target;

/* Opens the target of a flag --device: "cpu", "cuda" or "cuda:N", without any fallback. LH_ERR_USAGE: any other text;
 * LH_ERR_ENVIRONMENT: there is no code for GPUs. Otherwise fails as lh_level_choose or lh_cuda_device_open does. */
lh_status lh_target_open(lh_target *target, const lh_spec *spec, const char *device, lh_error *error);
void lh_target_close(lh_target *target);

/* Opens engines that differ in seeds and learning rate only. On the CPU they share only workspaces
 * (engine/cpu_workspace.h); on a device they are a fleet (cuda/fleet/fleet.h). uses_replicas: use the variant
 * "replicas" even for one engine. The spec in configs must be target->spec, and the target must outlive the engines.
 * After an error no engine is open. */
lh_status lh_target_open_engines(const lh_target *target, const lh_engine_config *configs, int count,
                                 bool uses_replicas, lh_engine **engines, lh_error *error);

/* The number of threads, at most `threads`, that may call engines of this target at the same time. */
int lh_target_count_workers(const lh_target *target, int threads);

#endif
