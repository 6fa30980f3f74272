% local use = loops > 1 and "use" or "l"
% local of_use = "w->step->mode == LH_MODE_TRAIN ? " .. use .. " : 0"
/* ${comment}
 * In evaluation output may be input. */
% define("static void " .. name .. "_forward", "workspace *w", "int " .. use, "const real *input", "real *output")
% if loops > 1 then
    const int l = use % ${count};
% end
% if uses_parameters.forward then
    const ${parameters_type} *p = &w->parameters->${name}[l];
% end
% if panels then
    const ${name}_panels *panels = &w->shared->${name}[l];
% end
    ${name}_state *s = &w->${name}[${of_use}];
% if asks then
    const bool train = w->step->mode == LH_MODE_TRAIN;
% end
% if part.forward then
    const row_set *part = ${use} + 1 < ${uses} ? &w->all : &w->read;
% end
% if vocabulary.forward then
    const row_set *distinct = ${use} > 0 ? &w->all : &w->vocabulary;
% end
% for _, op in ipairs(forward) do
    % include(op.template, op)
% end
}

/* w->${gradient} holds the gradient of the block's output on entry, and of its input on return. */
% define("static void " .. name .. "_backward", "workspace *w", "int " .. use, parameters_type .. " *g")
% if loops > 1 then
    const int l = use % ${count};
% end
% if uses_parameters.backward then
    const ${parameters_type} *p = &w->parameters->${name}[l];
% end
% if panels then
    const ${name}_panels *panels = &w->shared->${name}[l];
% end
    const ${name}_state *s = &w->${name}[${use}];
% if part.backward then
    const row_set *part = ${use} + 1 < ${uses} ? &w->all : &w->read;
% end
% if vocabulary.backward then
    const row_set *distinct = ${use} > 0 ? &w->all : &w->vocabulary;
% end
% for _, op in ipairs(backward) do
    % include(op.template, op)
% end
}
