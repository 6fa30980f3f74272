/* Sets the addresses of the state of the ${name} with index `${index}`. Called by one thread. */
INLINE void find_${name}(block_state *b, int ${index}, const bool training) {
    const size_t before = training ? ${state_number} * ${name}_bytes(b->sequences, b->view.T) : 0;
    lay_out_${name}(&b->${name}, b->work.${plural}, before, b->sequences, b->view.T);
}
