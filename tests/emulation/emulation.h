/* Runs CUDA kernels on the CPU, for tests: their device code is compiled by a C++ compiler (cuda_emulation.h), and a
 * driver (lh_emulated_driver) launches them.
 *
 * A thread is a fibre that runs until it waits. All blocks of a grid exist at the same time, and one thread runs at a
 * time. The caller chooses the order of threads: correct code gives the same bits in every order. A launch fails, with
 * a message, if threads are deadlocked or memory was written out of bounds. The emulation shows neither the order of
 * writes between processors nor the speed or the memory of a real GPU.
 */
#ifndef LH_TESTS_EMULATION_H
#define LH_TESTS_EMULATION_H

#ifdef __cplusplus
extern "C" {
#endif

#include "runtime/cuda/driver.h"

enum { LH_EMULATION_ASCENDING = 0, LH_EMULATION_DESCENDING = 1 }; /* any other order: the seed of a permutation */

enum { LH_EMULATION_EPILOGUES_FAIL = 2 }; /* a value of lh_emulation.plain_products */

typedef struct lh_emulation {
    int devices;
    int driver_version; /* as cuDriverGetVersion returns it: 13000 is CUDA 13.0 */
    int architecture;   /* 75: sm_75 */
    int multiprocessors, blocks_per_multiprocessor;
    int watchdog;        /* whether the device reports a watchdog */
    int plain_products;  /* 1: the library has no epilogues; LH_EMULATION_EPILOGUES_FAIL: it also reports an error */
    size_t block_memory; /* largest shared memory of a block, bytes */
    size_t memory;       /* memory of the device, bytes */
    unsigned order;      /* order of blocks, of warps in a block, of threads in a warp; of streams */
    int max_idle_rounds; /* most rounds (grid.cpp) without progress; then a launch counts as deadlocked */

    const char *failing_call; /* name of a failing call of the driver's API; NULL: none */
    int failing_after;        /* number of successful calls of that name before */
    CUresult failing_result;
} lh_emulation;

/* Resets the emulated device, including its memory, to this configuration. A field that is 0 has its default, and NULL
 * stands for all defaults: one device, CUDA 13.0, sm_90, 4 multiprocessors with one block each, 1 GiB, 99 KiB of shared
 * memory per block (before sm_80: 64), ascending order, 10000 rounds. devices < 0: no device.
 *
 * As a shared library, these files are a driver for any program, which finds it by LONGHAND_CUDA_DRIVER. There,
 * LONGHAND_EMULATION="order=3,multiprocessors=2" does what this function does, unless it is called; further names:
 * architecture, blocks_per_multiprocessor, driver_version, plain_products. cuInit refuses an invalid text.
 *
 * If LONGHAND_PTX names a program of tests/ptx, kernels are only those in it. */
void lh_emulation_set(const lh_emulation *emulation);

const lh_cuda_driver *lh_emulated_driver(void);

/* Returns the number of kernel launches through the driver since lh_emulation_set. */
int lh_emulation_launches(void);

/* Returns the number of open objects: memory, streams, modules, holders of the context, objects of cuBLASLt. */
int lh_emulation_held(void);

/* Runs a kernel without the driver; arguments: as in cuLaunchKernel, pointers to host memory. LH_ERR_INPUT: there is no
 * such kernel, or it failed; LH_ERR_ENVIRONMENT: no memory for stacks. */
lh_status lh_emulation_launch(const char *kernel, int blocks, int threads, size_t block_memory, void **arguments,
                              lh_error *error);

#ifdef __cplusplus
}
#endif
#endif
