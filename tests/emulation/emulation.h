/* CUDA kernels on the CPU, for tests: the same device text, compiled by a C++ compiler (cuda_emulation.h), and a driver
 * that runs it (lh_emulated_driver).
 *
 * A thread is a fibre; it runs until it waits. All blocks of a grid are alive together and no two threads run at once.
 * Which thread goes first is the caller's choice: code that is right gives the same bits in every order. A launch
 * fails, and says why, where threads wait for one another in vain and where memory was written out of bounds. What is
 * not seen: the order of writes between processors, speed, the memory of a real chip.
 */
#ifndef LH_TESTS_EMULATION_H
#define LH_TESTS_EMULATION_H

#ifdef __cplusplus
extern "C" {
#endif

#include "runtime/cuda/driver.h"

enum { LH_EMULATION_ASCENDING = 0, LH_EMULATION_DESCENDING = 1 }; /* any other order: the seed of a permutation */

enum { LH_EMULATION_SAYS_SO = 2 };

typedef struct lh_emulation {
    int devices, driver_version; /* 1, 13000 */
    int architecture;            /* 75: sm_75 */
    int multiprocessors, blocks_per_multiprocessor;
    int watchdog;       /* whether the device says that it has one */
    int plain_products; /* 1: the library has no epilogues; LH_EMULATION_SAYS_SO: and fails where it is asked for one */
    size_t block_memory; /* shared memory that a block may ask for, bytes */
    size_t memory;       /* of the device, bytes */
    unsigned order;      /* of blocks, of warps in a block, of threads in a warp; of streams */
    int patience;        /* times that spinning threads may look again before they are taken to be deadlocked */

    const char *failing_call; /* call of the driver's API that fails, or NULL: none */
    int failing_after;        /* calls of that name that succeed first */
    CUresult failing_result;
} lh_emulation;

/* Forgets the emulated device's state, its memory too, and gives it this one. NULL: one device, sm_90, 4
 * multiprocessors with one block each, ascending. Fields that are 0 take these values too; devices < 0: no device.
 *
 * In a shared library these files are a driver for a program that knows nothing of them (it finds them by
 * LONGHAND_CUDA_DRIVER). There, LONGHAND_EMULATION="order=3,multiprocessors=2" does what this function does; further
 * names: architecture, blocks_per_multiprocessor, driver_version, plain_products. cuInit refuses a text that it does not understand.
 *
 * Where LONGHAND_PTX names a program of tests/ptx, kernels are those that the compiler made, and no others. */
void lh_emulation_set(const lh_emulation *emulation);

const lh_cuda_driver *lh_emulated_driver(void);

/* Launches of kernels through the driver since lh_emulation_set. */
int lh_emulation_launches(void);

/* Number of the driver's objects that the program holds: memory, streams, modules, contexts; 0 once all are freed. */
int lh_emulation_held(void);

/* Runs a kernel without the driver: arguments as for cuLaunchKernel, pointers to host memory. LH_ERR_INPUT if there is
 * no such kernel or it failed; the message says why. */
lh_status lh_emulation_launch(const char *kernel, int blocks, int threads, size_t block_memory, void **arguments,
                              lh_error *error);

#ifdef __cplusplus
}
#endif
#endif
