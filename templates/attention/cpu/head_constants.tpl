/* The layout of heads of the ${name}-attention in vectors, and the distances between rows. */
enum {
    ${PREFIX}HEAD_PART = ${head_part} < LANES ? ${head_part} : LANES, /* channels of a head in one vector */
    ${PREFIX}HEAD_PARTS = ${PREFIX}HEAD_WIDTH / ${PREFIX}HEAD_PART,
    ${PREFIX}KEYS = KEY_TILE / ${PREFIX}HEAD_PARTS > 0 ? KEY_TILE / ${PREFIX}HEAD_PARTS : 1, /* keys whose gradients are summed together */
    ${PREFIX}PAIRED = 2 * ${PREFIX}HEAD_WIDTH <= LANES, /* a key and its value fit in one vector */ % if paired
% if cross then
    ${PREFIX}QUERY_STRIDE = WIDTH,
    ${PREFIX}KEY_STRIDE = 2 * WIDTH /* values lie WIDTH after their keys */
% else
    ${PREFIX}QUERY_STRIDE = 3 * WIDTH /* keys and values lie WIDTH and 2 WIDTH after their queries */
% end
};
typedef real ${name}_part __attribute__((vector_size(${PREFIX}HEAD_PART * REAL_BYTES), aligned(REAL_BYTES), may_alias));
% slot("constants")
