% -- Constants of the layout of heads.
${PREFIX}QUERY_STRIDE = WIDTH, % if cross
${PREFIX}QUERY_STRIDE = 3 * WIDTH, % else
${PREFIX}KEY_STRIDE = 2 * WIDTH, % if cross
% if attends.slice then
${PREFIX}SLICE = ${attends.slice}, /* number of channels that a block computes at a time for vectors of distances; a multiple of HEAD_WIDTH */
% end
% if attends.head_lanes > 1 then
${PREFIX}HEAD_LANES = ${attends.head_lanes}, /* number of threads that share a head's channels */
${PREFIX}HEAD_PART = (${PREFIX}HEAD_WIDTH / 4 + ${PREFIX}HEAD_LANES - 1) / ${PREFIX}HEAD_LANES * 4, /* number of channels of the first of these threads, a multiple of 4 */ % if attends.uneven_heads
${PREFIX}HEAD_PART = ${PREFIX}HEAD_WIDTH / ${PREFIX}HEAD_LANES, % else
${PREFIX}TASKS = THREADS / ${PREFIX}HEAD_LANES, /* number of queries or keys, each of one head, that a block processes at a time */
% end
