for (int e = threadIdx.x; e < ${rows} * WIDTH; e += THREADS) ${to}[e] = 0;
__syncthreads();
