% if relative.toeplitz then
const real *rows; /* the vectors of distances */
int stride; /* from one channel of the rows to the next */
% else
const real *rows; /* the vectors of distances */
% if relative.biases then
const int32_t *offset; /* of the row of a pair, [keys][queries] */
int queries;
% else
% if cross then
const int32_t *position, *key_position; /* of every query, of every key */
% else
const int32_t *position; /* of every token */
% end
% end
% end
% if relative.biases then
const real *content_bias, *position_bias; /* [HEAD_WIDTH] */
real *dbiases; /* [content, position][HEAD_WIDTH][LANES] */
% end
real *drows; /* [rows], RELATIVE_WIDTH apart */
