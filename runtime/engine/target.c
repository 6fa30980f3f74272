/* See target.h. */
#include "engine/target.h"

#include <string.h>

#include "base/cpu_level.h"
#include "runtime/cuda/fleet/fleet.h"

static lh_status open_cuda(lh_target *target, const char *device, int ordinal, lh_error *error) {
    const lh_cuda_program *program = target->spec.cuda;
    if (program == NULL)
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "--device %s: this trainer has no CUDA half\n"
                       "  hint: ./longhand build SPEC --target cpu,cuda builds a trainer with both halves",
                       device);
    target->spec.source_digest = program->source_digest;
    return lh_cuda_device_open(&target->cuda, program, ordinal, error);
}

lh_status lh_target_open(lh_target *target, const lh_spec *spec, const char *device, lh_error *error) {
    int ordinal;
    *target = (lh_target){.spec = *spec};
    if (strcmp(device, "cpu") == 0) return lh_level_choose(spec->cpu, &target->cpu, error);
    if (lh_cuda_parse_ordinal(device, &ordinal, NULL) == LH_OK) return open_cuda(target, device, ordinal, error);
    return lh_fail(error, LH_ERR_USAGE,
                   "--device: '%.80s' is not a device\n  expected: cpu or cuda, or cuda:N with N from 0", device);
}

void lh_target_close(lh_target *target) {
    if (target->cuda.driver != NULL) lh_cuda_device_close(&target->cuda);
}

lh_status lh_target_open_engines(const lh_target *target, const lh_engine_config *configs, int count,
                                 bool uses_replicas, lh_engine **engines, lh_error *error) {
    if (target->cpu == NULL) {
        const lh_cuda_program *program = target->cuda.program;
        return lh_cuda_fleet_open(&target->cuda, uses_replicas ? &program->replicas : NULL, configs, count, engines,
                                  error);
    }
    return lh_cpu_engines_open(configs, count, target->cpu, engines, error);
}

int lh_target_count_workers(const lh_target *target, int threads) { return target->cpu != NULL ? threads : 1; }
