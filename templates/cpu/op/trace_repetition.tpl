% -- Runs a repetition of a block and traces its attentions and its output.
% local layer = loops > 1 and number .. " % " .. count or number
% call(name .. "_forward", self, number, input, output)
% for _, family in ipairs(families) do
% call("trace_attention_" .. family, self, layer, ("&w.%s[0]"):format(name), "to++")
% end
% call("trace_activation", not traced_tokens and self, traced_tokens, output, "to++")
