clear_numbers(sizeof(${parameters_type}) / sizeof(real), b->work.${name}_more); % if clears_more
#pragma unroll 1
for (int ${index} = ${past} - 1; ${index} >= ${first_back}; ${index}--) {
    enter_${name}(${index}); % if in_group or #device.blocks > 1
    if (${index} + 1 < ${past}) enter_${name}(${index}); % else
    if (use < ${first_use}) begin_more_sums(); % if sums_again
    ${name}_backward();
    if (use < ${first_use}) end_more_sums(); % if sums_again
% if loops > 1 then
    if (use < ${first_use})
        add_numbers(sizeof(${parameters_type}) / sizeof(real), block()->work.${name}_more,
                (real *)(block()->gradient->${name} + block()->l));
% end
}
