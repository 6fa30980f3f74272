% -- repetition: the name of the variable that is the index of the block's repetition. In the functions, `part` is the set
% -- of tokens whose results are used after the block's attention, and `distinct` the set of rows that are computed
% -- before the block's attention: in the first repetition one row for each symbol, else one for each token.
% local repetition = loops > 1 and "use" or "l"
% local state_index = "w->step->mode == LH_MODE_TRAIN ? " .. repetition .. " : 0"
/* ${comment}
 * In evaluation, input and output may be the same array. */
% define("static void " .. name .. "_forward", "workspace *w", "int " .. repetition, "const real *input", "real *output")
    const int l = use % ${count}; % if loops > 1
    const ${parameters_type} *p = &w->parameters->${name}[l]; % if uses_parameters.forward
    const ${name}_panels *panels = &w->${panels_member}->${name}[l]; % if has_panels
    ${name}_state *s = &w->${name}[${state_index}];
    const bool train = w->step->mode == LH_MODE_TRAIN; % if depends_on_mode
    const row_set *part = ${repetition} + 1 < ${repetitions_text} ? &w->all : &w->read; % if uses_part.forward
    const row_set *distinct = ${repetition} > 0 ? &w->all : &w->vocabulary; % if uses_vocabulary.forward
    % include(op.template, op) % for _, op in ipairs(forward)
}

/* On entry w->${gradient} holds the gradient of the block's output, on return the gradient of its input. */
% define("static void " .. name .. "_backward", "workspace *w", "int " .. repetition, parameters_type .. " *g")
    const int l = use % ${count}; % if loops > 1
    const ${parameters_type} *p = &w->parameters->${name}[l]; % if uses_parameters.backward
    const ${name}_panels *panels = &w->${panels_member}->${name}[l]; % if has_panels
    const ${name}_state *s = &w->${name}[${repetition}];
    const row_set *part = ${repetition} + 1 < ${repetitions_text} ? &w->all : &w->read; % if uses_part.backward
    const row_set *distinct = ${repetition} > 0 ? &w->all : &w->vocabulary; % if uses_vocabulary.backward
    % include(op.template, op) % for _, op in ipairs(backward)
}
