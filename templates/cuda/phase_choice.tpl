% -- Runs the operations of phase `phase`, if it is one of `phases`.
% for i, one_phase in ipairs(phases) do
} else if (phase == ${one_phase.name}) { % if i > 1
if (phase == ${one_phase.name}) { % else
    if (block()->use < ${last_pass_start}) begin_more_sums(); % if one_phase.adds_table_sums
    % include(op.template, op) % for _, op in ipairs(one_phase.records)
    if (block()->use < ${last_pass_start}) end_more_sums(); % if one_phase.adds_table_sums
% end
}
