% -- With a position bias: sums of gradients for each distance. drow: of its vector; row_sum: of its logits.
% -- bias_sum, bias_resumed: the end of the declaration of drow in sum_of_rows.tpl
, row_sum = 0 % section("bias_sum")
% section("bias_resumed")
, row_sum = ${inline("resumes", "first > 0")} ? sums->${prefix}row_sums[l * ${PREFIX}HEADS * count + task] : 0
row_sum += dlogit; % section("add_pair")
% section("store")
% -- limit: the number of distances
const size_t limit = ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view});
${prefix}store_head(drow, 1,
        sums->${prefix}rows + ((size_t)l * limit + task % count) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel});
${attends.if_first_lane}sums->${prefix}row_sums[l * ${PREFIX}HEADS * limit + task] = row_sum;
((size_t)l * count + task % count) * WIDTH + h * ${PREFIX}HEAD_WIDTH % section("place_of_row")
row_sum += dlogit; % section("add_stored_pair")
sums->${prefix}row_sums[l * ${PREFIX}HEADS * count + task] = row_sum; % section("store_numbers")
