% local asks = drops and not eval_dropout
% include("cuda/block_names.tpl")

/* ${comment}
 * Of the way forward one phase. */
% define(("INLINE void %s_forward_phase"):format(name), "int phase", asks and "const bool training")
    const workspace *w = &block()->work;
    const ${state} *s = &block()->${name};
    % include("cuda/phase_choice.tpl", forward)
}

/* Of the way back: the workspace's gradient, of the ${name}'s output at first, becomes that of its input. */
INLINE void ${name}_backward_phase(int phase) {
    const workspace *w = &block()->work;
    const ${state} *s = &block()->${name};
    % include("cuda/phase_choice.tpl", backward)
}
