% if cross then
${PREFIX}QUERY_STRIDE = WIDTH,
${PREFIX}KEY_STRIDE = 2 * WIDTH,
% else
${PREFIX}QUERY_STRIDE = 3 * WIDTH,
% end
% if attends.slice then
${PREFIX}SLICE = ${attends.slice}, /* channels of the vectors of distances that a block computes at a time; whole heads */
% end
% if attends.head_lanes > 1 then
${PREFIX}HEAD_LANES = ${attends.head_lanes}, /* threads that share a head's channels */
% if attends.uneven_heads then
${PREFIX}HEAD_PART = (${PREFIX}HEAD_WIDTH / 4 + ${PREFIX}HEAD_LANES - 1) / ${PREFIX}HEAD_LANES * 4, /* channels of the first of these threads; whole quads */
% else
${PREFIX}HEAD_PART = ${PREFIX}HEAD_WIDTH / ${PREFIX}HEAD_LANES,
% end
${PREFIX}TASKS = THREADS / ${PREFIX}HEAD_LANES,
% end
