const real *content_bias, *position_bias; /* [HEAD_WIDTH] */
real *dbiases; /* [content, position][HEAD_WIDTH][LANES] */
