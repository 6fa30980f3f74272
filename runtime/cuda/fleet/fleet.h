/* Engines on a CUDA device. A fleet is any number of replicas of one model, each with its own seed and learning rate,
 * that train side by side; every replica shows itself as an engine of its own (engine/engine.h).
 *
 * The replicas of a fleet step together: a launch makes the same number of steps for all of them, each from its own
 * step on. So an engine that is asked for steps waits (none done, LH_OK) until every other one was asked too; the last
 * one starts the launch, the others then find theirs done. An engine that is closed or has failed is waited for no
 * longer. All calls for the engines of a fleet come from one thread, one after another.
 *
 * A condition that one engine evaluates is evaluated for the others whose parameters are of the same step, too, in the
 * same launch: they will ask for it, and then find it done. Wide models are evaluated one by one.
 *
 * Bits of a replica depend on its variant, and not on how many replicas there are or on how they share the device.
 */
#ifndef LONGHAND_CUDA_FLEET_H
#define LONGHAND_CUDA_FLEET_H

#include "engine/engine.h"
#include "runtime/cuda/device.h"

/* Opens engines[0 .. count - 1], which differ in seed and learning rate alone; parameters start as lh_initialise(seed).
 * variant: of device->program; NULL: "chip" for one engine, "replicas" for several. The device is the caller's and must
 * outlive the engines. Each engine is closed by its own close; the last one frees what all share. LH_ERR_ENVIRONMENT
 * without memory, naming how many bytes for what and how many are free; then nothing is open. */
lh_status lh_cuda_fleet_open(const lh_cuda_device *device, const lh_cuda_variant *variant,
                             const lh_engine_config *configs, int count, lh_engine **engines, lh_error *error);

/* How the fleet of this engine shares the device, for people: "one model on 128 of 132 resident blocks",
 * "30 replicas x 4 blocks, 132 are resident". */
void lh_cuda_fleet_describe(const lh_engine *engine, char *text, size_t size);

#endif
