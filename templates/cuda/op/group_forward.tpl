#pragma unroll 1
for (int ${index} = ${first}; ${index} < ${past}; ${index}++) {
    enter_${name}(${index}, ${training and "true" or "false"});
    % include(op.template, op) % for _, op in ipairs(list)
}
