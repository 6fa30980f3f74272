% for i, one in ipairs(phases) do
% if i > 1 then
} else if (phase == ${one.name}) {
% else
if (phase == ${one.name}) {
% end
% for _, op in ipairs(one.ops) do
    % include(op.template, op)
% end
% end
}
