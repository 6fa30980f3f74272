/* Sets the addresses of the input and the state of the ${name} with index `${index}`.
 * Every block inside the ${name} gets the state of the block's last repetition in this ${name}. */
INLINE void enter_${name}(int ${index}, const bool training) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool follows = ${previous_condition};
        if (follows) find_${previous.name}(b, ${previous.index}, training);
        b->${name}_input = follows ? b->${previous.name}.output : ${input};
        find_${name}(b, ${index}, training); % if members[1]
        find_${state.name}(b, ${state.last}, training); % for _, state in ipairs(inner)
    }
    __syncthreads();
}
