% -- A block's function for decoding (make_decoding_function of cpu_network.lua).
% -- use, l: see block_functions.tpl
% local repetition = loops > 1 and "use" or "l"
% define("static void " .. routine, "workspace *w", "int " .. repetition, has_caches and name .. "_cache *cache", input and "const real *input", input and "real *output")
    const int l = use % ${count}; % if loops > 1
    const ${parameters_type} *p = &w->parameters->${name}[l]; % if reads_parameters
    const ${name}_panels *panels = &w->${panels_member}->${name}[l]; % if reads_panels
    ${name}_state *s = &w->${name}[0]; % if reads_state
    % include(op.template, op) % for _, op in ipairs(list)
}
