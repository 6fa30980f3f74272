% -- Sets an array to 0, if `condition` is true in the device code.
% local loop_condition = (condition and condition .. " && " or "") .. "e < " .. rows .. " * WIDTH"
for (int e = threadIdx.x; ${loop_condition}; e += THREADS) ${to}[e] = 0;
__syncthreads();
