% -- Variables in the functions of a block:
% --   l          the index of the layer
% --   use        the index of the repetition, if the layers run several times; otherwise l is this index
% --   part       the tokens whose results are used after the block's attention
% --   distinct   the rows that are computed before the block's attention. In the first repetition, each symbol has a
% --              row; later, each token has a row
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
