% local layer = loops > 1 and "l % " .. count or "l"
for (int l = 0; l < ${uses}; l++) {
    % call(name .. "_forward", self, "l", input, output)
% for _, family in ipairs(families) do
    trace_attention_${family}(${self}, ${layer}, &w.${name}[0], to++);
% end
    % call("trace_activation", self, traced, output, "to++")
}
