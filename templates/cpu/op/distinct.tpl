% -- The block's input, or in the first repetition the vectors of the vocabulary's symbols.
const real *input_distinct = distinct == ${all} ? ${input} : ${vectors};
