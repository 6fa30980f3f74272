#pragma unroll 1
for (int ${index} = ${uses} - 1; ${index} >= 0; ${index}--) {
    enter_${name}(${index}); % if #device.blocks > 1
    if (${index} + 1 < ${uses}) enter_${name}(${index}); % else
    ${name}_backward();
% if loops > 1 then
    if (use < ${first_use})
        add_numbers(sizeof(${parameters_type}) / sizeof(real), block()->work.${name}_more,
                (real *)(block()->gradient->${name} + block()->l));
% end
}
