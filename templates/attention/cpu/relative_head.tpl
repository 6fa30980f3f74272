% if relative.toeplitz then
const real *rows; /* the vectors of distances */
int stride; /* from one channel of the rows to the next */
% elseif relative.turned then
const real *weight; /* [WIDTH][HEAD_WIDTH] from a sinusoid to the head's channels */
const real *codes; /* [keys][WIDTH] sinusoids of the keys' positions */
const real *places; /* of the queries', channel by channel */
int place_stride;
const position_row *table; /* by position */
const int32_t *position; /* of every query */
real *turned, *far; /* room: a group's turned queries, their products with the keys */
% else
const real *rows; /* the vectors of distances */
% if cross then
const int32_t *position, *key_position; /* of every query, of every key */
% else
const int32_t *position; /* of every token */
% end
% end
% if relative.biases then
const real *content_bias, *position_bias; /* [HEAD_WIDTH] */
real *dbiases; /* [content, position][HEAD_WIDTH][LANES] */
% end
% if relative.turned then
real *dweight; /* [HEAD_WIDTH][WIDTH] */
% else
real *drows; /* [rows], RELATIVE_WIDTH apart */
% end
