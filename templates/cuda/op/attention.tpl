% for _, turn in ipairs(turned) do
% call(prefix .. "rotate", 1, turn.T, turn.stride, turn.x)
% end
${prefix}attend();
