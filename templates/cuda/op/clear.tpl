for (int e = threadIdx.x; e < all_rows() * WIDTH; e += THREADS) ${to}[e] = 0;
__syncthreads();
