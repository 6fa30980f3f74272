real *biases[${stack.count}]; /* [HEADS][content, position][HEAD_WIDTH][LANES] gradients of the biases by lane */
