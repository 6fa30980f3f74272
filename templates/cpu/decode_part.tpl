% local use = loops > 1 and "use" or "l"
% define("static void " .. routine, "workspace *w", "int " .. use, cached and name .. "_cache *cache", input and "const real *input", input and "real *output")
    const int l = use % ${count}; % if loops > 1
    const ${parameters_type} *p = &w->parameters->${name}[l]; % if parameters
    const ${name}_panels *panels = &w->${panels_member}->${name}[l]; % if panels
    ${name}_state *s = &w->${name}[0]; % if state
    % include(op.template, op) % for _, op in ipairs(list)
}
