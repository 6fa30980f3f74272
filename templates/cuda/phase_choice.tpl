% for i, one_phase in ipairs(phases) do
} else if (phase == ${one_phase.name}) { % if i > 1
if (phase == ${one_phase.name}) { % else
    % include(op.template, op) % for _, op in ipairs(one_phase.records)
% end
}
