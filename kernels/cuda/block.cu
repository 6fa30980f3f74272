/* Sums over a warp and over a block, and the barrier of a team's blocks. */

enum { WARP = 32, WARPS = THREADS / WARP };

/* A pointer that is stored in shared memory and points to global memory. */
template <class T> struct global {
    T *address;

    __device__ __forceinline__ operator T *() const {
        assume_global(address);
        return address;
    }
    __device__ __forceinline__ T *operator->() const { return *this; }
    __device__ __forceinline__ void operator=(T *to) { address = to; }
    __device__ __forceinline__ void operator+=(size_t elements) { address += elements; }
};

/* Four adjacent elements, which one instruction loads or stores. */
struct __align__(4 * sizeof(real)) quad {
    real v[4];
};

/* The sum over a warp's lanes, with the same bits in every lane. */
INLINE real warp_sum(real x) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    return x;
}

/* Shared memory that an operation may use until the operation returns. */
INLINE real *staging(void) {
    DYNAMIC_SHARED(real, memory);
    return memory;
}

/* Replaces x[0] and x[1] by their sums over all threads of the block; only the threads of the first warp get the sums.
 * In each warp, the lower half of the lanes sums x[0] and the upper half sums x[1]. First, each lane sends its other
 * number to a partner lane in the other half. */
INLINE void block_sums(double x[2]) {
    double *partials = (double *)staging();
    const int half = (int)(threadIdx.x % WARP / (WARP / 2));
    double sum = half ? x[1] : x[0];
    sum += __shfl_xor_sync(0xffffffffu, half ? x[0] : x[1], WARP / 2);
#pragma unroll
    for (int distance = WARP / 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    __syncthreads();
    if (threadIdx.x % (WARP / 2) == 0) partials[threadIdx.x / (WARP / 2)] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    x[0] = x[1] = 0;
#pragma unroll
    for (int i = 0; i < 2 * WARPS; i++) x[i % 2] += partials[i];
}

/* The sum over a block's threads, in the order of warps; every thread gets the sum. */
INLINE double block_sum(double x) {
    double *partials = (double *)staging(), sum = 0;
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    __syncthreads();
    if (threadIdx.x % WARP == 0) partials[threadIdx.x / WARP] = x;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WARPS; i++) sum += partials[i];
    return sum;
}

/* The team of blocks that work on one model. Each block has a copy of this struct in shared memory. */
typedef struct team {
    int rank, blocks;       /* index of this block in the team, and number of blocks */
    unsigned int *arrivals; /* counter of the blocks' arrivals at all barriers so far */
    unsigned int expected;  /* value of the counter after the last barrier; only the first thread uses it */
} team;

INLINE team join_team(int blocks, unsigned int *arrivals) { return {(int)blockIdx.x % blocks, blocks, arrivals, 0}; }

/* Waits until every block of the team has arrived; then all blocks see all that any block wrote before. It is enough
 * that one thread of each block does the release and the acquire. __syncthreads orders the writes of the block's
 * other threads before the release, and a release also publishes the writes of other threads that come before it (it
 * is cumulative). The second __syncthreads orders the later reads of the other threads after the acquire. */
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
