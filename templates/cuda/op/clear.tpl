% local all = (condition and condition .. " && " or "") .. "e < " .. rows .. " * WIDTH"
for (int e = threadIdx.x; ${all}; e += THREADS) ${to}[e] = 0;
__syncthreads();
