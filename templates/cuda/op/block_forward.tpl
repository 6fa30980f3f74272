% -- Runs the repetitions first .. past - 1 of a block.
% local mode_argument = forward_reads.training and "true" or ""
#pragma unroll 1
for (int ${index} = ${first}; ${index} < ${past}; ${index}++) {
    enter_${name}(${index});
    ${name}_forward(${mode_argument});
}
