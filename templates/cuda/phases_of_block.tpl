% local depends_on_mode = has_dropout and not eval_dropout
% include("cuda/block_names.tpl")
% if forward.phases[1] then

/* ${comment}
 * Runs one phase of the forward pass. */
% define(("INLINE void %s_forward_phase"):format(name), "int phase", depends_on_mode and "const bool training")
    const workspace *w = &block()->work; % if forward_reads.w
    const ${state} *s = &block()->${name}; % if forward_reads.s
    % include("cuda/phase_choice.tpl", forward)
}
% end
% if backward.phases[1] then

/* Runs one phase of the backward pass. The pass replaces the gradient of the ${name}'s output, in the workspace, by the
 * gradient of its input. */
INLINE void ${name}_backward_phase(int phase) {
    const workspace *w = &block()->work; % if backward_reads.w
    const ${state} *s = &block()->${name}; % if backward_reads.s
    % include("cuda/phase_choice.tpl", backward)
}
% end
