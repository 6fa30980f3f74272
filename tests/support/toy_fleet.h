/* Fleets of the toy model on an emulated device, for tests that link the emulation and its kernels. */
#ifndef TOY_FLEET_H
#define TOY_FLEET_H

#include <signal.h>

#include "emulation/emulation.h"
#include "lh_engines.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "toy_cuda.h"

/* The device and its program: toy_cuda unless a test replaces it. */
extern lh_cuda_device lh_toy_device;
extern const lh_cuda_program *lh_toy_program;

/* Opens lh_toy_device in this emulation. */
void lh_toy_use_device(lh_emulation emulation);

/* Closes the device; fails unless all memory of the device was released. */
void lh_toy_end_device(void);

/* The toy with random positions and a CUDA half, with one stream and with two. */
lh_spec lh_toy_fleet_spec(void);
lh_spec lh_toy_fleet_pair(void);

/* Counts kernels that the driver of lh_toy_interrupt launches. Launch number `interrupted_launch` (from 1; 0: none)
 * fails, or sets `stop` while the kernel computes, as a signal does. */
typedef struct lh_toy_interruption {
    int launch_count, interrupted_launch;
    bool fails;
    volatile sig_atomic_t stop;
} lh_toy_interruption;

extern lh_toy_interruption lh_toy_interrupted;

/* Returns a copy of the device's driver that counts launches and can interrupt one. Sets the fields of
 * lh_toy_interrupted: `fails` to the argument, the others to 0; the test then sets interrupted_launch. */
const lh_cuda_driver *lh_toy_interrupt(bool fails);

lh_engine_config lh_toy_config(const lh_spec *spec, int seed); /* the learning rate depends on the seed */

/* Opens replicas of seeds first, first + 1, ..., eight at most. */
void lh_toy_open_fleet(const lh_spec *spec, const lh_cuda_variant *variant, int first, int count, lh_engine **engines);
void lh_toy_close_all(lh_engine **engines, int count);

/* The record of a training. */
typedef struct lh_toy_record {
    lh_step_metrics metrics[200];
    int64_t steps; /* number of recorded steps */
    lh_status status;
    lh_error error;
} lh_toy_record;

lh_toy_record *lh_toy_new_records(int count); /* the caller frees it */

/* Requests `requested_steps` steps of every engine in turn, as a group of loops does, until each has made
 * `target_steps` or has failed. */
void lh_toy_run_fleet(lh_engine **engines, int count, int target_steps, int requested_steps, lh_toy_record *records);
void lh_toy_run_one(lh_engine *engine, int target_steps, int requested_steps, lh_toy_record *r);

/* A sampler that makes an invalid token in one example: with seed 4, example 9 of step lh_toy_wrong_step. */
void lh_toy_sample_wrong_once(lh_rng *rng, int n, lh_example *example);
extern uint32_t lh_toy_wrong_step;

/* Trains on the device and on the CPU and compares metrics and parameters, of which only the last digits may differ:
 * batches, draws, dropout, order of sums and update are the same. */
void lh_toy_check_steps(const lh_spec *spec, lh_engine_config config);

#endif
