% -- For sum_pairs.tpl: an entry for each vector that belongs to a distance; the host has sorted the pairs by these
% -- vectors.
${prefix}row_count(v, l) % section("count")
const ${prefix}pair_rows rows_of_pairs = ${prefix}find_pair_rows(v, l); % section("find_pairs")
% section("each_pair")
for (int e = rows_of_pairs.start[task % count]; e < rows_of_pairs.start[task % count + 1]; e++) {
    const int i = rows_of_pairs.pair[e] / v->${attends.S}, j = rows_of_pairs.pair[e] % v->${attends.S};
