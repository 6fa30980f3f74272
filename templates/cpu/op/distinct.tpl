const real *input_distinct = distinct == ${all} ? ${input} : ${vectors};
