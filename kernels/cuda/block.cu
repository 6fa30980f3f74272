/* Sums over a warp and a block, and the meeting of a team's blocks. */

enum { WARP = 32, WARPS = THREADS / WARP };

/* An address of global memory that lies in shared memory: whoever reads it tells the compiler. */
template <class T> struct global {
    T *address;

    __device__ __forceinline__ operator T *() const {
        is_global(address);
        return address;
    }
    __device__ __forceinline__ T *operator->() const { return *this; }
    __device__ __forceinline__ void operator=(T *to) { address = to; }
    __device__ __forceinline__ void operator+=(size_t elements) { address += elements; }
};

/* Four neighbours in memory, moved together. */
typedef struct __align__(4 * sizeof(real)) quad {
    real v[4];
}
quad;

/* The sum over a warp's lanes, the same bits in all of them. */
INLINE real warp_sum(real x) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    return x;
}

/* Several such sums in place, side by side. */
INLINE void warp_sums(real *x, const int count) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int i = 0; i < count; i++) x[i] += __shfl_xor_sync(0xffffffffu, x[i], distance);
    }
}

INLINE double warp_sum_double(double x) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    return x;
}

/* Shared memory that an operation may use until it returns. */
INLINE real *staging(void) {
    DYNAMIC_SHARED(real, memory);
    return memory;
}

/* The sum over a block's threads, in the order of warps, for all of them. */
INLINE double block_sum(double x) {
    double *room = (double *)staging(), sum = 0;
    x = warp_sum_double(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WARPS; i++) sum += room[i];
    return sum;
}

/* The blocks that work on one model, as each of them has it in shared memory. */
typedef struct team {
    int rank, blocks;
    unsigned int *arrivals; /* at all barriers so far */
    unsigned int expected;  /* of them at the last barrier; the first thread's */
} team;

INLINE team join_team(int blocks, unsigned int *arrivals) {
    team t = {(int)blockIdx.x % blocks, blocks, arrivals, 0};
    return t;
}

/* Every block of the team has arrived, and what each wrote before is seen by all. One thread's release and acquire are
 * enough for its block, without a fence: __syncthreads orders the writes of the others before the release, which is
 * cumulative, and what they read afterwards behind the acquire. */
INLINE void team_barrier(team *t) {
    __syncthreads();
    if (t->blocks == 1) return;
    if (threadIdx.x == 0) {
        t->expected += (unsigned int)t->blocks;
        arrive(t->arrivals);
        while ((int)(count_arrivals(t->arrivals) - t->expected) < 0) __nanosleep(20);
    }
    __syncthreads();
}
