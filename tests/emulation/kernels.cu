/* Small kernels that test the emulation, some of them with deliberate errors. nvcc and NVRTC compile them, too. Blocks
 * may have any whole number of warps unless a comment says otherwise. */
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif

/* out [blocks]: the sum over in [blocks][threads], by shuffles in a warp and shared memory between warps. */
extern "C" __global__ void sum_kernel(const float *in, float *out) {
    DYNAMIC_SHARED(float, staging);
    int t = (int)threadIdx.x;
    float x = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    if (t % 32 == 0) staging[t / 32] = x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < (int)blockDim.x / 32; i++) sum += staging[i];
    if (t == 0) out[blockIdx.x] = sum;
}

/* `rounds` times, every block writes, all blocks synchronise, and every block reads all values. cells [2][blocks]:
 * rounds alternate between the rows, since a block may write again while others still read. The last sums are written
 * in the row of the next round. */
extern "C" __global__ void meet_kernel(unsigned int *cells, unsigned int *arrivals, int rounds) {
    unsigned int blocks = gridDim.x, due = 0, sum = blockIdx.x;
    for (int round = 0; round < rounds; round++) {
        unsigned int *row = cells + (unsigned int)(round % 2) * blocks;
        if (threadIdx.x == 0) row[blockIdx.x] = sum;
        __threadfence();
        __syncthreads();
        due += blocks;
        if (threadIdx.x == 0) {
            atomicAdd(arrivals, 1u);
            while (*(volatile unsigned int *)arrivals < due) __nanosleep(100);
        }
        __syncthreads();
        sum = 0;
        for (unsigned int i = 0; i < blocks; i++) sum += *(volatile unsigned int *)&row[i] + 1u;
    }
    if (threadIdx.x == 0) cells[(unsigned int)(rounds % 2) * blocks + blockIdx.x] = sum;
}

/* One warp: out [3][32] and large [32] get the results of shuffles and votes. */
extern "C" __global__ void shuffle_kernel(int *out, double *large) {
    int t = (int)threadIdx.x;
    out[t] = __shfl_down_sync(0xffffffffu, t, 5u);
    out[32 + t] = (int)__shfl_sync(0xffffffffu, 100u + threadIdx.x, 7);
    out[64 + t] = (int)__ballot_sync(0xffffffffu, t % 3 == 0);
    large[t] = __shfl_xor_sync(0xffffffffu, 1.0 / (1 + t), 1);
    if (t < 8) large[t] += __shfl_sync(0xffu, large[t], 3);
    __syncwarp();
}

/* out [threads]: the value that the neighbour on one side, 1 or -1, put into shared memory; threads at the edge read
 * their own. */
extern "C" __global__ void neighbour_kernel(float *out, int side) {
    DYNAMIC_SHARED(float, row);
    int t = (int)threadIdx.x, n = (int)blockDim.x;
    row[t] = (float)t;
    __syncthreads();
    out[t] = row[t + side < 0 || t + side == n ? t : t + side];
}

/* Wrong: neighbour_kernel without the barrier. */
extern "C" __global__ void racing_kernel(float *out, int side) {
    DYNAMIC_SHARED(float, row);
    int t = (int)threadIdx.x, n = (int)blockDim.x;
    row[t] = (float)t;
    out[t] = row[t + side < 0 || t + side == n ? t : t + side];
}

/* Wrong: only 40 threads of block 3 reach the first barrier. */
extern "C" __global__ void divergent_kernel(void) {
    if (blockIdx.x != 3 || threadIdx.x < 40) __syncthreads();
    __syncthreads();
}

/* Wrong: half a warp shuffles, the other half waits for the block. */
extern "C" __global__ void partial_kernel(int *out) {
    int t = (int)threadIdx.x;
    if (t % 32 < 16) t = __shfl_xor_sync(0xffffffffu, t, 1);
    __syncthreads();
    out[threadIdx.x] = t;
}

/* Wrong if `source` or a calling lane is not in the mask. */
extern "C" __global__ void masked_kernel(int *out, unsigned int mask, int source) {
    out[threadIdx.x] = __shfl_sync(mask, (int)threadIdx.x, source);
}

/* Wrong unless the flag is set before the launch: one thread of each block waits for the flag, which nobody sets. */
extern "C" __global__ void waiting_kernel(const unsigned int *flag) {
    if (threadIdx.x == 0)
        while (*(const volatile unsigned int *)flag == 0) __nanosleep(100);
    __syncthreads();
}

/* Wrong unless the flag is set before the launch: whole blocks wait for the flag, through barriers. */
extern "C" __global__ void polling_kernel(const unsigned int *flag) {
    do {
        __nanosleep(100);
        __syncthreads();
    } while (*(const volatile unsigned int *)flag == 0);
}

/* Wrong if `index` is not an element of shared memory, or not of out. */
extern "C" __global__ void outside_kernel(int index) {
    DYNAMIC_SHARED(float, row);
    if (threadIdx.x == 0) row[index] = 1;
    __syncthreads();
}

extern "C" __global__ void outside_global_kernel(float *out, int index) {
    if (threadIdx.x == 0) out[index] = 1;
}
