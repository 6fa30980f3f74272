/* How the heads of the ${name}-attention lie in vectors, and how far its rows are apart. */
enum {
    ${PREFIX}HEAD_PART = ${head_part} < LANES ? ${head_part} : LANES, /* channels of a head in one vector, keys side by side */
    ${PREFIX}HEAD_PARTS = ${PREFIX}HEAD_WIDTH / ${PREFIX}HEAD_PART,
    ${PREFIX}KEYS = KEY_TILE / ${PREFIX}HEAD_PARTS > 0 ? KEY_TILE / ${PREFIX}HEAD_PARTS : 1, /* whose gradients are summed together */
% if paired then
    ${PREFIX}PAIRED = 2 * ${PREFIX}HEAD_WIDTH <= LANES, /* a vector has room for a key and its value */
% end
% if cross then
    ${PREFIX}QUERY_STRIDE = WIDTH,
    ${PREFIX}KEY_STRIDE = 2 * WIDTH /* values lie WIDTH behind their keys */
% else
    ${PREFIX}QUERY_STRIDE = 3 * WIDTH /* keys and values lie WIDTH and 2 WIDTH behind their queries */
% end
};
typedef real ${name}_part __attribute__((vector_size(${PREFIX}HEAD_PART * REAL_BYTES), aligned(REAL_BYTES), may_alias));
% slot("constants")
