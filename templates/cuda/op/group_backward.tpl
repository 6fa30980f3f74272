#pragma unroll 1
for (int ${index} = ${past} - 1; ${index} >= ${first_back}; ${index}--) {
    enter_${name}(${index}, true);
    % include(op.template, op) % for _, op in ipairs(list)
}
