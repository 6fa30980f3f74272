/* The part of CUDA C++ that Longhand's device code uses, for a C++17 compiler. A file that emulates kernels contains:
 *
 *     #include "cuda_emulation.h"
 *     the output of without_assembly.awk for <path>/device.cu
 *     EMULATED_KERNEL(longhand_train_<id>)
 *
 * after which lh_emulation_launch finds the kernel by its name. Calls pass their position in the source, so that the
 * message of a failed launch can name it. Indices have only an x, and shared memory is dynamic; other code does not
 * compile.
 */
#ifndef LH_CUDA_EMULATION_H
#define LH_CUDA_EMULATION_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include <functional>
#include <tuple>

#include "rounding.h"

#define __global__
#define __device__
#define __constant__
#define __forceinline__ inline
#define __noinline__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define DYNAMIC_SHARED(type, name) type *const name = static_cast<type *>(lh_shared_memory())

struct lh_index {
    unsigned x;
};
extern lh_index threadIdx, blockIdx, blockDim, gridDim; /* indices of the running thread */
enum { warpSize = 32 };

void *lh_shared_memory(void);

#define LH_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

void __syncthreads(LH_PLACE);
void __syncwarp(unsigned mask = 0xffffffffu, LH_PLACE);
void __nanosleep(unsigned nanoseconds, LH_PLACE);
unsigned __ballot_sync(unsigned mask, int predicate, LH_PLACE);

/* The functions of kernels/cuda/mma.cu: c += a b with fragments as in the PTX manual, m16n8k8 and m16n8k16; products
 * are exact, and each element is rounded to float once. */
void mma_tf32(float c[4], const unsigned a[4], const unsigned b[2], LH_PLACE);
void mma_bf16(float c[4], const unsigned a[4], const unsigned b[2], LH_PLACE);
float exp2_approximate(float x); /* the host's exp2f; 0 in place of subnormal numbers */
float log2_approximate(float x);

/* Returns the bits that lane `source` passes. name: that of the calling function. */
unsigned long long lh_shuffle(const char *name, unsigned mask, unsigned long long bits, int source, const char *file,
                              int line);

template <class To, class From> inline To lh_bits(From from) {
    To to = To();
    memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from);
    return to;
}

template <class T>
inline T lh_shuffle_number(const char *name, unsigned mask, T value, int source, const char *file, int line) {
    return lh_bits<T>(lh_shuffle(name, mask, lh_bits<unsigned long long>(value), source, file, line));
}

inline int lh_lane() { return (int)(threadIdx.x % warpSize); }

#define LH_SHUFFLES(T) \
    inline T __shfl_sync(unsigned mask, T value, int source, LH_PLACE) { \
        return lh_shuffle_number("__shfl_sync", mask, value, source % warpSize, file, line); \
    } \
    inline T __shfl_xor_sync(unsigned mask, T value, int bits, LH_PLACE) { \
        return lh_shuffle_number("__shfl_xor_sync", mask, value, lh_lane() ^ bits, file, line); \
    } \
    inline T __shfl_down_sync(unsigned mask, T value, unsigned by, LH_PLACE) { \
        int source = lh_lane() + (int)by; \
        return lh_shuffle_number("__shfl_down_sync", mask, value, source < warpSize ? source : lh_lane(), file, line); \
    }
LH_SHUFFLES(int)
LH_SHUFFLES(unsigned)
LH_SHUFFLES(float)
LH_SHUFFLES(double)
#undef LH_SHUFFLES

/* One thread runs at a time, so only the compiler must not reorder accesses. */
inline void __threadfence() { __asm__ volatile("" ::: "memory"); }

inline unsigned atomicAdd(unsigned *address, unsigned value) {
    unsigned old_value = *(volatile unsigned *)address;
    *(volatile unsigned *)address = old_value + value;
    return old_value;
}

/* The functions of kernels/cuda/instructions.cu. */
inline void assume_global(const void *) {}
template <class T> inline const T *compute_once(const T *address) { return address; }
inline int compute_number_once(int number) { return number; }
inline long long compute_distance_once(long long bytes) { return bytes; }
template <class T> inline const T *get_row(const T *rows, int row, int stride) {
    return rows + (long long)row * stride;
}
inline void arrive(unsigned *arrivals) { atomicAdd(arrivals, 1u); }
inline unsigned count_arrivals(const unsigned *arrivals) { return *(const volatile unsigned *)arrivals; }

inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline int __float_as_int(float x) { return lh_bits<int>(x); }
inline float __int_as_float(int x) { return lh_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return lh_bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return lh_bits<float>(x); }
inline long long __double_as_longlong(double x) { return lh_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return lh_bits<double>(x); }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }

/* A kernel and its name. bind copies its arguments, as a launch does, and returns a function that runs a grid with them
 * and returns an lh_status. */
struct lh_emulated_kernel {
    typedef std::function<int(int blocks, int threads, size_t block_memory, struct lh_error *error)> grid;
    typedef std::function<grid(void **arguments)> binder;

    const char *name;
    binder bind;
    const lh_emulated_kernel *next;

    lh_emulated_kernel(const char *kernel_name, binder kernel_bind);
    static const lh_emulated_kernel *find(const char *name); /* or NULL */
    /* Finds a kernel of the PTX program (tests/ptx); NULL: the machine for PTX is not linked. */
    static const lh_emulated_kernel *(*find_instead)(const char *name);
};

/* Returns a grid whose threads are fibres that run this function. */
lh_emulated_kernel::grid lh_fibre_grid(const char *name, std::function<void()> thread);

template <class... A, size_t... I>
std::function<void()> lh_bind(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
    std::tuple<A...> copy(*static_cast<const A *>(arguments[I])...);
    return [=] { std::apply(kernel, copy); };
}

template <class... A> std::function<void()> lh_bind(void (*kernel)(A...), void **arguments) {
    return lh_bind(kernel, arguments, std::index_sequence_for<A...>());
}

#define EMULATED_KERNEL(name) \
    static const lh_emulated_kernel name##_emulated( \
        #name, [](void **arguments) { return lh_fibre_grid(#name, lh_bind(name, arguments)); });

#endif
