% for i, one in ipairs(phases) do
} else if (phase == ${one.name}) { % if i > 1
if (phase == ${one.name}) { % else
    % include(op.template, op) % for _, op in ipairs(one.ops)
% end
}
