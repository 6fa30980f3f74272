% for _, pass in ipairs({ { list = forward, words = "forward" }, { list = backward, words = "backward" } }) do
% if pass.list.phases[1] then
/* Runs one phase of the ${pass.words} pass of a ${name}, outside of its layers. */
INLINE void ${name}_${pass.words}_phase(int phase) {
    const block_state *b = block();
    const int ${index} = b->use; /* index of the current repetition */ % if pass.list == backward and shared_gradients[1]
    % include("cuda/phase_choice.tpl", pass.list)
}

% end
% end
