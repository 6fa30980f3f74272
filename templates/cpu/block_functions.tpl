% local use = loops > 1 and "use" or "l"
% local state_index = "w->step->mode == LH_MODE_TRAIN ? " .. use .. " : 0"
/* ${comment}
 * In evaluation, input and output may be the same array. */
% define("static void " .. name .. "_forward", "workspace *w", "int " .. use, "const real *input", "real *output")
    const int l = use % ${count}; % if loops > 1
    const ${parameters_type} *p = &w->parameters->${name}[l]; % if uses_parameters.forward
    const ${name}_panels *panels = &w->${panels_member}->${name}[l]; % if has_panels
    ${name}_state *s = &w->${name}[${state_index}];
    const bool train = w->step->mode == LH_MODE_TRAIN; % if depends_on_mode
    const row_set *part = ${use} + 1 < ${repetitions_text} ? &w->all : &w->read; % if uses_part.forward
    const row_set *distinct = ${use} > 0 ? &w->all : &w->vocabulary; % if uses_vocabulary.forward
    % include(op.template, op) % for _, op in ipairs(forward)
}

/* w->${gradient} has the gradient of the block's output before this call, and of its input after this call. */
% define("static void " .. name .. "_backward", "workspace *w", "int " .. use, parameters_type .. " *g")
    const int l = use % ${count}; % if loops > 1
    const ${parameters_type} *p = &w->parameters->${name}[l]; % if uses_parameters.backward
    const ${name}_panels *panels = &w->${panels_member}->${name}[l]; % if has_panels
    const ${name}_state *s = &w->${name}[${use}];
    const row_set *part = ${use} + 1 < ${repetitions_text} ? &w->all : &w->read; % if uses_part.backward
    const row_set *distinct = ${use} > 0 ? &w->all : &w->vocabulary; % if uses_vocabulary.backward
    % include(op.template, op) % for _, op in ipairs(backward)
}
