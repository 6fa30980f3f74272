/* Makes the thread block's state point to the ${name} with index `${index}` and, for each block in the ${name}, to the
 * state of the block's last repetition there. Called for a shard in training, or a group of sequences in evaluation. */
INLINE void enter_${name}(int ${index}, const bool training) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool follows = ${follows_condition};
        if (follows) find_${previous.name}(b, ${previous.index}, training);
        b->${name}_input = follows ? b->${previous.name}.output : ${input};
        find_${name}(b, ${index}, training); % if members[1]
        find_${state.name}(b, ${state.last}, training); % for _, state in ipairs(inner)
    }
    __syncthreads();
}
