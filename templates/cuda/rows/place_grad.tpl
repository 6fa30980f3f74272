% -- sum_member: the member of table_sums to which the gradients of the vectors go, or false
% local adds_to_vectors, draw = is_learned and not sum_member, encoding.draw
% local minus_first = draw and draw.first == 1 and " - " .. draw.PREFIX .. "FIRST_POSITION" or ""
% local words = dropout and "Applies dropout to dy, the gradient of the sum, in place" or "Computes the gradients of the vectors of positions"
/* ${words}${dropout and is_learned and ", and computes the gradients of the vectors of positions" or ""}. */
% define("NOINLINE void " .. name, dropout and "const unsigned char *keep", (dropout and "" or "const ") .. "real *dy", adds_to_vectors and "real *dvectors")
    const int T = block()->view.${T}, sequences = block()->sequences;
    assume_global(dy);
% if dropout then
    for (int e = threadIdx.x; e < sequences * T * WIDTH; e += THREADS)
        dy[e] = mask_bits(keep, e) & 1 ? dy[e] * ${dropout}_KEEP_SCALE : 0;
    __syncthreads();
% end
% if adds_to_vectors then
    const int *position = ${sampled_positions};
    assume_global(dvectors);
    for (int e = threadIdx.x; e < POSITION_ROWS * WIDTH; e += THREADS) dvectors[e] = 0;
    /* The positions of one sequence are distinct, so threads add to different elements. */
    for (int sequence = 0; sequence < sequences; sequence++) {
        __syncthreads();
        for (int e = threadIdx.x; e < T * WIDTH; e += THREADS) {
            const int row = sequence * T + e / WIDTH, c = e % WIDTH;
            dvectors[(position[row]${minus_first}) * WIDTH + c] += dy[row * WIDTH + c];
        }
    }
% elseif sum_member then
    real *to = block()->sums.${sum_member} + (size_t)block()->l * T * WIDTH;
    for (int e = threadIdx.x; e < T * WIDTH; e += THREADS) {
        real sum = 0;
        for (int sequence = 0; sequence < sequences; sequence++) sum += dy[sequence * T * WIDTH + e];
        to[e] = sum;
    }
% end
    __syncthreads();
}
