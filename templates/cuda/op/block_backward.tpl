% -- Runs the backward pass of a block, from its last repetition to its first repetition with a gradient.
% -- No operation writes the elements of padding and of tables, but add_numbers reads these elements.
clear_numbers(sizeof(${parameters_type}) / sizeof(real), b->work.${name}_more); % if clears_unwritten
#pragma unroll 1
for (int ${index} = ${past} - 1; ${index} >= ${first_with_gradient}; ${index}--) {
% -- In a network with one block, the last repetition is still entered after the forward pass.
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
