% -- begin, end: bounds of the rows on the other side that form visible pairs with the warp's rows. The other side has
% -- keys if the warp's rows are queries, and queries if the warp's rows are keys.
% if terms.has_spans then
int begin = ${count}, end = 0;
#pragma unroll
for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
    const int ${lane_index} = ${lane}[r];
    begin = min(begin, ${inline(first, "0")});
    end = max(end, ${inline(last, count)});
}
widen_bounds(&begin, &end);
% else
const int begin = 0, end = ${count};
% end
