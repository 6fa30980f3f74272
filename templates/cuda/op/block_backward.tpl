% -- Runs the backward pass of a block, from the last repetition to first_back, the first one with a gradient.
% -- add_numbers reads every element, but no operation writes the elements of padding and of tables
clear_numbers(sizeof(${parameters_type}) / sizeof(real), b->work.${name}_more); % if clears_unwritten
#pragma unroll 1
for (int ${index} = ${past} - 1; ${index} >= ${first_back}; ${index}--) {
% -- the only block of a network is still in the state of its last repetition, which the forward pass has entered
    enter_${name}(${index}); % if in_group or #device.blocks > 1
    if (${index} + 1 < ${past}) enter_${name}(${index}); % else
    if (use < ${last_pass_start}) begin_more_sums(); % if adds_table_sums
    ${name}_backward();
    if (use < ${last_pass_start}) end_more_sums(); % if adds_table_sums
% if loops > 1 then
    if (use < ${last_pass_start})
        add_numbers(sizeof(${parameters_type}) / sizeof(real), block()->work.${name}_more,
                (real *)(block()->gradient->${name} + block()->l));
% end
}
