/* Steps and evaluations of wide models, as a sequence of launches in the fleet's stream: phases of the model's kernels,
 * and products of the library. */
#include <stdio.h>
#include <stdlib.h>

#include "longhand/cuda_place.h"
#include "runtime/cuda/fleet/fleet_parts.h"

static lh_status check(const lh_cuda_fleet *fleet, CUresult result, const char *call, lh_error *error) {
    return lh_cuda_check(fleet->driver, result, call, error);
}

/* Computes a digest (FNV-1a) of the algorithms for the products of a step at each training length. */
static lh_status digest_algorithms(lh_cuda_fleet *fleet, uint32_t *digest, lh_error *error) {
    const lh_spec *spec = fleet->spec;
    const lh_cuda_engine *first_engine = &fleet->engines[0];
    const void *parameters = (const void *)(uintptr_t)lh_cuda_get_vector(first_engine, LH_CUDA_PARAMETERS);
    void *gradient = (void *)(uintptr_t)lh_cuda_get_vector(first_engine, LH_CUDA_GRADIENT);
    lh_lengths lengths = lh_cuda_get_training_lengths(fleet);
    lh_status status = LH_OK;
    *digest = 2166136261u;
    for (int i = 0; i < lh_lengths_count(&lengths); i++) {
        lh_shape shape = lh_make_shape(spec, lh_lengths_get(&lengths, i), spec->train.batch);
        lh_cuda_passes passes = {lh_count_passes(spec, lh_lengths_get(&lengths, i)), 0};
        if (spec->progressive) passes.free = passes.count - passes.count / 2; /* half; in training, it varies */
        int count = fleet->program->launches(&shape, passes, LH_MODE_TRAIN, (void *)(uintptr_t)fleet->arena.workspaces,
                                             parameters, gradient, fleet->launches);
        for (int j = 0; status == LH_OK && j < count; j++)
            if (fleet->launches[j].phase == LH_CUDA_PRODUCT)
                status = lh_cuda_library_digest(fleet->library, &fleet->launches[j].product, digest, error);
    }
    return status;
}

lh_status lh_cuda_describe_products(lh_cuda_fleet *fleet, lh_error *error) {
    uint32_t digest;
    if (fleet->library == NULL) return LH_OK;
    lh_status status = digest_algorithms(fleet, &digest, error);
    if (status == LH_OK)
        snprintf(fleet->compiler, sizeof fleet->compiler, "%s, %s on %d multiprocessors, algorithms %08x",
                 fleet->device->compiler, lh_cuda_library_name(fleet->library), fleet->device->multiprocessors, digest);
    return status;
}

static lh_status reserve_launches(lh_cuda_fleet *fleet, int count, lh_error *error) {
    if (count <= fleet->launch_count) return LH_OK;
    free(fleet->launches);
    fleet->launch_count = 0;
    fleet->launches = lh_engine_allocate((size_t)count * sizeof *fleet->launches, "launches", error);
    if (fleet->launches == NULL) return LH_ERR_ENVIRONMENT;
    fleet->launch_count = count;
    return LH_OK;
}

lh_status lh_cuda_phases_open(lh_cuda_fleet *fleet, lh_error *error) {
    const lh_cuda_program *program = fleet->program;
    if (program->launches == NULL) return LH_OK;
    lh_status status = reserve_launches(fleet, program->most_launches, error);
    if (status == LH_OK) status = lh_cuda_library_open(fleet->device, &fleet->library, error);
    if (status == LH_OK)
        snprintf(fleet->compiler, sizeof fleet->compiler, "%s, %s", fleet->device->compiler,
                 lh_cuda_library_name(fleet->library));
    return status;
}

/* Whether the blocks of a grid synchronise in a phase, so that all must be resident at once. */
static bool has_grid_barrier(int phase) { return phase == LH_CUDA_BEGIN || phase == LH_CUDA_END; }

static lh_status run_phase(lh_cuda_fleet *fleet, const lh_cuda_pass *pass, const lh_cuda_launch *launch,
                           lh_error *error) {
    const lh_cuda_driver *driver = fleet->driver;
    lh_cuda_place place = {
        .phase = launch->phase, .layer = launch->layer, .first = pass->first, .before = pass->preceding_result};
    void *arguments[] = {pass->arguments, &place};
    if (!has_grid_barrier(launch->phase)) {
        CUresult result =
            driver->cuLaunchKernel(pass->kernel, (unsigned)pass->blocks, 1, 1, (unsigned)fleet->program->threads, 1, 1,
                                   (unsigned)fleet->program->block_memory, fleet->stream, arguments, NULL);
        return check(fleet, result, "cuLaunchKernel of a phase", error);
    }
    CUresult result = driver->cuMemsetD8Async(pass->arrivals, 0, sizeof(unsigned int), fleet->stream);
    if (result != 0) return check(fleet, result, "cuMemsetD8Async", error);
    result =
        driver->cuLaunchCooperativeKernel(pass->kernel, (unsigned)pass->blocks, 1, 1, (unsigned)fleet->program->threads,
                                          1, 1, (unsigned)fleet->program->block_memory, fleet->stream, arguments);
    return check(fleet, result, "cuLaunchCooperativeKernel of a phase", error);
}

static lh_status run_product(lh_cuda_fleet *fleet, const lh_cuda_pass *pass, const lh_cuda_launch *launch,
                             lh_error *error) {
    const lh_cuda_launch bias = {.phase = launch->bias_phase, .layer = launch->layer};
    bool is_complete = true; /* whether the library has also added the bias */
    lh_status status = lh_cuda_library_multiply(fleet->library, &launch->product, fleet->stream, &is_complete, error);
    return status == LH_OK && !is_complete ? run_phase(fleet, pass, &bias, error) : status;
}

lh_status lh_cuda_run_phases(lh_cuda_fleet *fleet, const lh_cuda_pass *pass, lh_error *error) {
    const lh_cuda_program *program = fleet->program;
    int more_passes = pass->passes.count - fleet->spec->passes; /* only an evaluation has more than training */
    lh_status status = reserve_launches(
        fleet, program->most_launches + (more_passes > 0 ? more_passes : 0) * program->launches_of_pass, error);
    if (status != LH_OK) return status;
    int count = program->launches(&pass->shape, pass->passes, pass->mode, (void *)(uintptr_t)pass->workspace,
                                  (const void *)(uintptr_t)pass->parameters, (void *)(uintptr_t)pass->gradient,
                                  fleet->launches);
    for (int i = 0; status == LH_OK && i < count; i++) {
        const lh_cuda_launch *launch = &fleet->launches[i];
        if (launch->phase == LH_CUDA_PRODUCT) status = run_product(fleet, pass, launch, error);
        else if (launch->phase != LH_CUDA_BEGIN || pass->first == 0) status = run_phase(fleet, pass, launch, error);
    }
    return status;
}
