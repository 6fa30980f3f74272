real *biases[${stack.count}]; /* [HEADS][content, position][HEAD_WIDTH][LANES] of the biases, lanes not yet summed */
