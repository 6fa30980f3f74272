% local use = loops > 1 and "use" or "l"
% define("static void " .. routine, "workspace *w", "int " .. use, cached and name .. "_cache *cache", input and "const real *input", input and "real *output")
% if loops > 1 then
    const int l = use % ${count};
% end
% if parameters then
    const ${parameters_type} *p = &w->parameters->${name}[l];
% end
% if panels then
    const ${name}_panels *panels = &w->shared->${name}[l];
% end
% if state then
    ${name}_state *s = &w->${name}[0];
% end
% for _, op in ipairs(list) do
    % include(op.template, op)
% end
}
