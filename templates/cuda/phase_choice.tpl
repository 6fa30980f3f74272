% for i, one in ipairs(phases) do
} else if (phase == ${one.name}) { % if i > 1
if (phase == ${one.name}) { % else
% for _, op in ipairs(one.ops) do
    % include(op.template, op)
% end
% end
}
