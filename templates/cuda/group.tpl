/* Sets the block state to ${name} number `${index}` and the last layers in it, of a shard in training or of a group of
 * sequences in evaluation. */
INLINE void enter_${name}(int ${index}, const bool training) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool follows = ${follows_condition};
        if (follows) find_${previous.name}(b, ${previous.use}, training);
        b->${name}_input = follows ? b->${previous.name}.output : ${input};
        find_${name}(b, ${index}, training); % if members[1]
        find_${state.name}(b, ${state.last}, training); % for _, state in ipairs(inner)
    }
    __syncthreads();
}
