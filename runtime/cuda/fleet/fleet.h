/* Engines on a CUDA device. A fleet is a set of replicas of one model, each with its own seeds and learning rate, that
 * train at the same time. Each replica is an engine (engine/engine.h).
 *
 * The replicas of a fleet step together: a launch makes the same number of steps for each replica, and each replica
 * continues from its own step. A call of an engine's `step` only records the request and returns LH_OK with 0 finished
 * steps, until the call for the last engine runs the launch. This call returns its engine's steps, and the next calls
 * for the other engines return their steps. Closed and failed engines do not take part. All calls for the engines of a
 * fleet must come from one thread.
 *
 * When an engine evaluates a condition, the launch also evaluates the condition for other engines, and the fleet stores
 * their results. These engines have parameters of the same step and are expected to request the condition next. Greedy
 * decoding also runs for all these engines together. A wide model, whose products cuBLASLt computes, has a launch for
 * each phase; these launches follow each other in the stream.
 *
 * The bits of a replica's results depend on the variant, but not on the number of replicas or on how they share the
 * device. */
#ifndef LONGHAND_CUDA_FLEET_H
#define LONGHAND_CUDA_FLEET_H

#include "engine/engine.h"
#include "runtime/cuda/device.h"

/* Opens engines[0 .. count - 1], which differ in seeds and learning rate alone. The initial parameters are those of
 * lh_initialise with the seed of LH_SEED_INIT. variant: a variant of device->program; NULL: "chip" for one engine,
 * "replicas" for several. The device is the caller's and must outlive the engines. Each engine is closed by its own
 * close; the last one frees the shared memory. LH_ERR_INPUT: lh_check_limit refuses a training length;
 * LH_ERR_ENVIRONMENT: out of memory, the device failed, or a wide model finds no cuBLASLt. After an error no engine is
 * open. */
lh_status lh_cuda_fleet_open(const lh_cuda_device *device, const lh_cuda_variant *variant,
                             const lh_engine_config *configs, int count, lh_engine **engines, lh_error *error);

/* Describes how the engine's fleet shares the device, for messages: "one model on 128 of 132 resident blocks", "30
 * replicas x 4 blocks, 132 are resident". */
void lh_cuda_fleet_describe(const lh_engine *engine, char *text, size_t size);

#endif
